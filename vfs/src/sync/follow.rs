//! What an undo brings back may be what an earlier run left there. It is a copy now, or its time of change is
//! another at least: the earlier run is told, so that it can be taken back too.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use super::alone::Alone;
use super::apply::{Outcome, Workplace};
use super::collect::{io, is_same_root};
use super::journal::{Act, Batch, Ledger, Step};
use super::resettle::look;
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

/// What stood where a step was done.
pub(super) struct Displaced {
    top: Seen,
    /// All that was in a directory that it took away.
    below: Vec<(PathBuf, Seen)>,
}

/// What the steps of a ledger displaced or changed, by mount and number.
pub(super) type AllDisplaced = HashMap<(u32, u32), Displaced>;

/// Returns what can be brought back.
pub(super) fn displaced(ledger: &Ledger, mounts: impl Iterator<Item = u32>) -> AllDisplaced {
    let of_mount = |mount| {
        let steps = ledger.steps(mount);
        steps.filter_map(move |step| {
            let displaced = Displaced { top: step.old?, below: step.below.clone() };
            Some(((mount, step.number), displaced))
        })
    };
    mounts.flat_map(of_mount).collect()
}

/// Returns what an undo brought back in each mount.
pub(super) fn restored(
    fs: &dyn Fs,
    workplaces: &mut [Workplace<'_>],
    displaced: &AllDisplaced,
    (batch, outcomes): (&Batch, &[Vec<Outcome>]),
) -> HashMap<u32, Vec<Restored>> {
    let parts = batch.mounts.iter().zip(outcomes).zip(workplaces);
    let of_part = parts.map(|((part, outcomes), workplace)| {
        let mut back = Back { fs, workplace, found: HashMap::new() };
        let done = part.steps.iter().zip(outcomes).filter(|(_, it)| **it == Outcome::Done);
        for (step, _) in done.filter(|(step, _)| brings_back(step)) {
            if let Some(was) = displaced.get(&(part.mount, step.number)) {
                back.step(step, was, part.is_beside);
            }
        }
        (part.mount, back.found.into_values().map(|(_, restored)| restored).collect())
    });
    of_part.collect()
}

/// Whether something is as it was by a step: the time of a directory alone tells nobody anything.
fn brings_back(step: &Step) -> bool {
    match step.act {
        Act::Put | Act::Swap => true,
        Act::Amend => step.change.is_some(),
        Act::Take => false,
    }
}

struct Back<'b, 'a> {
    fs: &'b dyn Fs,
    workplace: &'b mut Workplace<'a>,
    /// By path, with the number of the first step there that was taken back.
    found: HashMap<PathBuf, (u32, Restored)>,
}

impl Back<'_, '_> {
    fn step(&mut self, step: &Step, was: &Displaced, is_copied: bool) {
        let Some(now) = step.new else { return };
        self.note(step.number, Restored { path: step.path.clone(), was: was.top, now });
        // Moved back, they are the files that they were.
        let below = was.below.iter().filter(|_| is_copied && step.act != Act::Amend);
        for (path, was) in below {
            let path = step.path.join(path);
            if let Some((now, _)) = look(self.fs, &mut self.workplace.root, &path) {
                self.note(step.number, Restored { path, was: *was, now });
            }
        }
    }

    /// Of several steps of a path the last one stands, for what was there before the first.
    fn note(&mut self, number: u32, restored: Restored) {
        match self.found.get_mut(&restored.path) {
            None => drop(self.found.insert(restored.path.clone(), (number, restored))),
            Some((first, known)) if *first < number => known.now = restored.now,
            Some(known) => *known = (number, restored),
        }
    }
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
