//! Taking a write-back back.

mod doubtful;
mod inverse;
mod repositories;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use self::doubtful::{Doubt, Doubtful};
use self::repositories::Repositories;
use super::alone::Alone;
use super::apply::{
    MountPlace, Moves, Outcome, RunPlace, Workplace, carry_out, clear, leave, must_move,
    publish_or_clear,
};
use super::collect::{io, is_same_root};
use super::journal::{self, Batch, Direction, Ledger};
use super::{Failed, Identity, Lacking, Restored, SyncError, follow};
use crate::fs::Fs;

/// What became of an undo in one mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoReport {
    /// The number of the mount.
    pub mount: u32,
    /// What is as it was before the write-back.
    pub undone: Vec<PathBuf>,
    /// What changed since it was written back, and so stays as it is.
    pub changed_since: Vec<PathBuf>,
    /// What may not be the run's, since something changed there after its end, and so stays as it is; an undo of
    /// named paths takes it back.
    pub later: Vec<PathBuf>,
    /// What came back and is not all that it was, or did not with the directory it was in.
    pub lacking: Vec<Lacking>,
    /// What came back for that, and is another file than it was.
    pub restored: Vec<Restored>,
    /// What the kernel did not allow, or whose undo data is gone.
    pub failed: Vec<Failed>,
    /// Where in the tree now stands what somebody had put in the way meanwhile, and could not stay there.
    pub set_aside: Vec<PathBuf>,
    /// Something was to be taken back, and another directory stands in the place of the one that was written to.
    pub is_other_root: bool,
}

