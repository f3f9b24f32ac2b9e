//! Writing back: look at the layers, decide, apply; the same at the end of a run and for the
//! commands `diff`, `apply` and their like.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endow_policy::{GuestPath, PatternError};
use endow_vfs::fs::OsFs;
use endow_vfs::state::{ChangeCounts, OnConflict, Record, RunDir, RunState, StateError};
use endow_vfs::sync::{
    self, Applied, Change, ChangeKind, ChangeSet, Clock, Closed, Direction, Ledger, LeftOut,
    MountPlace, Moved, Resumed, Rules, RunPlace, Settled, Source, SyncError, SyncPlan, SyncReport,
    Winner,
};
use rustix::io::Errno;

use super::gone::{Gone, Targets};
use super::held;
use super::leases::Leases;
use super::links_out;
use super::merge::{Merged, NotMerged, merge};
use super::rules::{MountRules, Protects, only};
use super::{InView, OfMount, Selection, Target, TargetError};
use crate::apply::half_way;

/// How long a program of the host is waited for that has a file locked, and how long at a time.
const PATIENCE: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(5);

/// Why changes could not be written back. They are kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteBackError {
    /// A side can't be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Something failed on the way.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// The record holds a pattern that can't be used.
    #[error(transparent)]
    Pattern(PatternError),
    /// A directory was being made ready to be renamed when the run was killed: its files are in two
    /// places.
    #[error("a directory was half-way into the layer when the run was killed: {}", .0.display())]
    HalfWay(PathBuf),
    /// Nobody noted when a run with a checkpoint ended, as when the machine lost its power.
    #[error("nobody saw when the run ended")]
    NoEnd,
    /// The record of a live workspace can't be removed.
    #[error("can't remove the record of the workspace")]
    Checkpoint(#[source] StateError),
    /// The directory can't be locked against others.
    #[error("can't lock: {0}")]
    Lock(endow_policy::HostPath, #[source] Errno),
}

impl WriteBackError {
    /// Returns whether what a run noted of its write-back can be read.
    pub(crate) fn is_readable(&self) -> bool {
        !matches!(self, Self::Sync(SyncError::Stored { .. } | SyncError::Newer { .. }))
    }

    /// Returns whether some may be done already, and the rest will be.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(self, Self::Sync(SyncError::Begun { .. }))
    }

    /// Returns what else can be done, where another try would end the same.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Sync(SyncError::CantMove { .. }) | Self::HalfWay(_) => {
                Some("`endow diff --patch RUN | git apply` takes the changes over all the same")
            }
            Self::Sync(SyncError::TooMany { .. }) => Some(
                "`endow discard RUN` drops them; what is in the layer can be copied by hand before: \
                 `layers` in the run's directory",
            ),
            Self::Sync(SyncError::Begun { direction: Direction::Apply, .. }) => Some(
                "once that is mended, `endow apply RUN` finishes it, and `endow undo RUN` takes it back",
            ),
            Self::Sync(SyncError::Begun { direction: Direction::Undo, .. }) => {
                Some("once that is mended, `endow undo RUN` finishes it")
            }
            Self::Sync(SyncError::Io { errno: Errno::NOSPC | Errno::DQUOT, .. }) => {
                Some("make room, then `endow apply RUN`, or `endow discard RUN`")
            }
            _ => None,
        }
    }
}

/// What was found in one mount.
#[derive(Debug)]
pub(crate) struct Looked {
    /// Its place in the view.
    pub(crate) at: InView,
    /// The number of the mount in the record.
    pub(crate) number: u32,
    /// What changed.
    pub(crate) changes: ChangeSet,
    /// Links that lead out of the mount.
    led_out: BTreeSet<PathBuf>,
    /// Repositories that both sides moved.
    moved: Vec<Moved>,
}

impl Looked {
    fn of(target: &Target, changes: ChangeSet, led_out: BTreeSet<PathBuf>) -> Self {
        let (at, number) = (target.shown.clone(), target.number);
        Self { at, number, changes, led_out, moved: Vec::new() }
    }

