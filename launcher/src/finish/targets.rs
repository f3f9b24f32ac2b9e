//! The two sides of write-back, open: the layers of a run and the directories they belong to.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::{GuestPath, HostPath};
use endow_vfs::fs::{Fs, OsFs};
use endow_vfs::state::{MountRecord, Record, RunDir};
use endow_vfs::sync::{Identity, Time};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, ResolveFlags, flock, openat, openat2};
use rustix::io::Errno;

use crate::plan::step::UPPER;

/// A directory that changes are written back to.
#[derive(Debug)]
pub(crate) struct Target {
    /// The number of the mount in the record.
    pub(crate) number: u32,
    /// Its place in the view.
    pub(crate) at: GuestPath,
    /// The directory on the host: for a single file the one it lies in.
    pub(crate) path: HostPath,
    /// It, open.
    pub(crate) root: OwnedFd,
    /// Which directory it was when the run began.
    pub(crate) identity: Identity,
    /// Changes outside count from here.
    pub(crate) stamp: Time,
    /// The upper layer; `None` when it is gone.
    pub(crate) upper: Option<OwnedFd>,
    /// A single file is mounted.
    single: bool,
}

/// A side that can't be opened.
#[derive(Debug, thiserror::Error)]
#[error("can't open: {}", path.display())]
pub(crate) struct TargetError {
    pub(crate) path: PathBuf,
    #[source]
    pub(crate) errno: Errno,
}

/// Opens both sides of each mount of a run; `memory` are the layers that are in memory, in the
/// order of their mounts.
pub(crate) fn targets(
    run: &RunDir,
    record: &Record,
    memory: &[OwnedFd],
) -> Result<Vec<Target>, TargetError> {
    let mut memory = memory.iter();
    let numbered = (0u32..).zip(&record.mounts);
    let opened = numbered.map(|(number, mount)| {
        let memory = mount.in_memory.then(|| memory.next()).flatten();
        target(number, mount, run, memory)
    });
    opened.collect()
}

fn target(
    number: u32,
    mount: &MountRecord,
    run: &RunDir,
    memory: Option<&OwnedFd>,
) -> Result<Target, TargetError> {
    let path = if mount.directory { Some(mount.source.clone()) } else { mount.source.parent() };
    let path = path.ok_or_else(|| failed(mount.source.as_path(), Errno::INVAL))?;
    let root = open_root(path.as_path()).map_err(|errno| failed(path.as_path(), errno))?;
    Ok(Target {
        number,
        at: mount.at.clone(),
        identity: identity(mount, &root).map_err(|errno| failed(path.as_path(), errno))?,
        stamp: time(mount.stamp),
        upper: open_upper(mount, run, memory)?,
        single: !mount.directory,
        path,
        root,
    })
}

/// A single file is known by itself; its directory may be any.
fn identity(mount: &MountRecord, root: &OwnedFd) -> Result<Identity, Errno> {
    if !mount.directory {
        return OsFs.node(root.as_fd(), "".as_ref()).map(|node| Identity::from(&node));
    }
    let id = mount.id;
    Ok(Identity { dev: id.dev, ino: id.ino, born: id.born.map(time) })
}

fn time(moment: endow_vfs::state::Moment) -> Time {
    Time { seconds: moment.seconds, nanoseconds: moment.nanoseconds.into() }
}

fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, flags, Mode::empty(), resolve)
}

fn open_upper(
    mount: &MountRecord,
    run: &RunDir,
    memory: Option<&OwnedFd>,
) -> Result<Option<OwnedFd>, TargetError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = mount.layer.join(UPPER);
    let opened = match memory {
        Some(memory) => openat(memory, UPPER, flags, Mode::empty()),
        None => openat(run.as_fd(), &place, flags, Mode::empty()),
    };
    match opened {
        Ok(upper) => Ok(Some(upper)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(failed(&run.path().join(place), errno)),
    }
}

fn failed(path: &Path, errno: Errno) -> TargetError {
    TargetError { path: path.to_owned(), errno }
}

impl Target {
    /// Returns whether nothing was changed: the layer is empty, and its root is like the real one
    /// still. That is how most runs end, and costs no more than these few calls.
    pub(crate) fn is_untouched(&self) -> bool {
        let Some(upper) = &self.upper else { return true };
        !self.single && is_empty(upper) && is_like(upper, &self.root).unwrap_or(false)
    }

    /// Waits until no other write-back works on this directory, and keeps others from it. The
    /// lock is a file of endow's own: a command could hold a lock of the directory itself.
    pub(super) fn lock(&self, locks: &Path) -> Result<OwnedFd, Errno> {
        match rustix::fs::mkdir(locks, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let status = OsFs.status_of(self.root.as_fd())?;
        let name = locks.join(format!("{}-{}", status.id.dev, status.id.ino));
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(CWD, &name, flags, Mode::RUSR | Mode::WUSR)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}

fn is_empty(directory: &OwnedFd) -> bool {
    let opened = OsFs.open_dir(directory.as_fd(), ".".as_ref());
    let names = opened.and_then(|opened| OsFs.list(opened.as_fd(), 1));
    names.is_ok_and(|names| names.is_empty())
}

fn is_like(upper: &OwnedFd, root: &OwnedFd) -> Result<bool, Errno> {
    let (upper, root) = (OsFs.status_of(upper.as_fd())?, OsFs.status_of(root.as_fd())?);
    Ok(upper.mode == root.mode && upper.modified == root.modified)
}
