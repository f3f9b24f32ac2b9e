//! What was written back of a run, with both of its sides.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use super::apply::{number_name, own_path};
use super::journal::{Act, Ledger, Step};
use super::root::{Closed, Root};
use super::{ChangeKind, Seen};
use crate::fs::{Errno, Fs};

/// A change that was written back, and can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Where, below the root of the mount.
    pub path: PathBuf,
    /// What was done.
    pub kind: ChangeKind,
    /// What stood there before.
    pub old: Option<Seen>,
    /// What was put there.
    pub new: Option<Seen>,
    /// Where the old content is, below the run's directory; nowhere when only attributes changed.
    pub original: Option<PathBuf>,
    /// Somebody changed the path since.
    pub is_changed_since: bool,
}

/// Returns what was written back in a mount, by path, the first and the last of several changes
/// of a path taken together.
pub fn done(fs: &dyn Fs, ledger: &Ledger, mount: u32, root: BorrowedFd<'_>) -> Vec<Done> {
    let mut all: BTreeMap<PathBuf, Done> = BTreeMap::new();
    for step in ledger.steps(mount).filter(|step| step.change.is_some()) {
        for done in of_step(step, mount) {
            let whole = match all.remove(&done.path) {
                Some(earlier) => joined(earlier, done),
                None => Some(done),
            };
            all.extend(whole.map(|done| (done.path.clone(), done)));
        }
    }
    let mut root = Root::new(fs, root, Closed::Stay);
    let look = |done: Done| Done { is_changed_since: !stands(fs, &mut root, &done), ..done };
    all.into_values().map(look).collect()
}

fn of_step(step: &Step, mount: u32) -> Vec<Done> {
    let Some(kind) = step.change else { return Vec::new() };
    let original = own_path(mount).join(number_name(step.number));
    let has_original = matches!(step.act, Act::Swap | Act::Take);
    let mode = step.before.mode;
    let old = step.old.map(|seen| Seen { mode: mode.unwrap_or(seen.mode), ..seen });
    let below = step.below.iter().map(|(path, seen)| Done {
        path: step.path.join(path),
        kind: ChangeKind::Deleted,
        old: Some(*seen),
        new: None,
        original: Some(original.join(path)),
        is_changed_since: false,
    });
    let top = Done {
        path: step.path.clone(),
        kind,
        old,
        new: step.new.filter(|_| step.act != Act::Take),
        original: has_original.then(|| original.clone()),
        is_changed_since: false,
    };
    std::iter::once(top).chain(below).collect()
}

/// Returns two changes of a path as one; `None` when what was made is gone again.
fn joined(earlier: Done, later: Done) -> Option<Done> {
    let kind = match (earlier.old, later.new) {
        (None, None) => return None,
        (None, Some(_)) => ChangeKind::Created,
        (Some(_), None) => ChangeKind::Deleted,
        (Some(old), Some(new)) if old.kind != new.kind => ChangeKind::Replaced(old.kind),
        _ if later.kind == ChangeKind::Attributes => earlier.kind,
        _ => ChangeKind::Modified,
    };
    let original = earlier.original.or(later.original);
    Some(Done { kind, old: earlier.old, original, ..later })
}

fn stands(fs: &dyn Fs, root: &mut Root<'_>, done: &Done) -> bool {
    let found = root.above(&done.path).and_then(|(dir, leaf)| fs.node(dir.as_fd(), leaf));
    match (found, done.new) {
        (Ok(node), Some(new)) => Seen::from(&node).is_still(&new),
        (Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP), None) => true,
        _ => false,
    }
}