    /// Returns the repositories that both sides moved, with the run's references that stand beside those of the host.
    fn beside(&self, targets: &[Target], run: &str) -> Vec<Moved> {
        let Some(target) = targets.iter().find(|to| to.number == self.number) else {
            return Vec::new();
        };
        let standing = |it| sync::standing_references(&OsFs, target.root.as_fd(), it, run);
        self.moved.iter().cloned().map(standing).collect()
    }

    /// Returns whether there is anything to write back or to tell.
    pub(crate) fn has_changes(&self) -> bool {
        self.changes.changes.iter().any(|change| !change.is_trace())
    }
}

/// What became of a run's changes.
#[derive(Debug, Default)]
pub(crate) struct WrittenBack {
    /// Whether times told what changed outside.
    pub(crate) clock: Clock,
    /// By mount.
    pub(crate) mounts: Vec<OfMount<SyncReport>>,
    /// Why the versions of both sides were not merged, where that was asked for, by the place in the view.
    pub(crate) not_merged: BTreeMap<PathBuf, NotMerged>,
    /// What waits for a word of the user, by mount.
    pub(crate) waiting: Vec<OfMount<Vec<Applied>>>,
    /// Mounts with changes that were meant, and whose directory can't be opened.
    pub(crate) gone: Vec<Gone>,
}

impl WrittenBack {
    /// What waits for a word of the user.
    pub(crate) fn waiting(looked: &[Looked], gone: &[Gone]) -> Self {
        let of_mount = |it: &Looked| {
            let changes = it.changes.changes.iter().filter(|it| !it.is_trace());
            (it.at.clone(), changes.map(change).collect())
        };
        let gone = gone.iter().filter(|gone| gone.has_changes).cloned().collect();
        Self { waiting: looked.iter().map(of_mount).collect(), gone, ..Self::default() }
    }

    /// Returns whether everything was written back.
    pub(crate) fn is_complete(&self) -> bool {
        self.gone.is_empty()
            && self.waiting.iter().all(|(_, changes)| changes.is_empty())
            && self.mounts.iter().all(|(_, report)| report.is_complete())
    }

    /// Returns whether changes are dropped, since the run was to write back others only.
    pub(crate) fn has_dropped(&self) -> bool {
        self.mounts.iter().any(|(_, report)| report.dropped().next().is_some())
    }

    /// Returns whether some was written back, and some was not.
    pub(super) fn is_partial(&self) -> bool {
        !self.is_complete() && self.mounts.iter().any(|(_, report)| !report.applied.is_empty())
    }

    /// Returns whether something of a mount was not written back.
    pub(super) fn waits_at(&self, at: &GuestPath) -> bool {
        self.waiting.iter().any(|(it, changes)| it.at == *at && !changes.is_empty())
            || self.mounts.iter().any(|(it, report)| it.at == *at && !report.is_complete())
            || self.gone.iter().any(|gone| gone.at == *at)
    }

    /// Returns the state of a run of which this is what became.
    pub(crate) fn state(&self) -> Option<RunState> {
        let applied = self.mounts.iter().any(|(_, report)| !report.applied.is_empty());
        match (self.is_complete(), applied) {
            (true, true) => Some(RunState::Applied),
            (true, false) => None,
            (false, _) => Some(RunState::Waiting),
        }
    }

    /// Returns how much changed.
    pub(crate) fn counts(&self) -> ChangeCounts {
        let waiting = self.waiting.iter().map(|(_, changes)| {
            let paths: Vec<&Path> = changes.iter().map(|it| it.path.as_path()).collect();
            innermost(&paths).len()
        });
        // How many there are in a mount that can't be compared is not known.
        let waiting = waiting.sum::<usize>() + self.gone.len();
        let waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
        let mut counts = ChangeCounts { left: waiting, ..ChangeCounts::default() };
        for (_, report) in &self.mounts {
            for applied in &report.applied {
                match applied.kind {
                    ChangeKind::Created => counts.created += 1,
                    ChangeKind::Deleted => counts.deleted += 1,
                    _ => counts.modified += 1,
                }
            }
            counts.left += u64::try_from(left(report)).unwrap_or(u64::MAX);
        }
        counts
    }
}

