//! After a kill or a power loss: what was begun is finished, what was not is taken away.

use super::apply::{
    GIVEN_UP, Homeless, MountPlace, Outcome, RunPlace, SetAside, Workplace, carry, clear, end,
    finish, give_up_stage, judge, number_name, own_path, recall_stage, root_mode, tell,
};
use super::collect::{io, is_same_root};
use super::journal::{Act, Batch, Direction, Ledger, MountBatch, Step};
use super::root::Opened;
use super::{Conflict, Seen, SyncError, SyncReport};
use crate::fs::{Errno, Fs, Open};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
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
/// its place; where that is taken, it is set aside at the root of the tree. For one that [`resume()`] can't finish, also
/// since a mount is gone or another one: of that nothing is done, and what was taken from it stays where it is.
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
    let is_entered = ledger.last >= batch.serial;
    let parts = (&mut batch, is_entered);
    let mut workplaces = open_all(fs, run, mounts, parts, homeless == Homeless::GoesBack)?;
    let begun = SyncError::begun(batch.direction);
    let mut set_aside: Vec<_> = workplaces.iter().filter_map(Workplace::set_aside_before).collect();
    let outcomes = if is_entered {
        end(fs, run, &mut ledger, (&batch, &mut workplaces)).map_err(begun)?;
        batch.mounts.iter().map(|part| recall(&ledger, batch.direction, part)).collect()
    } else {
        let mut outcomes = ending(&mut workplaces, &batch).map_err(&begun)?;
        let missing = batch.mounts.iter().skip(workplaces.len());
        outcomes.extend(missing.map(|part| without_mount(fs, run, (part, batch.direction))));
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

/// Opens the workplaces of a batch's parts. Where those without their mount `may_miss`, they come after all others in
/// the batch, and have none.
fn open_all<'a>(
    fs: &'a dyn Fs,
    run: &RunPlace<'a>,
    mounts: &[MountPlace<'a>],
    (batch, is_entered): (&mut Batch, bool),
    may_miss: bool,
) -> Result<Vec<Workplace<'a>>, SyncError> {
    let (mut workplaces, mut missing) = (Vec::new(), Vec::new());
    for part in std::mem::take(&mut batch.mounts) {
        match open_one(fs, run, mounts, (&part, is_entered)) {
            Ok(workplace) => {
                workplaces.push(workplace);
                batch.mounts.push(part);
            }
            Err(SyncError::OtherRoot { .. }) if may_miss => missing.push(part),
            Err(error) => {
                // The error that counts is the first; what stays open is closed by who resumes.
                for workplace in &mut workplaces {
                    let _ = workplace.close(fs);
                }
                return Err(error);
            }
        }
    }
    if !is_entered {
        // What is in their stages is nobody's to remove, should they come back.
        let mut stages = missing.iter().filter(|part| part.is_beside);
        let given_up = stages.try_for_each(|part| give_up_stage(fs, run, part.mount));
        given_up.map_err(io("give up the stage of", Path::new("")))?;
    }
    batch.mounts.append(&mut missing);
    Ok(workplaces)
}

fn open_one<'a>(
    fs: &'a dyn Fs,
    run: &RunPlace<'a>,
    mounts: &[MountPlace<'a>],
    (part, is_entered): (&MountBatch, bool),
) -> Result<Workplace<'a>, SyncError> {
    let number = part.mount;
    let other = || SyncError::OtherRoot { mount: number };
    let mount = mounts.iter().find(|mount| mount.number == number).ok_or_else(other)?;
    let root = fs.node(mount.root, OsStr::new("")).map_err(io("look at", Path::new("")))?;
    if !is_same_root(&root, &part.root) {
        return Err(other());
    }
    recall_stage(fs, run, number).map_err(io("look for the stage of", Path::new("")))?;
    let mut workplace = Workplace::open(fs, run, mount, &|_| false)?;
    if workplace.is_beside() != part.is_beside {
        if workplace.is_stage_new() {
            workplace.leave(fs, workplace.root_time())?;
        }
        return Err(other());
    }
    if let Some(mode) = if is_entered { root_mode(part) } else { part.root_mode } {
        workplace.root.was_open(Opened { path: PathBuf::new(), ino: root.status.id.ino, mode });
    }
    Ok(workplace)
}

/// What becomes of a part that is given up where nobody can look: what the run's directory has of it stays there, and
/// an undo brings that back when the mount is there again, and takes away what was put.
fn without_mount(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    (part, direction): (&MountBatch, Direction),
) -> Vec<Outcome> {
    let mut unseen = Unseen { fs, part, undo: None, put: HashSet::new() };
    unseen.undo = fs.open_below(run.dir, &own_path(part.mount), Open::List).ok();
    let of = |step| match direction {
        Direction::Apply => unseen.became(step),
        Direction::Undo => GIVEN_UP,
    };
    part.steps.iter().map(of).collect()
}

/// A part of a batch whose mount nobody sees, as the run's directory tells of it.
struct Unseen<'a> {
    fs: &'a dyn Fs,
    part: &'a MountBatch,
    /// Where its originals end up, and is staged what is not staged beside the mount.
    undo: Option<OwnedFd>,
    /// Directories that were put as a whole.
    put: HashSet<&'a Path>,
}

impl<'a> Unseen<'a> {
    fn became(&mut self, step: &'a Step) -> Outcome {
        if self.has_original(step) {
            return Outcome::Kept(Conflict::Root);
        }
        if !self.is_put(step) {
            return GIVEN_UP;
        }
        self.put.insert(&step.path);
        Outcome::Done
    }

    /// Until they have changed places, what is there is what the step would put.
    fn has_original(&self, step: &Step) -> bool {
        let is_here = step.displaces() && (step.is_kept || !self.part.is_beside);
        let is_staged = |found: &Seen| step.new.is_some_and(|new| found.is_same_inode(&new));
        is_here && matches!(self.found(step), Some(Ok(found)) if !is_staged(&found))
    }

    /// What is staged in the run's directory is there until it is put.
    fn is_put(&self, step: &Step) -> bool {
        if step.act != Act::Put || step.is_beyond || step.is_barred || self.part.is_beside {
            return false;
        }
        if step.is_within {
            return step.path.parent().is_some_and(|above| self.put.contains(above));
        }
        matches!(self.found(step), Some(Err(Errno::NOENT)))
    }

    fn found(&self, step: &Step) -> Option<Result<Seen, Errno>> {
        let undo = self.undo.as_ref()?;
        let found = self.fs.node(undo.as_fd(), &number_name(step.number));
        Some(found.map(|found| Seen::from(&found)))
    }
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
