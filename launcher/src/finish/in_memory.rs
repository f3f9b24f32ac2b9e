//! Layers in memory, which end with the run: those with changes that wait are copied to the disk.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::GuestPath;
use endow_vfs::fs::{At, Errno, Fs, Open, OsFs};
use endow_vfs::state::{MountRecord, Record, RunDir, StateError};
use endow_vfs::tree::{CopyError, copy_layer};

use crate::plan::step::UPPER;

/// The name of a copy that is not whole yet.
const UNFINISHED: &str = "upper.new";

/// Why changes that were in memory are lost.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LostError {
    /// There is no room for them, or what else speaks against a copy.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// No place for the copy can be made.
    #[error(transparent)]
    State(#[from] StateError),
    /// The copy can't take its place.
    #[error("can't keep the layer")]
    Place(#[source] Errno),
}

/// Changes that were to be kept and are lost, with the mount they were made in.
#[derive(Debug)]
pub(crate) struct Lost {
    /// Its place in the view.
    pub(crate) at: GuestPath,
    /// What happened.
    pub(crate) error: LostError,
}

/// What became of layers in memory that are kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Those that could not be.
    pub(super) lost: Vec<Lost>,
    /// Names in the view that have lost attributes, which the file system of the state can't keep.
    pub(super) stripped: Vec<PathBuf>,
}

/// Copies the layers in memory of mounts in which something `waits` to the disk. `memory` are in the order of their
/// mounts.
pub(super) fn keep(
    run: &mut RunDir,
    record: &mut Record,
    memory: &[OwnedFd],
    waits: impl Fn(&GuestPath) -> bool,
) -> Kept {
    let mut kept = Kept::default();
    let mounts = record.mounts.iter_mut().filter(|mount| mount.in_memory);
    for (mount, memory) in mounts.zip(memory) {
        if !waits(&mount.at) {
            continue;
        }
        match copy(run, mount, memory) {
            Ok(stripped) => {
                mount.in_memory = false;
                let names = stripped.into_iter().map(|path| mount.at.as_path().join(path));
                kept.stripped.extend(names);
            }
            Err(error) => {
                // Part of a layer would tell of changes that were never made.
                drop(run.remove_part(&OsFs, &mount.layer));
                kept.lost.push(Lost { at: mount.at.clone(), error });
            }
        }
    }
    kept
}

/// The copy gets its name when it is whole and on the disk. Returns what lost attributes.
fn copy(
    run: &mut RunDir,
    mount: &MountRecord,
    memory: &OwnedFd,
) -> Result<Vec<PathBuf>, LostError> {
    run.make_dir(&OsFs, &mount.layer, 0o700)?;
    let layer = OsFs.open_below(run.as_fd(), &mount.layer, Open::List).map_err(LostError::Place)?;
    let (upper, unfinished) = (Path::new(UPPER).as_os_str(), Path::new(UNFINISHED).as_os_str());
    let from = At { dir: memory.as_fd(), name: upper };
    let stripped = copy_layer(&OsFs, from, At { dir: layer.as_fd(), name: unfinished })?;
    OsFs.sync_all(layer.as_fd()).map_err(LostError::Place)?;
    OsFs.rename(layer.as_fd(), unfinished, upper).map_err(LostError::Place)?;
    Ok(stripped)
}
