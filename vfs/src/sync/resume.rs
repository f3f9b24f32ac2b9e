//! After a kill or a power loss: what was begun is finished, what was not is taken away.

use super::apply::{
    Homeless, MountPlace, Outcome, RunPlace, SetAside, Workplace, carry, clear, end, finish, judge,
    root_mode, tell,
};
use super::collect::{io, is_same_root};
use super::journal::{Batch, Direction, Ledger, MountBatch};
use super::root::Opened;
use super::{Conflict, SyncError, SyncReport};
use crate::fs::Fs;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What was finished.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// Whether it was a write-back or an undo.
    pub direction: Direction,
    /// What became of it, by mount; what its plan had left out is not known any more.
    pub reports: Vec<(u32, SyncReport)>,
    /// What had been taken from the trees and neither can be kept nor goes back.
    pub set_aside: Vec<SetAside>,
}

/// Finishes the batch that a journal tells of; `None` when there is none, and what was staged for
/// one is gone. Doing it twice is as doing it once.
///
/// # Errors
/// A failing call, after which it can be tried again.
pub fn resume(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mounts: &[MountPlace<'_>],
) -> Result<Option<Resumed>, SyncError> {
    let ending =
        |workplaces: &mut [Workplace<'_>], batch: &Batch| carry(fs, workplaces, batch, true);
    end_begun(fs, run, mounts, (&ending, Homeless::Fails))
}

/// Ends the batch that a journal tells of as it stands: what of it is done is entered, and can be
/// undone; nothing more is done. What was taken from a tree and can't be copied to the run's directory goes back to
/// its place; where that is taken, it is set aside at the root of the tree. For one that [`resume()`] can't finish.
///
/// # Errors
/// A failing call, after which it can be tried again.
pub fn give_up(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mounts: &[MountPlace<'_>],
) -> Result<Option<Resumed>, SyncError> {
    let ending = |workplaces: &mut [Workplace<'_>], batch: &Batch| judge(fs, workplaces, batch);
    end_begun(fs, run, mounts, (&ending, Homeless::GoesBack))
}

/// Returns what became of each step, by mount.
type Ending<'e> = dyn Fn(&mut [Workplace<'_>], &Batch) -> Result<Vec<Vec<Outcome>>, SyncError> + 'e;

fn end_begun(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mounts: &[MountPlace<'_>],
    (ending, homeless): (&Ending<'_>, Homeless),
) -> Result<Option<Resumed>, SyncError> {
    let mut ledger = Ledger::read(fs, run.dir)?;
    let Some(mut batch) = Batch::read_journal(fs, run.dir)? else {
        clear(fs, run, mounts, &ledger)?;
        return Ok(None);
    };
    let mut workplaces = Vec::new();
    for part in &mut batch.mounts {
        let number = part.mount;
        let other = || SyncError::OtherRoot { mount: number };
        let mount = mounts.iter().find(|mount| mount.number == number).ok_or_else(other)?;
        let root = fs.node(mount.root, OsStr::new("")).map_err(io("look at", Path::new("")))?;
        if !is_same_root(&root, &part.root) {
            return Err(other());
        }
        let mut workplace = Workplace::open(fs, run, mount, &|_| false)?;
        if workplace.is_beside() != part.is_beside {
            return Err(other());
        }
        let is_entered = ledger.last >= batch.serial;
        if let Some(mode) = if is_entered { root_mode(part) } else { part.root_mode } {
            workplace.root.was_open(Opened { path: PathBuf::new(), ino: root.status.id.ino, mode });
        }
        workplaces.push(workplace);
    }
    let (mut set_aside, begun) = (Vec::new(), SyncError::begun(batch.direction));
    let outcomes = if ledger.last >= batch.serial {
        end(fs, run, &mut ledger, (&batch, &mut workplaces)).map_err(begun)?;
        batch.mounts.iter().map(|part| recall(&ledger, batch.direction, part)).collect()
    } else {
        let mut outcomes = ending(&mut workplaces, &batch).map_err(&begun)?;
        let ending = (outcomes.as_mut_slice(), homeless);
        set_aside =
            finish(fs, run, &mut ledger, (&mut batch, &mut workplaces), ending).map_err(begun)?;
        outcomes
    };
    let reports = batch.mounts.iter().zip(&outcomes).map(|(part, outcomes)| {
        let mut report = SyncReport::default();
        tell(&mut report, part, outcomes);
        (part.mount, report)
    });
    Ok(Some(Resumed { direction: batch.direction, reports: reports.collect(), set_aside }))
}

/// Returns what became of the steps of a batch that is in the ledger already.
fn recall(ledger: &Ledger, direction: Direction, part: &MountBatch) -> Vec<Outcome> {
    let parts = ledger.batches.iter().flat_map(|batch| &batch.mounts);
    let parts = parts.filter(|known| known.mount == part.mount);
    let known: HashSet<u32> =
        parts.flat_map(|known| &known.steps).map(|step| step.number).collect();
    let outcomes = part.steps.iter().map(|step| {
        let is_done = known.contains(&step.number) == (direction == Direction::Apply);
        if is_done { Outcome::Done } else { Outcome::Lost(Conflict::Changed) }
    });
    outcomes.collect()
}
