//! The host side before any process exists: the run's directory and what lies in it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use endow_vfs::fs::{Errno, Fs, OsFs, Timespec};
use endow_vfs::mask::{self, MaskApplyError, MaskError, MaskPlan, PointKind};
use endow_vfs::private::{Seed, SeedError, SeedLimits, seed};
use endow_vfs::state::{
    Durability, MadeLike, Record, RunDir, RunId, StateDir, StateError, note_live,
};
use endow_vfs::sync::{SyncError, digest_if_alike};
use endow_vfs::tree::CopyError;
use rustix::fs::OFlags;

use super::cgroup::Cgroup;
use super::cow_layer::{self, open_expected};
use super::tree_layer::{self, TreeLayerError};
use crate::plan::step::{CgroupPlan, ExecSpec, MaskPoint, PrepareStep, RunPath, UPPER};
use crate::plan::{HIDDEN_DIRECTORY, HIDDEN_FILE, Plan, TreeFact};
use crate::sys;
use crate::trees::{self, BaseLease, Lease, MakeError, Watch};

/// The bits of directories in which mount points stand.
const POINT_MODE: u32 = 0o755;

/// Why the host side could not be prepared. What was made is gone again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PrepareError {
    /// The state directory can't be used.
    #[error("can't use the state directory")]
    State(#[source] StateError),
    /// The control group of the run can't be made.
    #[error("can't make a control group: {}", path.display())]
    Make {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// What the command changes at once can't be noted.
    #[error("can't note what is live")]
    Live(#[source] io::Error),
    /// A seed can't be copied.
    #[error("can't seed a private directory")]
    Seed(#[source] SeedError),
    /// A mask layer can't be built.
    #[error("can't build a mask layer")]
    Mask(#[source] MaskApplyError),
    /// A mask layer can't be made of these names.
    #[error("can't plan a mask layer")]
    MaskNames(#[source] MaskError),
    /// What is masked can't be opened.
    #[error("can't open: {path}")]
    Open {
        path: HostPath,
        #[source]
        source: io::Error,
    },
    /// What is masked is not what was found before.
    #[error("source was replaced while the sandbox started: {0}")]
    Swapped(HostPath),
    /// What would be written back would get another owner or group.
    #[error(
        "of another owner or group (uid {uid}, gid {gid}), so that changes can't be written back: {path}"
    )]
    Foreign { path: HostPath, uid: u32, gid: u32 },
    /// A layer of an earlier run can't be copied.
    #[error("can't copy the layer of the earlier run")]
    Layer(#[source] CopyError),
    /// What the earlier run wrote back can't be read or handed on.
    #[error("can't go on from the earlier run")]
    Earlier(#[source] SyncError),
    /// The moment of the start can't be told.
    #[error("can't tell the time of the state's file system")]
    Stamp(#[source] io::Error),
    /// The layer above a tree can't be made.
    #[error("can't make the layer above a tree")]
    TreeLayer(#[source] TreeLayerError),
    /// A tree can't be made.
    #[error("can't show {id} of {origin}")]
    Tree {
        id: String,
        origin: HostPath,
        #[source]
        source: MakeError,
    },
    /// The layer of what does not exist yet can't be made.
    #[error("can't make a layer: {}", path.display())]
    Await {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A socket can't be made in the run's directory.
    #[error("can't make a socket: {}", path.display())]
    Listen {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// endow's own guest-side code can't be put into memory.
    #[error("can't copy endow into memory")]
    Helper(#[source] io::Error),
}

impl PrepareError {
    pub(super) fn await_at(run: &RunDir, errno: Errno) -> Self {
        Self::Await { path: run.path(), source: errno.into() }
    }

    fn tree(tree: &TreeFact, source: MakeError) -> Self {
        Self::Tree { id: tree.id.clone(), origin: tree.source.clone(), source }
    }
}

/// The host side of a run, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Prepared {
    run: Option<RunDir>,
    helper: Option<OwnedFd>,
    cgroup: Option<Cgroup>,
    captured: Option<[OwnedFd; 2]>,
    /// What the command gets at certain numbers.
    handed: Vec<(OwnedFd, RawFd)>,
    stamp: Option<Timespec>,
    /// What keeps the trees of the cache.
    leases: Vec<Lease>,
    /// What keeps trees of the store that can be changed.
    _bases: Vec<BaseLease>,
    /// Sockets that listen inside, by their places.
    listeners: Vec<(RunPath, OwnedFd)>,
}

impl Prepared {
    /// Returns the run's directory; `/` for a run that needs none.
    pub(crate) fn directory(&self) -> PathBuf {
        self.run.as_ref().map_or_else(|| PathBuf::from("/"), RunDir::path)
    }

    /// Gives the command these as standard output and error.
    pub(crate) fn capture(&mut self, streams: [OwnedFd; 2]) {
        self.captured = Some(streams);
    }

    /// Gives the command these at their numbers.
    pub(crate) fn hand(&mut self, descriptors: Vec<(OwnedFd, RawFd)>) {
        self.handed = descriptors;
    }

    /// Returns a socket that listens inside, for whoever serves it.
    pub(crate) fn take_listener(&mut self, at: &str) -> Option<OwnedFd> {
        let number = self.listeners.iter().position(|(place, _)| place.0 == Path::new(at))?;
        Some(self.listeners.swap_remove(number).1)
    }

    /// Closes what is the command's, once it has it.
    pub(crate) fn hand_over(&mut self) {
        self.captured = None;
        self.handed.clear();
    }

    /// Returns the numbers of what becomes standard output and error.
    pub(super) fn captured(&self) -> Option<[RawFd; 2]> {
        self.captured.as_ref().map(|streams| streams.each_ref().map(AsRawFd::as_raw_fd))
    }

    /// Returns the numbers of what the command gets, each with that which it has then.
    pub(super) fn handed(&self) -> Vec<[RawFd; 2]> {
        self.handed.iter().map(|(it, number)| [it.as_raw_fd(), *number]).collect()
    }

    /// Returns the control group in which pid 1 starts.
    pub(crate) fn cgroup(&self) -> Option<RawFd> {
        self.cgroup.as_ref().map(Cgroup::descriptor)
    }

    /// Returns whether the limit of memory ended the run.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        self.cgroup.as_ref().is_some_and(Cgroup::ran_out_of_memory)
    }

    /// Returns what covers a hidden file and a hidden directory of a live mount.
    pub(crate) fn covers(&self) -> [PathBuf; 2] {
        [HIDDEN_FILE, HIDDEN_DIRECTORY].map(|name| self.directory().join(name))
    }

    /// Returns the number of the sealed file that is executed instead of a command.
    pub(crate) fn helper(&self) -> Option<i32> {
        self.helper.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Returns the moment from which changes outside count.
    pub(crate) fn stamp(&self) -> Option<Timespec> {
        self.stamp
    }

    /// Returns what the root of a layer on the disk was made like.
    pub(crate) fn made_like(&self, layer: &Path, source: &HostPath) -> Option<MadeLike> {
        let run = self.run.as_ref()?;
        let root = OsFs.open_dir(run.as_fd(), layer.join(UPPER).as_os_str()).ok()?;
        let status = OsFs.status_of(root.as_fd()).ok()?;
        let real = OsFs.open_canonical(source.as_path());
        let all = real.and_then(|real| digest_if_alike(&OsFs, root.as_fd(), real.as_fd()));
        Some(MadeLike::of(&status, all.ok().flatten()))
    }

    /// Writes down what the run is: should endow die, its changes are found by it.
    pub(crate) fn record(&self, record: &Record) -> Result<(), PrepareError> {
        let write = |run: &RunDir| run.write_record(&OsFs, record, Durability::Cached);
        self.run.as_ref().map_or(Ok(()), write).map_err(PrepareError::State)
    }

    /// Returns the run's directory, for a run that needs one.
    pub(crate) fn run(&self) -> Option<&RunDir> {
        self.run.as_ref()
    }

    /// Makes the run's directory, once there is something to put there.
    fn make_run(&mut self, state: &Path, id: &RunId) -> Result<&mut RunDir, PrepareError> {
        if self.run.is_none() {
            let state = StateDir::open(&OsFs, state).map_err(PrepareError::State)?;
            self.run = Some(state.create_run(&OsFs, id).map_err(PrepareError::State)?);
        }
        Ok(self.run.as_mut().expect("just made"))
    }

    /// Returns the run's directory, and takes away all else that was prepared.
    pub(crate) fn into_run(self) -> Option<RunDir> {
        self.run
    }

    /// Returns what the next run can be prepared with.
    pub(crate) fn into_before(self) -> Option<Before> {
        let leases = self.leases;
        self.run.map(|run| Before { run, leases })
    }
}

/// What is left of a run for the next one.
#[derive(Debug)]
pub(crate) struct Before {
    /// The directory.
    pub(crate) run: RunDir,
    /// What keeps its trees: most likely some of the next one's, too.
    pub(crate) leases: Vec<Lease>,
}

/// Carries out the host-side steps.
pub(crate) fn prepare(
    plan: &Plan,
    state: &Path,
    id: &RunId,
    watch: Watch<'_>,
) -> Result<Prepared, PrepareError> {
    // What comes of a tree needs all of it; that it may be cached keeps nothing in the store.
    let of_store = plan.trees.iter().filter(|it| it.landing.is_none()).map(|it| &it.tree);
    let lease = |tree| trees::lease_base(tree).map_err(|error| PrepareError::tree(tree, error));
    let bases = of_store.map(lease).collect::<Result<_, _>>()?;
    let prepared = prepare_in(None, plan, (state, id), watch)?;
    Ok(Prepared { _bases: bases, ..prepared })
}

/// Carries out the host-side steps in the directory of a run that is over, when there is one: it is empty again.
pub(crate) fn prepare_in(
    before: Option<Before>,
    plan: &Plan,
    (state, id): (&Path, &RunId),
    watch: Watch<'_>,
) -> Result<Prepared, PrepareError> {
    let helper = match plan.exec {
        ExecSpec::Helper { .. } => Some(helper().map_err(PrepareError::Helper)?),
        ExecSpec::Command { .. } => None,
    };
    let before = before.map(|Before { run, leases }| (run, leases));
    let (run, mut held) = before.unzip();
    let held = held.get_or_insert_default();
    let mut prepared = Prepared {
        run,
        helper,
        cgroup: None,
        captured: None,
        handed: Vec::new(),
        stamp: None,
        leases: Vec::new(),
        _bases: Vec::new(),
        listeners: Vec::new(),
    };
    for step in &plan.prepare {
        match step {
            PrepareStep::Cgroup(group) => {
                prepared.make_run(state, id)?;
                prepared.cgroup = Some(cgroup(group)?);
            }
            PrepareStep::Tree { tree, cache_bytes } => {
                let leases = trees::ready(tree, *cache_bytes, watch, held);
                prepared.leases.extend(leases.map_err(|error| PrepareError::tree(tree, error))?);
            }
            PrepareStep::Listen { at } => {
                let listener = listen(prepared.make_run(state, id)?, at)?;
                prepared.listeners.push((at.clone(), listener));
            }
            _ => apply(step, prepared.make_run(state, id)?)?,
        }
    }
    if plan.is_recorded() {
        prepared.stamp = Some(cow_layer::stamp(prepared.make_run(state, id)?)?);
    }
    Ok(prepared)
}

fn cgroup(plan: &CgroupPlan) -> Result<Cgroup, PrepareError> {
    let group = Cgroup::make(plan);
    group.map_err(|source| PrepareError::Make {
        path: plan.parent.as_path().join(&plan.name),
        source,
    })
}

/// Makes a socket that listens in the run's directory, for the user alone.
fn listen(run: &mut RunDir, at: &RunPath) -> Result<OwnedFd, PrepareError> {
    run.make_way(&OsFs, &at.0).map_err(PrepareError::State)?;
    let made = sys::socket::listen_below(run.as_fd(), &at.0);
    made.map_err(|errno| PrepareError::Listen {
        path: run.path().join(&at.0),
        source: io::Error::from(errno),
    })
}

fn apply(step: &PrepareStep, run: &mut RunDir) -> Result<(), PrepareError> {
    match step {
        PrepareStep::Cgroup(_) | PrepareStep::Tree { .. } | PrepareStep::Listen { .. } => Ok(()),
        PrepareStep::TreeLayer { at, git } => {
            tree_layer::make(run, &at.0, git.as_ref()).map_err(PrepareError::TreeLayer)
        }
        PrepareStep::Points { at, points } => make_points(run, at, points),
        PrepareStep::MakeDir { at, mode } => {
            run.make_dir(&OsFs, &at.0, *mode).map_err(PrepareError::State)
        }
        PrepareStep::MakeFile { at, mode } => {
            run.make_file(&OsFs, &at.0, *mode).map_err(PrepareError::State)
        }
        PrepareStep::Live { roots } => {
            let noted = note_live(&OsFs, run.as_fd(), roots.iter().map(HostPath::as_path));
            noted.map_err(|errno| PrepareError::Live(errno.into()))
        }
        PrepareStep::Seed { from, to } => {
            let seeds = [Seed { source: from.as_path().to_owned(), to: to.0.clone() }];
            let seeded = seed(&OsFs, run.as_fd(), &seeds, SeedLimits::default());
            seeded.map(drop).map_err(PrepareError::Seed)
        }
        PrepareStep::Layer { at, like, expect } => cow_layer::make(run, &at.0, like, *expect),
        PrepareStep::Checkpoint { at } => {
            run.make_dir(&OsFs, &at.0, 0o700).map_err(PrepareError::State)
        }
        PrepareStep::GoOn { from, layers } => cow_layer::go_on(run, from, layers),
        PrepareStep::CopyFile { at, layer, from, expect } => {
            cow_layer::copy_file(run, (&layer.0, &at.0), from, *expect)
        }
        PrepareStep::Await { at, layer, .. } => cow_layer::wait(run, (&layer.0, &at.0)),
        PrepareStep::AwaitFile { at, layer, .. } => cow_layer::wait_file(run, (&layer.0, &at.0)),
        PrepareStep::Mask { at, like, expect, hide, points } => {
            run.make_way(&OsFs, &at.0).map_err(PrepareError::State)?;
            let plan = mask_plan(hide, points).map_err(PrepareError::MaskNames)?;
            let real = open_expected(like, *expect, OFlags::DIRECTORY)?;
            mask::apply(&OsFs, &plan, real.as_fd(), run.as_fd(), at.0.as_os_str())
                .map_err(PrepareError::Mask)
        }
    }
}

/// Makes a layer that has nothing but mount points.
fn make_points(run: &mut RunDir, at: &RunPath, points: &[MaskPoint]) -> Result<(), PrepareError> {
    run.make_dir(&OsFs, &at.0, POINT_MODE).map_err(PrepareError::State)?;
    for point in points {
        let above = point.path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        let mut above: Vec<&Path> = above.collect();
        above.reverse();
        for directory in above {
            make_once(run, &at.0.join(directory))?;
        }
        let place = at.0.join(&point.path);
        if point.directory {
            make_once(run, &place)?;
        } else {
            run.make_file(&OsFs, &place, 0o644).map_err(PrepareError::State)?;
        }
    }
    Ok(())
}

/// Makes a directory that another point may have made.
fn make_once(run: &mut RunDir, place: &Path) -> Result<(), PrepareError> {
    match run.make_dir(&OsFs, place, POINT_MODE) {
        Err(StateError::Io { errno: Errno::EXIST, .. }) => Ok(()),
        made => made.map_err(PrepareError::State),
    }
}

fn mask_plan(hide: &[PathBuf], points: &[MaskPoint]) -> Result<MaskPlan, MaskError> {
    let kind = |it: &MaskPoint| if it.directory { PointKind::Directory } else { PointKind::File };
    let points = points.iter().map(|point| (point.path.as_path(), kind(point)));
    MaskPlan::new(hide.iter().map(PathBuf::as_path), points)
}

/// How often sealing is tried; the kernel waits 150 ms each time (`memfd_wait_for_pins`).
const SEALING: usize = 20;

/// Copies the running program into a sealed file in memory: nothing inside can change it, and a
/// file of the host would be refused by Landlock.
fn helper() -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create(c"endow-helper", flags)?;
    let mut program = File::open("/proc/self/exe")?;
    let mut copy = File::from(memory);
    io::copy(&mut program, &mut copy)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    // Under load the kernel may hold on to pages for longer than it waits itself (EBUSY).
    let mut tried = (0..SEALING).map(|_| fcntl_add_seals(&copy, seals));
    let sealed = tried.find(|sealed| *sealed != Err(Errno::BUSY));
    sealed.unwrap_or(Err(Errno::BUSY))?;
    Ok(copy.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::plan::step::FileId;

    fn host(path: &Path) -> HostPath {
        HostPath::new(path).expect("a path")
    }

    #[test]
    fn swapped_model_of_a_mask_is_an_error() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path().canonicalize().expect("a path");
        let (one, two) = (root.join("one"), root.join("two"));
        std::fs::create_dir(&one).expect("a directory");
        std::fs::create_dir(&two).expect("a directory");
        let found = sys::identity::of(File::open(&one).expect("opened")).expect("found");
        let expect = FileId::from(found.parts());
        open_expected(&host(&one), expect, OFlags::DIRECTORY).expect("what was found");
        let swapped =
            open_expected(&host(&two), expect, OFlags::DIRECTORY).expect_err("another directory");
        assert!(matches!(&swapped, PrepareError::Swapped(path) if *path == host(&two)));
        let link = root.join("link");
        symlink(&one, &link).expect("a link");
        let through = open_expected(&host(&link), expect, OFlags::DIRECTORY);
        assert!(matches!(through, Err(PrepareError::Open { .. })));
    }
}
