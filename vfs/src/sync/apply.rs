//! Carrying a plan out: everything is staged, then only names are swapped.

pub(super) mod amend;
mod beside;
mod commit;
pub(super) mod copy;
mod finish;
mod home;
mod probe;
mod stage;
mod workplace;

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use super::collect::io;
use super::journal::{self, Act, Batch, Direction, Ledger, MountBatch, Step};
use super::{
    Applied, ChangeKind, Identity, Operation, Place, Refusal, Seen, SyncError, SyncPlan, SyncReport,
};
use crate::fs::{Errno, Fs, Kind, is_beyond};
use std::ffi::OsStr;
use std::path::Path;

pub(super) use commit::{GIVEN_UP, Outcome, carry, judge};
pub(super) use copy::{copy_leaf, open_readable, with_bits};
use finish::publish;
pub(super) use finish::{end, finish, leave, root_mode};
pub(super) use home::Homeless;
pub use home::SetAside;
#[cfg(test)]
pub(crate) use probe::SCRATCH;
pub(super) use probe::{Moves, can_exchange, must_move};
use stage::{Amended, Placed};
pub(super) use workplace::{
    Workplace, clear, clear_undo, give_up_stage, make_own, name as number_name, own_path,
    recall_stage,
};
pub use workplace::{remove_stage, stage_name};

/// The directory of the run.
#[derive(Clone, Copy, Debug)]
pub struct RunPlace<'a> {
    /// It, open for listing; its lock is the caller's.
    pub dir: BorrowedFd<'a>,
    /// Its name, which names the stage in a target on another file system.
    pub id: &'a str,
}

/// One mount of the run.
#[derive(Clone, Copy, Debug)]
pub struct MountPlace<'a> {
    /// Its place in the run's record.
    pub number: u32,
    /// The root of the target.
    pub root: BorrowedFd<'a>,
    /// The upper layer; `None` where it is not needed any more.
    pub upper: Option<BorrowedFd<'a>>,
}

