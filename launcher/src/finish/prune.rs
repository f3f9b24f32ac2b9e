//! Taking what was written back out of the layers of a run in which more still waits: a file that
//! was written back is one inode with the layer's, until the layer lets go of it.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use endow_vfs::fs::OsFs;
use endow_vfs::state::{LAYERS, RunDir, StateError};
use endow_vfs::sync::{self, Ledger, Standing, SyncError};
use endow_vfs::tree::prune_layer;

use super::write_back::source;
use super::{Target, WriteBackError};

/// Leaves only what still differs from the host in the layers of a run that has no journal.
///
/// What is written back does not differ, and so is not missed; done twice it is as done once.
pub(crate) fn prune(run: &RunDir, targets: &[Target]) -> Result<(), WriteBackError> {
    let ledger = Ledger::read(&OsFs, run.as_fd())?;
    let standing = standing(run, &ledger, targets);
    for target in targets {
        let Some(upper) = &target.upper else { continue };
        let settled = ledger.settled(target.number);
        // Parts of git directories that are passed over stay, too.
        let changes = sync::collect(&OsFs, &source(target, upper, &settled))?;
        let pruned = prune_layer(&OsFs, upper.as_fd(), &sync::needed(&changes));
        let path = PathBuf::new();
        pruned.map_err(|errno| SyncError::Io { action: "prune the layer of", path, errno })?;
    }
    sync::settle_again(&OsFs, run.as_fd(), ledger, &standing)?;
    // Without it an undo compares less.
    drop(sync::note_alone(&OsFs, run.as_fd(), &standing));
    Ok(())
}

/// Takes the layers of a run away that needs them no more.
pub(crate) fn drop_layers(run: &RunDir, targets: &[Target]) -> Result<(), StateError> {
    let ledger = Ledger::read(&OsFs, run.as_fd()).unwrap_or_default();
    let standing = standing(run, &ledger, targets);
    run.remove_part(&OsFs, Path::new(LAYERS))?;
    // Without it an undo compares less.
    drop(sync::note_alone(&OsFs, run.as_fd(), &standing));
    Ok(())
}

/// What was written back of a run and stands as it was left, by target.
fn standing<'t>(
    run: &RunDir,
    ledger: &Ledger,
    targets: &'t [Target],
) -> Vec<(Standing, BorrowedFd<'t>)> {
    let of_target = |target: &'t Target| {
        let root = target.root.as_fd();
        (sync::standing(&OsFs, run.as_fd(), ledger, (target.number, root)), root)
    };
    targets.iter().map(of_target).collect()
}
