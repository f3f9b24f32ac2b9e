//! The two sides of write-back, open: the layers of a run and the directories they belong to.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use endow_vfs::fs::{Fs, Kind, Open, OsFs};
use endow_vfs::held;
use endow_vfs::state::{AwaitedRecord, JOURNAL, MadeLike, MountRecord, Record, RunDir};
use endow_vfs::sync::{Absent, Awaited, Clock, Identity, Single, SyncError, Time, digest_of};
use endow_vfs::traps::Sides;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;

use super::gone::{Gone, Targets};
use super::leases::Leases;
use super::{InView, clock_since};
use crate::plan::step::UPPER;
use crate::sys;

/// A directory that changes are written back to.
#[derive(Debug)]
pub(crate) struct Target {
    /// The number of the mount in the record.
    pub(crate) number: u32,
    /// Its place in the view.
    pub(crate) shown: InView,
    /// The directory on the host: for a single file the one it lies in.
    pub(crate) path: HostPath,
    /// It, open.
    pub(crate) root: OwnedFd,
    /// Which directory it was when the run began.
    pub(crate) identity: Identity,
    /// Changes outside count from here.
    pub(crate) stamp: Time,
    /// What the root of the layer was made like.
    pub(crate) made_like: Option<MadeLike>,
    /// Whether times tell which those are.
    pub(crate) clock: Clock,
    /// What changed was taken out of a live mount.
    pub(crate) is_held: bool,
    /// What of that is held for where a link shows it, whatever its own path says.
    pub(super) judged: BTreeSet<PathBuf>,
    /// The upper layer; `None` when it is gone.
    pub(crate) upper: Option<OwnedFd>,
    /// The name of the file and the place of its layer, where a single one is mounted.
    single: Option<(OsString, PathBuf)>,
    /// The place that did not exist, and what the command may have made there.
    awaited: Option<(AwaitedRecord, Kind)>,
}

/// A side that can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    /// It can't be opened.
    #[error("can't open: {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        errno: Errno,
    },
    /// What became of a single file can't be told.
    #[error("can't tell what became of the file: {path}")]
    Single {
        path: HostPath,
        #[source]
        source: SyncError,
    },
}

/// Opens both sides of each mount of a run that is over; `memory` are the layers that are in memory,
/// in the order of their mounts.
pub(crate) fn targets(
    run: &RunDir,
    record: &Record,
    memory: &[OwnedFd],
) -> Result<Targets, TargetError> {
    gather(run, record)?;
    let targets = open(run, record, memory)?;
    targets.open.iter().try_for_each(|target| catch_up(run, target)).map(|()| targets)
}

/// Opens both sides of each mount as they are.
pub(super) fn open(
    run: &RunDir,
    record: &Record,
    memory: &[OwnedFd],
) -> Result<Targets, TargetError> {
    let mut memory = memory.iter();
    let clock = clock_since(record);
    let mut targets = Targets { open: Vec::new(), gone: Vec::new() };
    for (number, mount) in (0u32..).zip(&record.mounts) {
        let memory = mount.in_memory.then(|| memory.next()).flatten();
        let path = root_of(mount)?;
        match sys::fd::open_directory(path.as_path()) {
            Ok(root) => {
                let side = (path, root);
                targets.open.push(target((number, mount), side, (run, memory), clock)?);
            }
            Err(errno) => {
                let gone = Gone::new((number, mount), (path, errno), (run, memory));
                targets.gone.push(gone);
            }
        }
    }
    Ok(targets)
}

/// Opens both sides of a single mount of a run, whatever became of the others.
pub(super) fn one(
    run: &RunDir,
    record: &Record,
    number: u32,
) -> Result<Option<Target>, TargetError> {
    let mount = usize::try_from(number).ok().and_then(|at| record.mounts.get(at));
    let clock = clock_since(record);
    let open = |mount| {
        let path = root_of(mount)?;
        let root = sys::fd::open_directory(path.as_path())
            .map_err(|errno| failed(path.as_path(), errno))?;
        target((number, mount), (path, root), (run, None), clock)
    };
    mount.map(open).transpose()
}

fn root_of(mount: &MountRecord) -> Result<HostPath, TargetError> {
    mount.root().ok_or_else(|| failed(mount.source.as_path(), Errno::INVAL))
}

fn target(
    (number, mount): (u32, &MountRecord),
    (path, root): (HostPath, OwnedFd),
    (run, memory): (&RunDir, Option<&OwnedFd>),
    clock: Clock,
) -> Result<Target, TargetError> {
    let single = mount.source.as_path().file_name().filter(|_| mount.is_single());
    let kind = if mount.directory { Kind::Directory } else { Kind::File };
    Ok(Target {
        number,
        shown: InView::of(mount),
        identity: identity(mount, &root).map_err(|errno| failed(path.as_path(), errno))?,
        stamp: time(mount.stamp),
        made_like: mount.made_like,
        clock,
        is_held: mount.is_held(),
        judged: judged(mount, run)?,
        upper: open_upper(mount, run, memory)?,
        single: single.map(|name| (name.to_owned(), mount.layer.clone())),
        awaited: mount.awaited.clone().map(|awaited| (awaited, kind)),
        path,
        root,
    })
}

