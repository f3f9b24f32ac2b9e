//! Mounts whose directory on the host is gone, or can't be opened. They are left alone and named: the others
//! of the run are shown, written back and taken back all the same.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::{GuestPath, HostPath};
use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::state::{MountRecord, Record, RunDir};
use rustix::io::Errno;

use super::targets::{self, Target, TargetError};
use crate::plan::step::UPPER;

/// The mounts of a run, as far as both of their sides can be opened.
#[derive(Debug)]
pub(crate) struct Targets {
    /// Those that can be, in the order of the record.
    pub(crate) open: Vec<Target>,
    /// Those whose directory can't be.
    pub(crate) gone: Vec<Gone>,
}

/// A mount whose directory can't be opened.
#[derive(Clone, Debug)]
pub(crate) struct Gone {
    /// The number of the mount in the record.
    pub(crate) number: u32,
    /// Its place in the view.
    pub(crate) at: GuestPath,
    /// What it showed.
    pub(crate) source: HostPath,
    /// The directory that paths of the mount are relative to.
    pub(crate) path: HostPath,
    /// Changes of the command are in its layer.
    pub(crate) has_changes: bool,
    /// The mount is live.
    pub(crate) is_live: bool,
    /// What the kernel said.
    errno: Errno,
}

impl Targets {
    /// Returns the numbers of all mounts.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        let open = self.open.iter().map(|target| target.number);
        open.chain(self.gone.iter().map(|gone| gone.number))
    }

    /// Opens what can be opened by now.
    pub(super) fn open_more(&mut self, run: &RunDir, record: &Record) -> Result<(), TargetError> {
        let mut gone = Vec::new();
        for one in std::mem::take(&mut self.gone) {
            match targets::one(run, record, one.number) {
                Ok(Some(target)) => {
                    targets::catch_up(run, &target)?;
                    self.open.push(target);
                }
                Ok(None) | Err(_) => gone.push(one),
            }
        }
        self.gone = gone;
        Ok(())
    }
}

impl Gone {
    /// Notes that a directory could not be opened.
    pub(super) fn new(
        (number, mount): (u32, &MountRecord),
        (path, errno): (HostPath, Errno),
        (run, memory): (&RunDir, Option<&OwnedFd>),
    ) -> Self {
        let (at, source, is_live) = (mount.at.clone(), mount.source.clone(), mount.live);
        let has_changes = has_changes(mount, run, memory);
        Self { number, at, source, path, has_changes, is_live, errno }
    }

    /// Returns where a path of the host, or of the view, is in the mount, below the directory of that.
    pub(crate) fn place(&self, path: &HostPath) -> Option<PathBuf> {
        let within = |path: &Path, top: &Path| match path.strip_prefix(top) {
            Ok(below) => Some(below.to_owned()),
            Err(_) => top.starts_with(path).then(PathBuf::new),
        };
        let (path, source) = (path.as_path(), self.source.as_path());
        let below = within(path, source).or_else(|| within(path, self.at.as_path()))?;
        Some(source.strip_prefix(self.path.as_path()).ok()?.join(below))
    }

    /// Returns why nothing can be done about it.
    pub(crate) fn error(&self) -> TargetError {
        targets::failed(self.path.as_path(), self.errno)
    }
}

/// Whether anything is in a layer; one that can't be looked into may hold anything.
fn has_changes(mount: &MountRecord, run: &RunDir, memory: Option<&OwnedFd>) -> bool {
    let opened = match memory {
        Some(memory) => OsFs.open_dir(memory.as_fd(), OsStr::new(UPPER)),
        None => OsFs.open_dir(run.as_fd(), mount.layer.join(UPPER).as_os_str()),
    };
    match opened.and_then(|upper| OsFs.list(upper.as_fd(), 1)) {
        Ok(names) => !names.is_empty(),
        Err(errno) => errno != Errno::NOENT,
    }
}