/// Returns how many changes a report tells of that were not made.
fn left(report: &SyncReport) -> usize {
    let lost = report.conflicts.iter().filter(|it| it.winner == Winner::Host);
    let mut paths: Vec<&Path> = lost.map(|it| it.path.as_path()).collect();
    paths.extend(report.refused.iter().map(|it| it.path.as_path()));
    paths.extend(report.failed.iter().map(|it| it.path.as_path()));
    paths.extend(report.held.iter().map(|it| it.path.as_path()));
    paths.extend(report.left_out.iter().filter_map(LeftOut::waits));
    innermost(&paths).len()
}

/// Leaves out directories of which something is named: that says all.
pub(crate) fn innermost<P: AsRef<Path>>(paths: &[P]) -> Vec<&P> {
    let above: HashSet<&Path> =
        paths.iter().flat_map(|it| it.as_ref().ancestors().skip(1)).collect();
    paths.iter().filter(|it| !above.contains(it.as_ref())).collect()
}

fn change(change: &Change) -> Applied {
    Applied { path: change.path.clone(), kind: change.kind, node: change.node() }
}

/// Says what changed in each mount.
pub(crate) fn look(run: &RunDir, targets: &[Target]) -> Result<Vec<Looked>, WriteBackError> {
    let ledger = Ledger::read(&OsFs, run.as_fd())?;
    targets.iter().filter_map(|target| look_at(run, target, (&ledger, None)).transpose()).collect()
}

/// Looks at one mount; with the run's name, the references of repositories that both sides moved
/// are set aside as those of the run.
fn look_at(
    run: &RunDir,
    target: &Target,
    (ledger, set_aside): (&Ledger, Option<&str>),
) -> Result<Option<Looked>, WriteBackError> {
    let Some(upper) = &target.upper else { return Ok(None) };
    let settled = ledger.settled(target.number);
    let settled = settled.with_indexes(&OsFs, run.as_fd(), (ledger, target.number));
    let source = source(target, upper, &settled);
    let mut changes = sync::collect(&OsFs, &source)?;
    if target.is_held {
        held::narrow(&mut changes);
    }
    if let Some(single) = target.single(run).transpose()? {
        single.narrow(target.root.as_fd(), &mut changes)?;
        return Ok(Some(Looked::of(target, changes, BTreeSet::new())));
    }
    if let Some(absent) = target.absent() {
        absent.narrow(&mut changes);
    }
    let moved = sync::unite(&OsFs, &source, &mut changes)?;
    if let Some(name) = set_aside.filter(|_| !moved.is_empty()) {
        for repository in &moved {
            sync::set_aside(&OsFs, (target.root.as_fd(), upper.as_fd()), repository, name)?;
        }
        changes = sync::collect(&OsFs, &source)?;
        sync::unite(&OsFs, &source, &mut changes)?;
        if let Some(absent) = target.absent() {
            absent.narrow(&mut changes);
        }
    }
    let led_out = links_out::settle(&mut changes, target);
    Ok(Some(Looked { moved, ..Looked::of(target, changes, led_out) }))
}

/// What is compared in a mount.
pub(super) fn source<'a>(
    target: &'a Target,
    upper: &'a OwnedFd,
    settled: &'a Settled,
) -> Source<'a> {
    Source {
        upper: upper.as_fd(),
        root: target.root.as_fd(),
        identity: target.identity,
        stamp: target.stamp,
        clock: target.clock,
        settled,
        absent: target.absent(),
        closed: if target.is_held { Closed::Open } else { Closed::Stay },
        made_like: target.made_like,
    }
}

/// Finishes what a killed write-back or undo left; returns where what somebody had put in the way was set aside.
pub(crate) fn resume(run: &RunDir, targets: &Targets) -> Result<Vec<PathBuf>, WriteBackError> {
    let ended = end_begun(run, targets, &|run, places| sync::resume(&OsFs, run, places))?;
    Ok(set_aside(ended, targets))
}

