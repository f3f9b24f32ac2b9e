//! Why a place in the view is what it is.

use crate::{GuestPath, MountSpec, Origin, Policy};

/// The mount that covers a path, and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover<'p> {
    /// The deepest mount at or above the path.
    pub mount: &'p MountSpec,
    /// Who had an entry at the same place before, weakest first.
    pub replaced: &'p [Origin],
}

/// Returns what covers a path of the guest's view; `None` when nothing does, so that only the
/// directories on the way to a mount exist there.
pub fn explain<'p>(policy: &'p Policy, path: &GuestPath) -> Option<Cover<'p>> {
    let above = policy.mounts.iter().filter(|mount| path.is_within(&mount.at));
    let mount = above.max_by_key(|mount| mount.at.as_bytes().len())?;
    let replaced = policy.replaced.get(&mount.at).map_or(&[][..], Vec::as_slice);
    Some(Cover { mount, replaced })
}

impl Cover<'_> {
    /// Returns who decided, strongest first: `--ro /x (instead of profile base)`.
    pub fn chain(&self) -> String {
        let mut text = self.mount.origin.to_string();
        for (index, weaker) in self.replaced.iter().rev().enumerate() {
            let joint = if index == 0 { " (instead of " } else { ", " };
            text.push_str(joint);
            text.push_str(&weaker.to_string());
        }
        if !self.replaced.is_empty() {
            text.push(')');
        }
        text
    }
}
