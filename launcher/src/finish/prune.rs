//! Taking what was written back out of the layers of a run in which more still waits: a file that
//! was written back is one inode with the layer's, until the layer lets go of it.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::PathBuf;

use endow_vfs::fs::OsFs;
use endow_vfs::state::RunDir;
use endow_vfs::sync::{self, ChangeSet, Ledger, SyncError, Time};
use endow_vfs::tree::{Needed, prune_layer};

use super::write_back::source;
use super::{Target, WriteBackError};

/// Leaves only what still differs from the host in the layers of a run that has no journal.
///
/// What is written back does not differ, and so is not missed; done twice it is as done once.
pub(crate) fn prune(run: &RunDir, targets: &[Target]) -> Result<(), WriteBackError> {
    let ledger = Ledger::read(&OsFs, run.as_fd())?;
    let standing = targets.iter().map(|target| {
        let root = target.root.as_fd();
        (sync::standing(&OsFs, &ledger, target.number, root), root)
    });
    let standing: Vec<_> = standing.collect();
    for target in targets {
        let Some(upper) = &target.upper else { continue };
        let settled = ledger.settled(target.number);
        // Parts of git directories that are passed over stay, too.
        let changes = sync::collect(&OsFs, &source(target, upper, &settled))?;
        let pruned = prune_layer(&OsFs, upper.as_fd(), &needed(&changes, target.stamp));
        let path = PathBuf::new();
        pruned.map_err(|errno| SyncError::Io { action: "prune the layer of", path, errno })?;
    }
    sync::settle_again(&OsFs, run.as_fd(), ledger, &standing)?;
    Ok(())
}

fn needed(set: &ChangeSet, stamp: Time) -> Needed {
    let changes = set.changes.iter().filter(|change| !change.is_trace());
    let paths = changes.map(|change| change.path.clone()).collect();
    // A directory that is younger than the run hides nothing, by the rules of `collect`.
    let old = set.directories.iter().filter(|(_, both)| both.host.born.is_none_or(|it| it < stamp));
    let mut hiding: BTreeMap<_, Vec<_>> = old.map(|(path, _)| (path.clone(), Vec::new())).collect();
    for change in set.changes.iter().filter(|change| change.upper.is_none()) {
        let place = change.path.parent().zip(change.path.file_name());
        if let Some((hidden, name)) = place.and_then(|(at, name)| Some((hiding.get_mut(at)?, name)))
        {
            hidden.push(name.to_owned());
        }
    }
    Needed { paths, hiding }
}