/// Takes back what was written back of a run, all of it or the selected paths; what changed since
/// stays, is named, and can be tried again.
///
/// Of a git directory that was there before, objects stay, and are no part of the run any more; where the
/// repository stands is taken back as a whole, or not at all when somebody moved it since.
///
/// A directory that was removed as a whole comes back as a whole when any path in it is selected. What was
/// written below another directory than is the mount's root by now is left alone, and told.
///
/// # Errors
/// Before the journal holds, nothing has changed. Afterwards [`super::resume()`] goes on.
pub fn undo(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mounts: &[MountPlace<'_>],
    selected: &dyn Fn(u32, &Path) -> bool,
) -> Result<Vec<UndoReport>, SyncError> {
    take_back(fs, run, mounts, (selected, Doubt::Stays))
}

/// The same of paths that somebody named: what may not be the run's is taken back, too.
///
/// # Errors
/// As for [`undo()`].
pub fn undo_named(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mounts: &[MountPlace<'_>],
    selected: &dyn Fn(u32, &Path) -> bool,
) -> Result<Vec<UndoReport>, SyncError> {
    take_back(fs, run, mounts, (selected, Doubt::Goes))
}

type Selected<'s> = dyn Fn(u32, &Path) -> bool + 's;

fn take_back(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mounts: &[MountPlace<'_>],
    whose: (&Selected<'_>, Doubt),
) -> Result<Vec<UndoReport>, SyncError> {
    if journal::has_journal(fs, run.dir)? {
        return Err(SyncError::Unfinished);
    }
    let ledger = Ledger::read(fs, run.dir)?;
    clear(fs, run, mounts, &ledger)?;
    let mut planned = Planned::new(fs, run, ledger);
    let parts = mounts.iter().try_for_each(|mount| planned.add(mount, whose));
    parts.inspect_err(|_| drop(clear(fs, run, mounts, &planned.ledger)))?;
    if planned.batch.mounts.iter().all(|part| part.steps.is_empty()) {
        return planned.end_empty(mounts);
    }
    let Planned { mut ledger, mut batch, mut workplaces, mut reports, objects, .. } = planned;
    ledger.forget(&objects);
    let displaced = follow::displaced(&ledger, mounts.iter().map(|mount| mount.number));
    publish_or_clear(fs, run, mounts, (&batch, &workplaces), &ledger)?;
    let (outcomes, aside) = carry_out(fs, run, &mut ledger, (&mut batch, &mut workplaces))?;
    tell(&mut reports, &batch, &outcomes);
    let done = (&batch, outcomes.as_slice());
    let mut restored = follow::restored(fs, &mut workplaces, &displaced, done);
    for report in &mut reports {
        report.restored = restored.remove(&report.mount).unwrap_or_default();
        let aside = aside.iter().filter(|it| it.mount == report.mount);
        report.set_aside.extend(aside.map(|it| it.place.clone()));
    }
    Ok(reports)
}

/// What is to be taken back, mount by mount.
struct Planned<'a> {
    fs: &'a dyn Fs,
    run: &'a RunPlace<'a>,
    ledger: Ledger,
    alone: Alone,
    batch: Batch,
    workplaces: Vec<Workplace<'a>>,
    reports: Vec<UndoReport>,
    /// Objects of repositories that stay, by mount.
    objects: Vec<(u32, BTreeSet<PathBuf>)>,
}

impl<'a> Planned<'a> {
    fn new(fs: &'a dyn Fs, run: &'a RunPlace<'a>, ledger: Ledger) -> Self {
        let batch = Batch::new(Direction::Undo, &ledger);
        let (workplaces, reports, objects) = (Vec::new(), Vec::new(), Vec::new());
        let alone = Alone::read(fs, run.dir);
        Self { fs, run, ledger, alone, batch, workplaces, reports, objects }
    }

    fn add(
        &mut self,
        mount: &MountPlace<'a>,
        (selected, doubt): (&Selected<'_>, Doubt),
    ) -> Result<(), SyncError> {
        let chosen = |path: &Path| selected(mount.number, path);
        let mut report = UndoReport { mount: mount.number, ..UndoReport::default() };
        let root = self.fs.node(mount.root, OsStr::new(""));
        let root = root.map_err(io("look at", Path::new("")))?;
        // A directory that stands in the place of the one that was written to holds nothing of the run.
        let is_here = |it: &Identity| is_same_root(&root, it);
        let elsewhere = self.ledger.below_roots(mount.number, &|it| !is_here(it));
        report.is_other_root = elsewhere.applied(mount.number).any(|(path, _)| chosen(path));
        let is_divided = elsewhere.knows(mount.number);
        let here = is_divided.then(|| self.ledger.below_roots(mount.number, &is_here));
        if here.as_ref().unwrap_or(&self.ledger).knows(mount.number) {
            self.add_known(mount, here.as_ref(), (&chosen, doubt), &mut report)?;
        }
        self.reports.push(report);
        Ok(())
    }

    /// Adds a mount that was written back to; `here` has what was written below its root, where that is not
    /// all.
    fn add_known(
        &mut self,
        mount: &MountPlace<'a>,
        here: Option<&Ledger>,
        (chosen, doubt): (&dyn Fn(&Path) -> bool, Doubt),
        report: &mut UndoReport,
    ) -> Result<(), SyncError> {
        let Self { fs, ledger, alone, .. } = self;
        let ledger = here.unwrap_or(ledger);
        let kept = Repositories::look(*fs, mount, (ledger, alone), &chosen)?;
        let doubtful = Doubtful::of(ledger, mount.number, doubt);
        report.later = doubtful.among(&chosen);
        let chosen = |path: &Path| chosen(path) && !kept.keep(path) && !doubtful.has(path);
        report.changed_since.extend(kept.told.iter().cloned());
        let settled = ledger.settled(mount.number);
        let mut workplace = Workplace::open(*fs, self.run, mount, &|root| settled.has(root))?;
        must_move(*fs, &mut workplace, Moves::of_steps(ledger.steps(mount.number)))?;
        let known = (ledger, &alone.files(mount.number), &kept.refreshed);
        let part = inverse::invert(*fs, &mut workplace, mount, known, (&chosen, report))?;
        self.batch.mounts.push(part);
        self.workplaces.push(workplace);
        self.objects.push((mount.number, kept.objects));
        Ok(())
    }

    /// Ends where nothing is to be taken back.
    fn end_empty(mut self, mounts: &[MountPlace<'_>]) -> Result<Vec<UndoReport>, SyncError> {
        let has_forgotten = self.ledger.forget(&self.objects);
        let mut has_noted = false;
        for (workplace, part) in self.workplaces.iter_mut().zip(&self.batch.mounts) {
            let report = self.reports.iter_mut().find(|report| report.mount == part.mount);
            if let (Some(report), Some(aside)) = (report, workplace.set_aside_before()) {
                report.set_aside.push(aside.place);
            }
            has_noted |= leave(self.fs, workplace, &mut self.ledger, part.root_time)?;
        }
        clear(self.fs, self.run, mounts, &self.ledger)?;
        if has_forgotten {
            self.ledger.store(self.fs, self.run.dir)?;
        } else if has_noted {
            // Without it, the next write-back takes the stage for a change of the host's, and says so.
            drop(self.ledger.store(self.fs, self.run.dir));
        }
        Ok(self.reports)
    }
}

/// Says of each step what became of it.
fn tell(reports: &mut [UndoReport], batch: &Batch, outcomes: &[Vec<Outcome>]) {
    for (part, outcomes) in batch.mounts.iter().zip(outcomes) {
        let Some(report) = reports.iter_mut().find(|report| report.mount == part.mount) else {
            continue;
        };
        for (step, outcome) in part.steps.iter().zip(outcomes) {
            let path = step.path.clone();
            match outcome {
                _ if step.change.is_none() => {}
                Outcome::Done => {
                    report.lacking.extend(step.lacks.iter().map(|it| it.below(&path)));
                    report.undone.push(path);
                }
                Outcome::Lost(_) | Outcome::Kept(_) => report.changed_since.push(path),
                Outcome::Failed(errno) => report.failed.push(Failed { path, errno: *errno }),
                Outcome::Stays | Outcome::Skipped => {}
            }
        }
    }
}
