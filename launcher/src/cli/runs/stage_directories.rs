//! Stage directories that a killed write-back left at the root of a mount.
//!
//! They stand there only while a write-back is under way on another file system than the run's. A
//! run knows which one it made; of others of such a name only an empty one goes.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::state::{MountRecord, Record, RunDir};
use endow_vfs::sync::{self, MountPlace, RunPlace};

/// Removes the stage directories of one run, which the caller holds and which has no journal.
pub(crate) fn remove_of(run: &RunDir, record: &Record) -> Vec<PathBuf> {
    let id = run.id().clone();
    let place = RunPlace { dir: run.as_fd(), id: id.as_str() };
    let mut removed = Vec::new();
    for (number, mount) in (0u32..).zip(&record.mounts) {
        let Some((path, root)) = open(mount) else { continue };
        let mount = MountPlace { number, root: root.as_fd(), upper: None };
        // One that can't be removed is left, as one that is somebody else's.
        let name = sync::remove_stage(&OsFs, &place, &mount).ok().flatten();
        removed.extend(name.map(|name| path.join(name)));
    }
    removed
}

/// Returns the stage directories that one run left.
pub(crate) fn of(run: &RunDir, record: &Record) -> Vec<PathBuf> {
    let id = run.id().clone();
    let places = (0u32..).zip(&record.mounts).filter_map(|(number, mount)| {
        let root = mount.root()?;
        let place = root.as_path().join(sync::stage_name(id.as_str(), number));
        place.symlink_metadata().is_ok().then_some(place)
    });
    places.collect()
}

/// Opens the directory in which a mount's stages stand, if it is still the one that was mounted.
fn open(mount: &MountRecord) -> Option<(PathBuf, OwnedFd)> {
    let path = mount.root()?.as_path().to_owned();
    let handle = OsFs.open_canonical(&path).ok()?;
    let dir = OsFs.open_dir(handle.as_fd(), OsStr::new(".")).ok()?;
    let found = OsFs.status_of(dir.as_fd()).ok()?.id;
    let is_it = (found.dev, found.ino) == (mount.id.dev, mount.id.ino);
    (is_it || mount.is_single()).then_some((path, dir))
}
