//! A single file while the command runs: what it closed reaches the host, and what changed there
//! reaches it.

use std::os::fd::AsFd;
use std::slice;
use std::time::{Duration, SystemTime};

use endow_vfs::fs::{Fs, Kind, OsFs};
use endow_vfs::state::{JOURNAL, Moment, Record, RunDir};
use endow_vfs::sync::{Applied, Ledger, Ours, Single, SyncReport, TakenIn};

use super::leases::Leases;
use super::merge::is_joined_by_key;
use super::targets::{self, Target};
use super::write_back::{WriteBackError, WrittenBack, resume, write_back_apart};
use super::{InView, Selection};

/// How long the host's directory must be at rest before a missing file counts as removed.
const QUIET: Duration = Duration::from_millis(500);

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// Nothing more can be done until something changes.
    Settled,
    /// Somebody has the file open, or has locked it.
    Later,
    /// Both sides changed in ways that don't go together; or the host's did while it was looked at.
    Kept,
}

/// Makes both sides of the single file of a mount the same, as far as the rules of the run and the
/// changes of both sides allow. Whatever can't be done now is done, or told, at the end; `is_over`
/// says whether that has come.
pub(crate) fn publish(
    run: &RunDir,
    record: &Record,
    number: u32,
    is_over: &dyn Fn() -> bool,
) -> Result<Published, WriteBackError> {
    let Some(target) = targets::one(run, record, number)? else { return Ok(Published::Settled) };
    let Some(single) = target.single(run).transpose()? else { return Ok(Published::Settled) };
    if !finish_begun(run, record, (&target, &single))? {
        return Ok(Published::Later);
    }
    if single.is_host_locked(target.root.as_fd())? {
        return Ok(Published::Later);
    }
    let published = match single.snapshot(&Leases)? {
        Ours::Same | Ours::Absent => Published::Settled,
        // A process that was killed may have closed it meanwhile, half written.
        Ours::Changed if is_over() => {
            single.end_snapshot(target.root.as_fd(), false)?;
            Published::Kept
        }
        Ours::Changed => write_out(run, record, (&target, &single))?,
        Ours::Odd => Published::Kept,
        Ours::Busy => Published::Later,
    };
    if published != Published::Settled {
        return Ok(published);
    }
    match single.take_in(target.root.as_fd(), &Leases, is_quiet(&target)?)? {
        TakenIn::Busy => Ok(Published::Later),
        TakenIn::Nothing | TakenIn::Taken => Ok(Published::Settled),
    }
}

/// Finishes what failed on the way before, of this file or another; returns whether it could.
fn finish_begun(
    run: &RunDir,
    record: &Record,
    (target, single): (&Target, &Single<'_>),
) -> Result<bool, WriteBackError> {
    if run.has(&OsFs, JOURNAL).unwrap_or(true) {
        resume(run, &targets::open(run, record, &[])?)?;
    }
    Ok(single.catch_up(target.root.as_fd(), &Leases)?)
}

/// Returns whether no name came or went in the host's directory for a while: many programs remove a
/// file before they write it anew.
fn is_quiet(target: &Target) -> Result<bool, WriteBackError> {
    let status = OsFs.status_of(target.root.as_fd());
    let failed = |errno| WriteBackError::from(targets::failed(target.path.as_path(), errno));
    let changed = SystemTime::from(Moment::from(status.map_err(failed)?.modified));
    Ok(changed.elapsed().is_ok_and(|since| since >= QUIET))
}

/// Writes back what the command made of its file; settled is what the host has for good.
fn write_out(
    run: &RunDir,
    record: &Record,
    (target, single): (&Target, &Single<'_>),
) -> Result<Published, WriteBackError> {
    let (targets, root) = (slice::from_ref(target), target.root.as_fd());
    let before = single.on_host(root)?;
    let written = write_back_apart(run, record, (targets, &[]), &Selection::default());
    let is_done = written.as_ref().is_ok_and(WrittenBack::is_complete);
    if run.has(&OsFs, JOURNAL).unwrap_or(true) {
        // It goes forward from here; what it does is found when it is finished.
        return written.map(|_| Published::Kept);
    }
    // What failed may stand on the host: that is found by what was to be written.
    written?;
    // Whoever locked it meanwhile may have read what was there before, and write that anew: it is
    // what both sides held last until the lock is gone. Or he did, and the lock is gone already: it is
    // looked for first. That nobody knows of him costs nothing where versions go together.
    let is_locked = single.is_host_locked(root)?;
    let is_overwritten = || -> Result<bool, WriteBackError> {
        Ok(single.is_overwritten(root, before.as_ref())? && is_joined_by_key(single, root))
    };
    let is_later = is_locked || is_done && is_overwritten()?;
    single.end_snapshot(root, is_done && !is_later)?;
    // What can't be joined is undone one after the other.
    drop(single.fold(&Leases));
    Ok(match (is_done, is_later) {
        (true, false) => Published::Settled,
        (_, true) => Published::Later,
        (false, false) => Published::Kept,
    })
}

/// Adds what was published while the command ran to what was written back at its end.
pub(super) fn tell(
    run: &RunDir,
    record: &Record,
    written: &mut WrittenBack,
) -> Result<(), WriteBackError> {
    let mut singles = (0u32..).zip(&record.mounts).filter(|(_, it)| it.is_single()).peekable();
    if singles.peek().is_none() {
        return Ok(());
    }
    let ledger = Ledger::read(&OsFs, run.as_fd())?;
    for (number, mount) in singles {
        let Some((path, kind)) = ledger.applied(number).next() else { continue };
        let applied = Applied { path: path.to_owned(), kind, node: Kind::File };
        match written.mounts.iter_mut().find(|(it, _)| it.at == mount.at) {
            Some((_, report)) if report.applied.iter().any(|it| it.path == path) => {}
            Some((_, report)) => report.applied.push(applied),
            None => {
                let report = SyncReport { applied: vec![applied], ..SyncReport::default() };
                written.mounts.push((InView::of(mount), report));
            }
        }
    }
    Ok(())
}
