//! Taking the layer's name from a file that was written back changes the file's time of change,
//! and is no change of the host's either.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::alone::Alone;
use super::journal::Ledger;
use super::root::{Closed, Root};
use super::{Seen, SyncError};
use crate::fs::Fs;

/// What write-back left in a tree, and is still as it was left.
#[derive(Debug)]
pub struct Standing {
    pub(super) mount: u32,
    pub(super) files: Vec<(PathBuf, Seen)>,
}

/// Looks for all that a ledger knows of a mount, before names of the layer are taken away.
pub fn standing(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    ledger: &Ledger,
    (mount, root): (u32, BorrowedFd<'_>),
) -> Standing {
    let settled = ledger.settled(mount);
    let alone = Alone::read(fs, run);
    let alone = alone.files(mount);
    let mut root = Root::new(fs, root, Closed::Stay);
    let files = ledger.left(mount).filter_map(|path| {
        let (seen, _) = look(fs, &mut root, path)?;
        let is_left = settled.has(&seen) || alone.get(path).is_some_and(|known| **known == seen);
        is_left.then(|| (path.to_owned(), seen))
    });
    Standing { mount, files: files.collect() }
}

/// Looks again, and writes down what only the layer's names changed.
///
/// # Errors
/// A failing call; what was left counts as changed by the host then.
pub fn settle_again(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    mut ledger: Ledger,
    standing: &[(Standing, BorrowedFd<'_>)],
) -> Result<(), SyncError> {
    let mut moved = false;
    for (of_mount, root) in standing {
        let mut root = Root::new(fs, *root, Closed::Stay);
        for (path, before) in &of_mount.files {
            let now = look(fs, &mut root, path).map(|(now, _)| now);
            let Some(now) = now.filter(|now| now.is_still(before)) else { continue };
            if now.changed != before.changed {
                ledger.settle_all(of_mount.mount, [now]);
                moved = true;
            }
        }
    }
    if !moved {
        return Ok(());
    }
    ledger.forget_earlier();
    ledger.store(fs, run)
}

/// Returns what stands at a path, and how many names it has.
pub(super) fn look(fs: &dyn Fs, root: &mut Root<'_>, path: &Path) -> Option<(Seen, u32)> {
    let (dir, leaf) = root.above(path).ok()?;
    fs.node(dir.as_fd(), leaf).ok().map(|node| (Seen::from(&node), node.links))
}
