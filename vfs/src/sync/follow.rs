//! What an undo brings back may be what an earlier run left there. It is a copy now, or its time of change is
//! another at least: the earlier run is told, so that it can be taken back too.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use super::alone::Alone;
use super::apply::Outcome;
use super::collect::{io, is_same_root};
use super::journal::{Act, Batch, Ledger};
use super::{Seen, SyncError};
use crate::fs::Fs;

/// What an undo brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Where, below the root of the mount.
    pub path: PathBuf,
    /// What it was before the run.
    pub was: Seen,
    /// What it is now.
    pub now: Seen,
}

/// What the steps of a ledger displaced, by mount and number.
pub(super) type Displaced = HashMap<(u32, u32), Seen>;

/// Returns what can be brought back.
pub(super) fn displaced(ledger: &Ledger, mounts: impl Iterator<Item = u32>) -> Displaced {
    let of_mount = |mount| {
        let steps = ledger.steps(mount);
        steps.filter_map(move |step| Some(((mount, step.number), step.old?)))
    };
    mounts.flat_map(of_mount).collect()
}

/// Returns what an undo brought back in each mount.
pub(super) fn restored(
    displaced: &Displaced,
    batch: &Batch,
    outcomes: &[Vec<Outcome>],
) -> HashMap<u32, Vec<Restored>> {
    let of_part = batch.mounts.iter().zip(outcomes).map(|(part, outcomes)| {
        let done = part.steps.iter().zip(outcomes).filter(|(_, it)| **it == Outcome::Done);
        let back = done.filter(|(step, _)| matches!(step.act, Act::Put | Act::Swap));
        let back = back.filter_map(|(step, _)| {
            let was = *displaced.get(&(part.mount, step.number))?;
            Some((step.path.clone(), Restored { path: step.path.clone(), was, now: step.new? }))
        });
        // Of several steps of a path the last one stands.
        let last: HashMap<PathBuf, Restored> = back.collect();
        (part.mount, last.into_values().collect())
    });
    of_part.collect()
}

/// Tells a run what an undo of another one brought back below a root.
///
/// # Errors
/// A failing call; what was brought back counts as changed since the run then.
pub fn follow(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    root: BorrowedFd<'_>,
    restored: &[Restored],
) -> Result<(), SyncError> {
    let (mut ledger, mut alone) = (Ledger::read(fs, run)?, Alone::read(fs, run));
    let root = fs.node(root, OsStr::new("")).map_err(io("look at", Path::new("")))?;
    let parts = ledger.batches.iter().flat_map(|batch| &batch.mounts);
    let mounts = parts.filter(|part| is_same_root(&root, &part.root)).map(|part| part.mount);
    let mounts: HashSet<u32> = mounts.collect();
    let mut has_any = false;
    for mount in mounts {
        for one in restored {
            // Somebody else came in between.
            let is_it = alone.files(mount).get(one.path.as_path()).is_none_or(|it| **it == one.was);
            if is_it && ledger.left_again(mount, one) {
                alone.left_again(mount, one);
                has_any = true;
            }
        }
    }
    if !has_any {
        return Ok(());
    }
    ledger.forget_earlier();
    ledger.store(fs, run)?;
    alone.store(fs, run)
}
