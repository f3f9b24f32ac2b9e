//! Taking the layer's name from a file that was written back changes the file's time of change,
//! and is no change of the host's either.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::journal::Ledger;
use super::root::{Closed, Root};
use super::{Seen, SyncError};
use crate::fs::Fs;

/// What write-back left in a tree, and is still as it was left.
#[derive(Debug)]
pub struct Standing {
    mount: u32,
    files: Vec<(PathBuf, Seen)>,
}

/// Looks for all that a ledger knows of a mount, before names of the layer are taken away.
pub fn standing(fs: &dyn Fs, ledger: &Ledger, mount: u32, root: BorrowedFd<'_>) -> Standing {
    let settled = ledger.settled(mount);
    let mut root = Root::new(fs, root, Closed::Stay);
    let files = ledger.left(mount).filter_map(|path| {
        let seen = look(fs, &mut root, path)?;
        settled.has(&seen).then(|| (path.to_owned(), seen))
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
            let Some(now) = look(fs, &mut root, path).filter(|now| now.is_still(before)) else {
                continue;
            };
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

fn look(fs: &dyn Fs, root: &mut Root<'_>, path: &Path) -> Option<Seen> {
    let (dir, leaf) = root.above(path).ok()?;
    fs.node(dir.as_fd(), leaf).ok().map(|node| Seen::from(&node))
}