/// Ends what a killed write-back or undo left as it stands; returns where what can neither be kept nor go back to its
/// place was set aside.
pub(crate) fn give_up(run: &RunDir, targets: &Targets) -> Result<Vec<PathBuf>, WriteBackError> {
    let ended = end_begun(run, targets, &|run, places| sync::give_up(&OsFs, run, places))?;
    Ok(set_aside(ended, targets))
}

fn set_aside(ended: Option<Resumed>, targets: &Targets) -> Vec<PathBuf> {
    let root = |mount| targets.open.iter().find(|target| target.number == mount);
    let all = ended.into_iter().flat_map(|ended| ended.set_aside);
    all.filter_map(|it| Some(root(it.mount)?.path.as_path().join(it.place))).collect()
}

type Ending<'e> =
    dyn Fn(&RunPlace<'_>, &[MountPlace<'_>]) -> Result<Option<Resumed>, SyncError> + 'e;

fn end_begun(
    run: &RunDir,
    targets: &Targets,
    ending: &Ending<'_>,
) -> Result<Option<Resumed>, WriteBackError> {
    let _locks = lock_all(run, &targets.open)?;
    let places: Vec<MountPlace<'_>> = targets.open.iter().map(place).collect();
    let id = run.id().clone();
    let ended = ending(&RunPlace { dir: run.as_fd(), id: id.as_str() }, &places);
    let ended = ended.map_err(|error| known(error, &targets.gone))?;
    for target in &targets.open {
        if let Some(single) = target.single(run).transpose()? {
            single.catch_up(target.root.as_fd(), &Leases)?;
        }
    }
    Ok(ended)
}

/// Turns the error into one that says why a mount can't be opened, where the journal tells of such a mount.
fn known(error: SyncError, gone: &[Gone]) -> WriteBackError {
    let of_gone = |mount: u32| gone.iter().find(|gone| gone.number == mount);
    match &error {
        SyncError::OtherRoot { mount } => {
            of_gone(*mount).map_or_else(|| error.into(), |gone| gone.error().into())
        }
        _ => error.into(),
    }
}

pub(super) fn place(target: &Target) -> MountPlace<'_> {
    let upper = target.upper.as_ref().map(AsFd::as_fd);
    MountPlace { number: target.number, root: target.root.as_fd(), upper }
}

/// Writes back what is selected and nothing speaks against.
pub(crate) fn write_back(
    run: &RunDir,
    record: &Record,
    targets: &Targets,
    selection: &Selection,
) -> Result<WrittenBack, WriteBackError> {
    await_unlocked(run, &targets.open);
    let sides = (targets.open.as_slice(), targets.gone.as_slice());
    let written = write_back_apart(run, record, sides, selection)?;
    // What can't be joined is undone one after the other.
    for single in targets.open.iter().filter_map(|target| target.single(run)?.ok()) {
        drop(single.fold(&Leases));
    }
    Ok(written)
}

/// Waits while a program of the host has a single file locked: it may have read it, and would write
/// it anew without what is written back here.
fn await_unlocked(run: &RunDir, targets: &[Target]) {
    let until = Instant::now() + PATIENCE;
    let singles = targets.iter().filter_map(|it| Some((it.root.as_fd(), it.single(run)?.ok()?)));
    let singles: Vec<_> = singles.collect();
    let is_locked = || singles.iter().any(|(root, it)| it.is_host_locked(*root).unwrap_or(false));
    while is_locked() && Instant::now() < until {
        std::thread::sleep(MOMENT);
    }
}