/// What the command made of single files, and at places that did not exist, becomes a layer, now that
/// it is gone: of each, whatever became of the host's side.
fn gather(run: &RunDir, record: &Record) -> Result<(), TargetError> {
    let mut first = Ok(());
    for (number, mount) in (0u32..).zip(&record.mounts) {
        let gathered = match (single(run, number, mount), awaited(run, mount)) {
            (Some(single), _) => single.and_then(|single| single.gather()),
            (None, Some(awaited)) => awaited.and_then(|awaited| awaited.gather()),
            (None, None) => Ok(()),
        };
        let gathered =
            gathered.map_err(|source| TargetError::Single { path: mount.source.clone(), source });
        first = first.and(gathered);
    }
    first
}

fn single<'a>(
    run: &'a RunDir,
    number: u32,
    mount: &MountRecord,
) -> Option<Result<Single<'a>, SyncError>> {
    let name = mount.source.as_path().file_name().filter(|_| mount.is_single())?;
    has_layer(run, mount).then(|| Single::open(&OsFs, run.as_fd(), (number, &mount.layer), name))
}

fn awaited<'a>(run: &'a RunDir, mount: &'a MountRecord) -> Option<Result<Awaited<'a>, SyncError>> {
    let path = &mount.awaited.as_ref()?.path;
    has_layer(run, mount).then(|| Awaited::open(&OsFs, run.as_fd(), &mount.layer, path))
}

fn has_layer(run: &RunDir, mount: &MountRecord) -> bool {
    OsFs.node(run.as_fd(), mount.layer.join(UPPER).as_os_str()).is_ok()
}

/// Returns where files of the command stand that could not be gathered.
pub(super) fn standing(run: &RunDir, record: &Record) -> Vec<PathBuf> {
    let singles = (0u32..).zip(&record.mounts).filter_map(|(number, it)| single(run, number, it));
    let singles = singles.filter_map(|single| single.ok()?.stands().ok()?);
    let awaited = record.mounts.iter().filter_map(|it| awaited(run, it)?.ok()?.stands().ok()?);
    singles.chain(awaited).collect()
}

/// Finds what of single files was just written back when a process was killed.
pub(super) fn catch_up(run: &RunDir, target: &Target) -> Result<(), TargetError> {
    let failed = |source| TargetError::Single { path: target.path.clone(), source };
    let is_begun = run.has(&OsFs, JOURNAL).unwrap_or(true);
    match target.single(run).transpose().map_err(failed)? {
        Some(single) if !is_begun => {
            single.catch_up(target.root.as_fd(), &Leases).map(drop).map_err(failed)
        }
        _ => Ok(()),
    }
}

/// A single file is known by itself; its directory may be any.
fn identity(mount: &MountRecord, root: &OwnedFd) -> Result<Identity, Errno> {
    if mount.is_single() {
        return OsFs.node(root.as_fd(), "".as_ref()).map(|node| Identity::from(&node));
    }
    let id = mount.id;
    Ok(Identity { dev: id.dev, ino: id.ino, born: id.born.map(time) })
}

pub(super) fn time(moment: endow_vfs::state::Moment) -> Time {
    Time { seconds: moment.seconds, nanoseconds: moment.nanoseconds.into() }
}