/// Carries out the plans of a run's mounts.
///
/// Nothing of the trees changes before all new content is staged and on the disk, and the journal
/// with it. From there on the batch is finished, by [`super::resume()`] if not by this process. A
/// path where the host's side is no longer what the plan expects is left alone and reported.
///
/// # Errors
/// Before the journal holds, nothing has changed. Afterwards [`super::resume()`] goes on.
pub fn apply(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    plans: &[(MountPlace<'_>, &SyncPlan)],
) -> Result<Vec<SyncReport>, SyncError> {
    if journal::has_journal(fs, run.dir)? {
        return Err(SyncError::Unfinished);
    }
    let mut reports: Vec<SyncReport> = plans.iter().map(|(_, plan)| report_of(plan)).collect();
    if plans.iter().all(|(_, plan)| plan.operations.is_empty()) {
        return Ok(reports);
    }
    let mut ledger = Ledger::read(fs, run.dir)?;
    let places: Vec<MountPlace<'_>> = plans.iter().map(|(place, _)| *place).collect();
    clear(fs, run, &places, &ledger)?;
    let staged = stage_all(fs, run, plans, &ledger);
    let (mut batch, mut workplaces) = match staged {
        Ok(staged) => staged,
        Err(error) => {
            // The error that counts is the first; what is left here is swept by the next command.
            drop(clear(fs, run, &places, &ledger));
            return Err(error);
        }
    };
    publish_or_clear(fs, run, &places, (&batch, &workplaces), &ledger)?;
    let (outcomes, aside) = carry_out(fs, run, &mut ledger, (&mut batch, &mut workplaces))?;
    let mut parts = batch.mounts.iter().zip(&outcomes);
    for ((place, plan), report) in plans.iter().zip(&mut reports) {
        if plan.operations.is_empty() {
            continue;
        }
        if let Some((part, outcomes)) = parts.next() {
            debug_assert_eq!(part.mount, place.number);
            tell(report, part, outcomes);
        }
        let aside = aside.iter().filter(|it| it.mount == place.number);
        report.set_aside.extend(aside.map(|it| it.place.clone()));
    }
    Ok(reports)
}

/// Makes the journal hold; what is staged for one that does not is taken away.
pub(super) fn publish_or_clear(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mounts: &[MountPlace<'_>],
    (batch, workplaces): (&Batch, &[Workplace<'_>]),
    ledger: &Ledger,
) -> Result<(), SyncError> {
    let published = publish(fs, run, batch, workplaces);
    if published.is_err() && matches!(journal::has_journal(fs, run.dir), Ok(false)) {
        // The error that counts is the first; what is left here is swept by `endow gc`.
        drop(clear(fs, run, mounts, ledger));
    }
    published
}

/// Does what the journal says, and notes it; returns what became of each step, by mount, and what was set aside.
pub(super) fn carry_out(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    ledger: &mut Ledger,
    (batch, workplaces): (&mut Batch, &mut [Workplace<'_>]),
) -> Result<(Vec<Vec<Outcome>>, Vec<SetAside>), SyncError> {
    let begun = SyncError::begun(batch.direction);
    let mut outcomes = carry(fs, workplaces, batch, false).map_err(&begun)?;
    let ending = (outcomes.as_mut_slice(), Homeless::Fails);
    let aside = finish(fs, run, ledger, (batch, workplaces), ending).map_err(begun)?;
    Ok((outcomes, aside))
}

fn report_of(plan: &SyncPlan) -> SyncReport {
    SyncReport {
        conflicts: plan.conflicts.clone(),
        refused: plan.refused.clone(),
        held: plan.held.clone(),
        left_out: plan.left_out.clone(),
        ..SyncReport::default()
    }
}

/// Adds what became of the steps to a report.
pub(super) fn tell(report: &mut SyncReport, part: &MountBatch, outcomes: &[Outcome]) {
    for (step, outcome) in part.steps.iter().zip(outcomes) {
        let Some(kind) = step.change else { continue };
        match outcome {
            Outcome::Done => {
                let (path, node) = (step.path.clone(), step.node);
                report.applied.push(Applied { path, kind, node });
                let below = step.below.iter().map(|(path, seen)| Applied {
                    path: step.path.join(path),
                    kind: ChangeKind::Deleted,
                    node: seen.kind,
                });
                report.applied.extend(below);
            }
            Outcome::Lost(conflict) | Outcome::Kept(conflict) => {
                report.lost(step.path.clone(), kind, *conflict);
            }
            Outcome::Failed(_) if step.is_barred => report.refuse(step, Refusal::Unreadable),
            Outcome::Failed(errno) if is_beyond(*errno) => {
                report.refuse(step, Refusal::Beyond);
            }
            Outcome::Stays => report.refuse(step, Refusal::Moved),
            Outcome::Failed(errno) => {
                report.conflicts.retain(|found| found.path != step.path);
                report.failed.push(super::Failed { path: step.path.clone(), errno: *errno });
            }
            Outcome::Skipped => {}
        }
    }
}

type Staged<'a> = (Batch, Vec<Workplace<'a>>);

fn stage_all<'a>(
    fs: &'a dyn Fs,
    run: &RunPlace<'a>,
    plans: &[(MountPlace<'a>, &SyncPlan)],
    ledger: &Ledger,
) -> Result<Staged<'a>, SyncError> {
    let mut batch = Batch::new(Direction::Apply, ledger);
    let mut workplaces = Vec::new();
    for (place, plan) in plans.iter().filter(|(_, plan)| !plan.operations.is_empty()) {
        let mut workplace = Workplace::open(fs, run, place, &|root| plan.root == Some(*root))?;
        if plan.opens {
            workplace.root.opens_closed();
        }
        must_move(fs, &mut workplace, Moves::of_plan(plan))?;
        let part = stage_mount(fs, &mut workplace, place, plan, &mut batch.next)?;
        batch.mounts.push(part);
        workplaces.push(workplace);
    }
    Ok((batch, workplaces))
}

fn stage_mount(
    fs: &dyn Fs,
    workplace: &mut Workplace<'_>,
    place: &MountPlace<'_>,
    plan: &SyncPlan,
    next: &mut u32,
) -> Result<MountBatch, SyncError> {
    let root = fs.node(place.root, OsStr::new("")).map_err(io("look at", Path::new("")))?;
    let upper = place.upper.ok_or(Errno::BADF).map_err(io("open the layer of", Path::new("")))?;
    let mut stage = stage::Stage::new(fs, workplace, (upper, plan));
    let mut steps = Vec::new();
    let staged = stage_operations(fs, &mut stage, plan, next, &mut steps);
    let closed = stage.close();
    staged?;
    closed.map_err(io("close", Path::new("")))?;
    home::keep_all(fs, workplace, &mut steps)?;
    amend::check_times(fs, workplace, &mut steps)?;
    Ok(MountBatch {
        mount: place.number,
        root: Identity::from(&root),
        is_beside: workplace.is_beside(),
        root_time: workplace.root_time(),
        root_mode: workplace.root_mode(fs),
        parents: plan.parents.iter().map(|(path, seen)| (path.clone(), *seen)).collect(),
        steps,
    })
}

fn stage_operations(
    fs: &dyn Fs,
    stage: &mut stage::Stage<'_>,
    plan: &SyncPlan,
    next: &mut u32,
    steps: &mut Vec<Step>,
) -> Result<(), SyncError> {
    let mut made: HashMap<&Path, Seen> = HashMap::new();
    for operation in &plan.operations {
        let step = match operation {
            Operation::Place(place) => staged(fs, stage, (place, plan), (*next, &mut made))?,
            Operation::Take(take) => Step {
                act: Act::Take,
                change: Some(ChangeKind::Deleted),
                node: take.host.kind,
                old: Some(take.host),
                below: take.below.clone(),
                ..blank(&take.path, *next)
            },
            Operation::Amend(amend) => {
                let on = amend.host.or_else(|| made.get(amend.path.as_path()).copied());
                let amended = stage.amend(fs, amend, on)?;
                Step {
                    change: amend.is_change.then_some(ChangeKind::Attributes),
                    node: on.map_or(Kind::Directory, |seen| seen.kind),
                    new: on,
                    // What was there before is known only for what was.
                    old: amend.host,
                    before: amend.before.clone(),
                    after: amend.after.clone(),
                    is_within: amended == Amended::Within,
                    is_beyond: amended == Amended::Beyond,
                    links: amend.host.and_then(|on| (on.kind != Kind::Directory).then_some(1)),
                    ..blank(&amend.path, *next)
                }
            }
        };
        *next += 1;
        steps.push(step);
    }
    Ok(())
}

fn staged<'p>(
    fs: &dyn Fs,
    stage: &mut stage::Stage<'_>,
    (place, plan): (&'p Place, &SyncPlan),
    (number, made): (u32, &mut HashMap<&'p Path, Seen>),
) -> Result<Step, SyncError> {
    let Placed { seen, is_within } = stage.place(fs, place, number)?;
    let new = seen.unwrap_or(place.upper);
    if place.upper.kind == Kind::Directory {
        made.insert(&place.path, new);
        if plan.whole && place.over.is_none() && !is_within {
            stage.begin_whole(&place.path, number);
        }
    }
    Ok(Step {
        act: if place.over.is_some() { Act::Swap } else { Act::Put },
        change: Some(place.kind),
        node: place.upper.kind,
        new: Some(new),
        old: place.over,
        below: place.below.clone(),
        merged: place.merged.is_some().then_some(place.upper),
        is_within,
        is_beyond: seen.is_none(),
        ..blank(&place.path, number)
    })
}

pub(super) fn blank(path: &Path, number: u32) -> Step {
    Step {
        path: path.to_owned(),
        act: Act::Amend,
        number,
        change: None,
        node: Kind::File,
        new: None,
        old: None,
        displaced: None,
        below: Vec::new(),
        before: super::Attributes::default(),
        after: super::Attributes::default(),
        exact: false,
        in_doubt: false,
        keeps: false,
        is_within: false,
        links: None,
        merged: None,
        is_kept: false,
        is_barred: false,
        is_beyond: false,
        lacks: Vec::new(),
    }
}
