//! Stage directories that a killed write-back left at the root of a mount.
//!
//! They stand there only while a write-back is under way on another file system than the run's.
//! One whose run is gone, or has no journal, belongs to nobody. Whether a run is gone only its own
//! state directory knows, so stages of others are left: one may hold what was displaced.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_vfs::fs::{At, Errno, Fs, OsFs};
use endow_vfs::state::{MountRecord, Record, RunId, StateDir};
use endow_vfs::sync::is_stage_of;
use endow_vfs::tree::remove_tree;

/// The most names of a directory that are looked at.
const NAMES: usize = 100_000;

/// Removes the stage directories of one run, which the caller holds and which has no journal.
pub(crate) fn remove_of(id: &RunId, record: &Record) -> Vec<PathBuf> {
    remove(record, |run, _| run == id)
}

/// Removes the stage directories, at the mounts of a record, of runs that were in this state
/// directory and are gone.
pub(crate) fn remove_left(state: &StateDir, record: &Record) -> Vec<PathBuf> {
    let Ok(runs) = OsFs.open_dir(state.as_fd(), OsStr::new("runs")) else { return Vec::new() };
    remove(record, |run, at| {
        let stage = OsFs.open_dir(at.dir, at.name);
        stage.is_ok_and(|stage| is_stage_of(&OsFs, stage.as_fd(), runs.as_fd()))
            && matches!(OsFs.status(runs.as_fd(), run.as_str().as_ref()), Err(Errno::NOENT))
    })
}

fn remove(record: &Record, is_stale: impl Fn(&RunId, At<'_>) -> bool) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for mount in &record.mounts {
        let Some((path, dir)) = open(mount) else { continue };
        for name in stages(&dir) {
            let at = At { dir: dir.as_fd(), name: &name };
            let of_run = run_of(&name).filter(|run| is_stale(run, at));
            if of_run.is_some() && remove_tree(&OsFs, dir.as_fd(), &name).is_ok() {
                removed.push(path.join(name));
            }
        }
    }
    removed
}

/// Opens the directory in which a mount's stages stand, if it is still the one that was mounted.
fn open(mount: &MountRecord) -> Option<(&Path, OwnedFd)> {
    let source = mount.source.as_path();
    let path = if mount.directory { source } else { source.parent()? };
    let handle = OsFs.open_canonical(path).ok()?;
    let dir = OsFs.open_dir(handle.as_fd(), OsStr::new(".")).ok()?;
    let found = OsFs.status_of(dir.as_fd()).ok()?.id;
    let is_it = (found.dev, found.ino) == (mount.id.dev, mount.id.ino);
    (is_it || !mount.directory).then_some((path, dir))
}

fn stages(dir: &OwnedFd) -> Vec<OsString> {
    let entries = OsFs.list(dir.as_fd(), NAMES).unwrap_or_default();
    entries.into_iter().map(|entry| entry.name).filter(|name| run_of(name).is_some()).collect()
}

fn run_of(name: &OsStr) -> Option<RunId> {
    let id = name.to_str()?.strip_prefix(".endow-")?.strip_suffix("-stage")?;
    RunId::parse(id).ok()
}