/// Writes back as [`write_back`] does, without joining it with earlier write-backs of single files.
pub(super) fn write_back_apart(
    run: &RunDir,
    record: &Record,
    (targets, gone): (&[Target], &[Gone]),
    selection: &Selection,
) -> Result<WrittenBack, WriteBackError> {
    if let Some(path) = half_way(run.as_fd()) {
        return Err(WriteBackError::HalfWay(path));
    }
    let _locks = lock_all(run, targets)?;
    let id = run.id().clone();
    let keeps_host = matches!(record.sync.on_conflict, OnConflict::Host | OnConflict::Merge);
    let set_aside = keeps_host.then(|| id.as_str());
    let ledger = Ledger::read(&OsFs, run.as_fd())?;
    let looked = targets.iter().filter_map(|it| look_at(run, it, (&ledger, set_aside)).transpose());
    let looked: Vec<Looked> = looked.collect::<Result<_, _>>()?;
    let merged = match record.sync.on_conflict {
        OnConflict::Merge | OnConflict::Host => {
            merge(run, &looked, targets, (selection, &record.sync))
        }
        OnConflict::Guest | OnConflict::Abort => Merged::default(),
    };
    let is_meant = |it: &&Gone| it.has_changes && selection.means(it.number);
    let gone: Vec<Gone> = gone.iter().filter(is_meant).cloned().collect();
    let mut plans = plan_all(record, &looked, (targets, selection), &merged)?;
    let is_conflict = !gone.is_empty() || plans.iter().any(SyncPlan::has_conflicts);
    if record.sync.on_conflict == OnConflict::Abort && is_conflict {
        plans.iter_mut().for_each(SyncPlan::abandon);
    }
    let places = looked.iter().filter_map(|it| targets.iter().find(|to| to.number == it.number));
    let places: Vec<MountPlace<'_>> = places.map(place).collect();
    for (place, plan) in places.iter().zip(&mut plans) {
        sync::copy_up(&OsFs, place.root, plan);
    }
    let parts: Vec<(MountPlace<'_>, &SyncPlan)> = places.into_iter().zip(&plans).collect();
    let mut reports = sync::apply(&OsFs, &RunPlace { dir: run.as_fd(), id: id.as_str() }, &parts)?;
    for (it, report) in looked.iter().zip(&mut reports) {
        report.moved = it.beside(targets, id.as_str());
    }
    let not_merged = looked.iter().flat_map(|it| {
        let stays = merged.stays(it.number);
        stays.map(|(path, why)| (it.at.place(path), why))
    });
    let not_merged = not_merged.collect();
    let mounts = looked.into_iter().map(|it| it.at).zip(reports).collect();
    let clock = targets.first().map_or(Clock::Steady, |target| target.clock);
    Ok(WrittenBack { clock, mounts, not_merged, waiting: Vec::new(), gone })
}

/// In the order of the directories' identities, so that two runs never wait for each other, and each
/// once, whatever paths lead there.
pub(super) fn lock_all(run: &RunDir, targets: &[Target]) -> Result<Vec<OwnedFd>, WriteBackError> {
    let locks = run.path().join("../../locks");
    let failed = |it: &Target, errno| WriteBackError::Lock(it.path.clone(), errno);
    let name = |it: &Target| it.lock_name().map_err(|errno| failed(it, errno));
    let named = targets.iter().map(|it| Ok((name(it)?, it)));
    let named: BTreeMap<String, &Target> = named.collect::<Result<_, WriteBackError>>()?;
    let locked = named
        .iter()
        .map(|(name, it)| Target::lock(&locks, name).map_err(|errno| failed(it, errno)));
    locked.collect()
}

fn plan_all(
    record: &Record,
    looked: &[Looked],
    (targets, selection): (&[Target], &Selection),
    merged: &Merged,
) -> Result<Vec<SyncPlan>, WriteBackError> {
    let (protects, only) = (Protects::new(record)?, only(record)?);
    let mut plans = Vec::new();
    for it in looked {
        let Some(mount) = usize::try_from(it.number).ok().and_then(|at| record.mounts.get(at))
        else {
            continue;
        };
        let Some(target) = targets.iter().find(|to| to.number == it.number) else { continue };
        let protect = protects.of(mount, target.path.as_path())?;
        let names = (&protect, &only, &it.led_out);
        let rules = MountRules::new((it.number, mount, target), names, selection);
        let plan = sync::plan(
            &it.changes,
            &Rules {
                held: &|path, kind| rules.held(path, kind),
                only: &|path| rules.only(path),
                by_name: selection.paths.is_some(),
                on_conflict: record.sync.on_conflict,
                merged: &|path| merged.text(it.number, path),
            },
        );
        // Nobody sees half of what was not there before.
        let whole = target.absent().is_some();
        let opens = target.is_held;
        plans.push(SyncPlan { whole, apart: target.is_single(), opens, ..plan });
    }
    Ok(plans)
}