fn judged(mount: &MountRecord, run: &RunDir) -> Result<BTreeSet<PathBuf>, TargetError> {
    if !mount.is_held() {
        return Ok(BTreeSet::new());
    }
    let layer = match OsFs.open_below(run.as_fd(), &mount.layer, Open::Handle) {
        Err(Errno::NOENT) => return Ok(BTreeSet::new()),
        layer => layer,
    };
    let judged = layer.and_then(|layer| held::judged(&OsFs, layer.as_fd()));
    judged.map_err(|errno| failed(&run.path().join(&mount.layer), errno))
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

pub(super) fn failed(path: &Path, errno: Errno) -> TargetError {
    TargetError::Open { path: path.to_owned(), errno }
}

impl Target {
    /// Returns whether nothing was changed: the layer is empty, and its root is like the real one
    /// still. That is how most runs end, and costs no more than these few calls.
    pub(crate) fn is_untouched(&self) -> bool {
        let Some(upper) = &self.upper else { return true };
        let is_own = self.single.is_some() || self.awaited.is_some() || self.is_held;
        let is_like = || is_own || is_like(upper, (&self.root, self.made_like)).unwrap_or(false);
        is_empty(upper) && is_like()
    }

    /// Returns the layer and what it stands on, to look for names.
    pub(super) fn sides(&self) -> Sides<'_> {
        Sides::new(&OsFs, self.upper.as_ref().map(AsFd::as_fd), self.root.as_fd())
    }

    /// Returns whether a single file is mounted.
    pub(super) fn is_single(&self) -> bool {
        self.single.is_some()
    }

    /// Returns the place that did not exist when the run began.
    pub(super) fn absent(&self) -> Option<Absent<'_>> {
        let (awaited, kind) = self.awaited.as_ref()?;
        Some(Absent { root: self.path.as_path(), path: &awaited.path, kind: *kind })
    }

    /// Returns the path by which rules are asked, below the mount; `None` for what no rule holds.
    pub(super) fn ruled<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        match &self.awaited {
            None => Some(path),
            Some((awaited, _)) if awaited.live && !awaited.guarded => None,
            Some((awaited, _)) => path.strip_prefix(&awaited.path).ok(),
        }
    }

    /// Returns whether the mount is of what did not exist, and is live and watched once that is there.
    pub(super) fn is_guarded(&self) -> bool {
        self.awaited.as_ref().is_some_and(|(awaited, _)| awaited.guarded)
    }

    /// Reads a file of the layer; `None` for what is no file of at most so many bytes.
    pub(super) fn text(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        let above = path.parent().unwrap_or(Path::new(""));
        let directory = OsFs.open_below(self.upper.as_ref()?.as_fd(), above, Open::Handle).ok()?;
        let file = OsFs.open_file(directory.as_fd(), path.file_name()?).ok()?;
        let found = OsFs.status_of(file.as_fd()).ok()?;
        let is_whole = found.kind == Kind::File && found.size <= most;
        let mut text = vec![0; usize::try_from(found.size).ok().filter(|_| is_whole)?];
        let length = OsFs.read(file.as_fd(), &mut text).ok()?;
        (length as u64 == found.size).then_some(text)
    }

    /// Whether the host has a program of a name, or a link.
    pub(super) fn has_program(&self, path: &Path) -> bool {
        let above = path.parent().unwrap_or(Path::new(""));
        let above = OsFs.open_below(self.root.as_fd(), above, Open::Handle);
        let name = path.file_name().unwrap_or_default();
        let found = above.and_then(|above| OsFs.status(above.as_fd(), name));
        found.is_ok_and(|it| match it.kind {
            Kind::Symlink => true,
            Kind::File => it.mode & 0o111 != 0,
            Kind::Directory | Kind::Other => false,
        })
    }

    /// Whether the run made a directory at a path that leads through no link.
    pub(super) fn has_new_directory(&self, path: &Path) -> bool {
        let upper = self.upper.as_ref();
        upper.is_some_and(|upper| OsFs.open_below(upper.as_fd(), path, Open::List).is_ok())
    }

    /// Returns the single file that is mounted, as long as the run has it.
    pub(super) fn single<'a>(&self, run: &'a RunDir) -> Option<Result<Single<'a>, SyncError>> {
        let (name, layer) = self.single.as_ref().filter(|_| self.upper.is_some())?;
        Some(Single::open(&OsFs, run.as_fd(), (self.number, layer), name))
    }

    /// Returns the name of the lock of this directory, which is the same by whatever path.
    pub(super) fn lock_name(&self) -> Result<String, Errno> {
        let id = OsFs.status_of(self.root.as_fd())?.id;
        Ok(format!("{}-{}", id.dev, id.ino))
    }

    /// Waits until no other write-back works on a directory, and keeps others from it. The lock is
    /// a file of endow's own: a command could hold a lock of the directory itself.
    pub(super) fn lock(locks: &Path, name: &str) -> Result<OwnedFd, Errno> {
        match rustix::fs::mkdir(locks, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(CWD, locks.join(name), flags, Mode::RUSR | Mode::WUSR)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}

fn is_empty(directory: &OwnedFd) -> bool {
    let opened = OsFs.open_dir(directory.as_fd(), ".".as_ref());
    let names = opened.and_then(|opened| OsFs.list(opened.as_fd(), 1));
    names.is_ok_and(|names| names.is_empty())
}

fn is_like(
    upper: &OwnedFd,
    (root, made_like): (&OwnedFd, Option<MadeLike>),
) -> Result<bool, Errno> {
    let (is, was) = (OsFs.status_of(upper.as_fd())?, OsFs.status_of(root.as_fd())?);
    let given = made_like.and_then(|it| it.attributes);
    let has_given = given.map_or(Ok(true), |it| Ok(it == digest_of(&OsFs, upper.as_fd())?))?;
    Ok(is.mode == was.mode && is.modified == was.modified && has_given)
}
