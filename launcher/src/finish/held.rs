//! What was taken out of live mounts.

use std::os::fd::AsFd;
use std::time::SystemTime;

use endow_vfs::fs::{Fs, Kind, OsFs};
use endow_vfs::state::{ChangeCounts, Moment, MountRecord, Record, RunDir, StateError};
use endow_vfs::sync::{Change, ChangeKind, ChangeSet, Refusal};

use super::{Fate, WriteBackError, WrittenBack, targets};
use crate::plan::step::UPPER;

/// Returns what becomes of a run's changes: what was held is the user's to decide about, though all
/// else is dropped. From now on, changes outside may conflict with it.
pub(super) fn fate(decided: Fate, run: &RunDir, record: &mut Record) -> Result<Fate, StateError> {
    let now = Moment::from(SystemTime::now());
    record.mounts.iter_mut().filter(|it| it.is_held()).for_each(|it| it.stamp = now);
    let mut held = record.mounts.iter().filter(|it| it.is_held());
    if decided != Fate::Drop || !held.any(|it| has_names(run, it)) {
        return Ok(decided);
    }
    let dropped = record.mounts.iter().filter(|it| !it.is_held() && !it.live);
    for mount in dropped {
        run.remove_part(&OsFs, &mount.layer)?;
    }
    for tree in record.trees.drain(..) {
        run.remove_part(&OsFs, &tree.layer)?;
    }
    Ok(Fate::Keep)
}

/// Leaves out what directories of the host are like: the command changed that already. A link out is
/// no more than others that the command may make in a live mount, and waits for the user.
pub(super) fn narrow(changes: &mut ChangeSet) {
    let is_theirs = |it: &Change| it.kind == ChangeKind::Attributes && it.node() == Kind::Directory;
    changes.changes.retain(|change| !is_theirs(change));
    for change in changes.changes.iter_mut().filter(|it| it.refused == Some(Refusal::LinkOut)) {
        change.refused = None;
    }
}

/// Counts what was held in a run whose record does not tell, for endow was killed in it.
pub(crate) fn count(run: &RunDir, record: &Record) -> Result<ChangeCounts, WriteBackError> {
    let mut open = targets::open(run, record, &[])?.open;
    open.retain(|target| target.is_held);
    Ok(WrittenBack::waiting(&super::look(run, &open)?, &[]).counts())
}

fn has_names(run: &RunDir, mount: &MountRecord) -> bool {
    let upper = mount.layer.join(UPPER);
    let opened = OsFs.open_dir(run.as_fd(), upper.as_os_str());
    let names = opened.and_then(|opened| OsFs.list(opened.as_fd(), 1));
    names.is_ok_and(|names| !names.is_empty())
}
