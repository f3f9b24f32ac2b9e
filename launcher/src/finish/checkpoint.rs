//! What became of a live workspace that was recorded.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endow_vfs::fs::{Fs, Open, OsFs};
use endow_vfs::state::{MountRecord, Record, RunDir};
use endow_vfs::sync::checkpoint::{self, Checkpointed, Found, PLACE, Span, Wanted};
use endow_vfs::sync::{Clock, RunPlace, SyncError, Time};
use rustix::io::Errno;

use super::git_objects;
use super::write_back::{lock_all, place};
use super::{InView, OfMount, Target, WriteBackError};

/// The most time that git gets for all that it is asked for.
const TIME: Duration = Duration::from_mins(1);

/// Who may have changed a live workspace since the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// It ended just now.
    Nobody,
    /// It was killed, or could not be compared then.
    Anybody,
}

/// Returns whether git noted since the run began that a workspace stands elsewhere in its history, of which a checkpoint
/// has nothing.
pub(crate) fn has_moved_head(target: &Target) -> bool {
    let logs = OsFs.open_below(target.root.as_fd(), Path::new(".git/logs"), Open::Handle);
    let log = logs.and_then(|logs| OsFs.node(logs.as_fd(), OsStr::new("HEAD")));
    log.is_ok_and(|log| Time::from(log.status.changed).may_be_since(target.stamp))
}

/// Returns whether a run has a record of its live workspace that was not compared yet.
pub(crate) fn is_open(run: &RunDir) -> bool {
    run.has(&OsFs, PLACE).unwrap_or(true)
}

/// Enters what changed into the run's ledger, and takes the record away; `None` when there is none.
/// After an error the record is still there, and it can be tried again.
pub(crate) fn settle(
    run: &RunDir,
    record: &Record,
    (targets, since): (&[Target], Since),
) -> Result<Option<OfMount<Checkpointed>>, WriteBackError> {
    let live = (0u32..).zip(&record.mounts).find(|(_, mount)| mount.live);
    let Some((number, mount)) = live.filter(|_| is_open(run)) else {
        return Ok(None);
    };
    let Some(target) = targets.iter().find(|target| target.number == number) else {
        return Ok(None);
    };
    let _locks = lock_all(run, std::slice::from_ref(target))?;
    let hidden = mount.hidden.iter().map(|name| name.path.clone());
    let hidden: Vec<PathBuf> = hidden.chain(buffered(record, mount)).collect();
    let id = run.id().clone();
    let of_run = RunPlace { dir: run.as_fd(), id: id.as_str() };
    let place_of_it = OsFs.open_dir(run.as_fd(), OsStr::new(PLACE));
    let end = place_of_it.and_then(|place| checkpoint::end(&OsFs, place.as_fd()));
    let end = end.map_err(|errno| SyncError::Io { action: "read", path: PLACE.into(), errno })?;
    // What changed after a moment that nobody saw is not known to be the run's.
    let end = end.ok_or(WriteBackError::NoEnd)?;
    let (root, stamp, clock) = (target.identity, target.stamp, target.clock);
    // Right at the end there is nothing later, whatever times say.
    let end = Some(end).filter(|_| clock == Clock::Steady || since == Since::Anybody);
    let span = Span { root, stamp, end, clock, hidden: &hidden };
    let bring = |objects: BorrowedFd<'_>, wanted: &[Wanted], found: &mut Found<'_>| {
        bring(run, objects, wanted, found)
    };
    let settled = checkpoint::settle(&OsFs, &of_run, &place(target), &span, &bring)?;
    run.remove_part(&OsFs, Path::new(PLACE)).map_err(WriteBackError::Checkpoint)?;
    Ok(Some((InView::of(mount), settled)))
}

/// Returns what is below a live mount and was not: what the command changed there is in layers of its own.
fn buffered<'r>(
    record: &'r Record,
    live: &'r MountRecord,
) -> impl Iterator<Item = PathBuf> + use<'r> {
    let others = record.mounts.iter().filter(|mount| !mount.live && !mount.is_held());
    let below = others.filter_map(|mount| mount.source.below(&live.source));
    below.map(Path::to_owned).filter(|path| !path.as_os_str().is_empty())
}

/// Asks git for contents; those that it does not give in time are missing.
fn bring(
    run: &RunDir,
    objects: BorrowedFd<'_>,
    wanted: &[Wanted],
    found: &mut Found<'_>,
) -> Result<(), Errno> {
    let asked = |it: &Wanted| {
        let size = u32::try_from(it.size).ok()?;
        Some(git_objects::Wanted { id: it.name, size })
    };
    let asked: Vec<_> = wanted.iter().filter_map(asked).collect();
    let Some(mut answers) = git_objects::ask(run, objects, &asked, Instant::now() + TIME) else {
        return Ok(());
    };
    asked.iter().filter_map(|wanted| answers.next(*wanted)).try_for_each(|content| found(&content))
}

/// Returns places of the view.
pub(crate) fn names(
    at: &InView,
    list: &[checkpoint::Uncovered],
) -> Vec<(PathBuf, checkpoint::Left)> {
    list.iter().map(|it| (at.place(&it.path), it.left)).collect()
}
