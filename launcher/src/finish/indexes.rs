//! Indexes of repositories in copy-on-write mounts, which git writes anew when it only looks: they are kept open
//! while a run goes on, and what they said is noted at its end.

use std::os::fd::AsFd;
use std::path::Path;

use endow_vfs::fs::OsFs;
use endow_vfs::state::{MountRecord, Record, RunDir};
use endow_vfs::sync::OpenIndexes;

use super::targets::time;
use crate::plan::step::UPPER;
use crate::sys;

/// Opens the indexes of repositories in the mounts of a run that has just begun.
pub(crate) fn open_indexes(record: Option<&Record>) -> OpenIndexes {
    let mut open = OpenIndexes::default();
    for (number, mount) in mounts(record) {
        if let Some(root) =
            mount.root().and_then(|root| sys::fd::open_directory(root.as_path()).ok())
        {
            open.open(&OsFs, (number, root.as_fd()), time(mount.stamp));
        }
    }
    open
}

fn mounts(record: Option<&Record>) -> impl Iterator<Item = (u32, &MountRecord)> {
    let mounts = (0u32..).zip(record.into_iter().flat_map(|record| &record.mounts));
    mounts.filter(|(_, it)| it.directory && !it.live && it.awaited.is_none() && !it.is_held())
}

/// Notes what those said in whose git directories the command changed anything. Without it an index that was
/// written anew counts as changed.
pub(crate) fn note_indexes(open: OpenIndexes, run: Option<&RunDir>, record: Option<&Record>) {
    let Some(run) = run else { return };
    let is_changed = |number: u32, git_dir: &Path| {
        let mount = mounts(record).find(|(it, _)| *it == number).map(|(_, mount)| mount);
        let has = |it: &MountRecord| run.path().join(&it.layer).join(UPPER).join(git_dir);
        mount.is_some_and(|it| it.in_memory || has(it).symlink_metadata().is_ok())
    };
    drop(open.note(&OsFs, run.as_fd(), &is_changed));
}
