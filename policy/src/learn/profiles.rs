//! Built-in profiles that show what was asked for.

use super::need::{PathNeed, Usage};
use super::written::place;
use crate::{Access, GuestPath, MountSource, PolicyFile, Vars, builtin};

/// The profiles of tools: no agent's is ever proposed.
const TOOLCHAINS: &[&str] = &["git", "go", "jvm", "node", "python", "rust"];

/// A profile with all that it extends.
#[derive(Debug)]
pub(super) struct Toolchain {
    pub(super) name: &'static str,
    mounts: Vec<(GuestPath, Access)>,
}

impl Toolchain {
    /// Returns all profiles of tools for a user.
    pub(super) fn all(vars: &Vars) -> Vec<Self> {
        let all = TOOLCHAINS.iter();
        all.map(|name| Self { name, mounts: mounts(name, vars) }).collect()
    }

    /// Returns whether it gives what is needed.
    pub(super) fn gives(&self, need: &PathNeed) -> bool {
        let enough = |access: Access| match need.usage {
            Usage::Read => true,
            Usage::Write => access == Access::Cow,
            Usage::Connect => false,
        };
        self.mounts.iter().any(|(at, access)| need.at.is_within(at) && enough(*access))
    }

    /// Returns whether it takes changes of a path.
    pub(super) fn changes(&self, path: &GuestPath) -> bool {
        self.mounts.iter().any(|(at, access)| path.is_within(at) && *access == Access::Cow)
    }
}

fn mounts(name: &str, vars: &Vars) -> Vec<(GuestPath, Access)> {
    // A test parses each built-in profile.
    let Some(Ok(file)) = builtin::profile(name) else { return Vec::new() };
    let above = file.extends.iter().flat_map(|name| mounts(&name.value, vars));
    above.chain(own(&file, vars)).collect()
}

fn own(file: &PolicyFile, vars: &Vars) -> Vec<(GuestPath, Access)> {
    let host = file.mounts.iter().filter(|it| matches!(it.source, MountSource::Host { .. }));
    let at = |it: &crate::MountEntry| {
        let at = place(it.at.value.to_str()?, vars.home.as_ref())?;
        Some((at, it.access))
    };
    host.filter_map(at).collect()
}

/// Returns the fewest profiles that give as much of what is needed as all of them would.
pub(super) fn fewest<'a>(all: &'a [Toolchain], needs: &[&PathNeed]) -> Vec<&'a Toolchain> {
    let mut chosen: Vec<&Toolchain> =
        all.iter().filter(|it| needs.iter().any(|need| it.gives(need))).collect();
    let given = |chosen: &[&Toolchain], need: &PathNeed| chosen.iter().any(|it| it.gives(need));
    let mut index = 0;
    while index < chosen.len() {
        let without: Vec<&Toolchain> =
            chosen.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, it)| *it).collect();
        let kept = needs.iter().all(|need| given(&without, need) || !given(&chosen, need));
        if kept {
            chosen = without;
        } else {
            index += 1;
        }
    }
    chosen
}
