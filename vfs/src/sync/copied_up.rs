//! A target that is an overlay itself: what is first changed there is copied into its layer, and has another inode
//! from then on where the layers are on several file systems, or nobody privileged made it (`ovl_copy_up_one`,
//! fs/overlayfs/copy_up.c). What a plan displaces is copied before, so that it still is what it was.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::{Amend, Operation, Place, Seen, SyncPlan, Take};
use crate::fs::{At, Fs, Kind, Open, Result, magic};

/// `OVERLAYFS_SUPER_MAGIC` of `linux/magic.h`.
const OVERLAYFS: u64 = 0x794c_7630;

/// Has all that a plan changes copied up, where the target is an overlay; what can't be stays what the plan expects.
pub fn copy_up(fs: &dyn Fs, root: BorrowedFd<'_>, plan: &mut SyncPlan) {
    if magic(root) != Ok(OVERLAYFS) {
        return;
    }
    let look = || fs.node(root, OsStr::new("")).ok().map(|node| Seen::from(&node));
    let before = look();
    let mut lift = Lift { fs, root, known: HashMap::new() };
    for (path, seen) in &mut plan.parents {
        lift.renew(path, seen);
    }
    for operation in &mut plan.operations {
        lift.operation(operation);
    }
    if plan.root == before {
        plan.root = look();
    }
}

struct Lift<'a> {
    fs: &'a dyn Fs,
    root: BorrowedFd<'a>,
    /// What was copied up: what it was, and what it is.
    known: HashMap<PathBuf, (Seen, Seen)>,
}

impl Lift<'_> {
    fn operation(&mut self, operation: &mut Operation) {
        match operation {
            Operation::Place(Place { over: None, .. })
            | Operation::Amend(Amend { host: None, .. }) => {}
            Operation::Place(Place { path, over: Some(seen), below, .. })
            | Operation::Take(Take { path, host: seen, below }) => {
                self.renew(path, seen);
                for (inner, seen) in below {
                    self.renew(&path.join(inner), seen);
                }
            }
            Operation::Amend(Amend { path, host: Some(seen), .. }) => self.renew(path, seen),
        }
    }

    /// Copies one file up, if it is what is expected, and notes what it is then.
    fn renew(&mut self, path: &Path, expected: &mut Seen) {
        let known = self.known.get(path).filter(|(before, _)| before == expected);
        let now = match known {
            Some((_, now)) => Some(*now),
            None => self.copied(path, expected).ok().flatten(),
        };
        if let Some(now) = now {
            self.known.insert(path.to_owned(), (*expected, now));
            *expected = now;
        }
    }

    fn copied(&self, path: &Path, expected: &Seen) -> Result<Option<Seen>> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let dir = self.fs.open_below(self.root, above, Open::Handle)?;
        let at = At { dir: dir.as_fd(), name };
        let look = || self.fs.node(at.dir, at.name).map(|node| (node, Seen::from(&node)));
        let (node, before) = look()?;
        if before != *expected {
            return Ok(None);
        }
        // Any change does, and a change of owners would take set-user-id away.
        self.fs.set_modified(at, node.status.modified)?;
        let now = look()?.1;
        let is_same_size = now.size == expected.size || now.kind == Kind::Directory;
        let is_same =
            (now.kind, now.mode, now.modified) == (expected.kind, expected.mode, expected.modified);
        Ok((is_same && is_same_size).then_some(now))
    }
}
