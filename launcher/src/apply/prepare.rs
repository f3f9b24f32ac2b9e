//! The host side before any process exists: the run's directory and what lies in it.

use std::fs::{DirBuilder, OpenOptions, Permissions, set_permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use endow_vfs::fs::OsFs;
use endow_vfs::mask::{self, MaskError};
use endow_vfs::private::{Seed, SeedError, SeedLimits, seed};
use endow_vfs::state::{RunDir, RunId, StateDir, StateError};

use crate::plan::Plan;
use crate::plan::step::{ExecSpec, MaskPoint, PrepareStep, RunPath};

/// Why the host side could not be prepared. What was made is gone again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PrepareError {
    /// The state directory can't be used.
    #[error("can't use the state directory")]
    State(#[source] StateError),
    /// A file or directory of the run can't be made.
    #[error("can't make a part of the run's state: {}", path.display())]
    Make { path: PathBuf, #[source] source: io::Error },
    /// A seed can't be copied.
    #[error("can't seed a private directory")]
    Seed(#[source] SeedError),
    /// A mask layer can't be built.
    #[error("can't build a mask layer")]
    Mask(#[source] MaskError),
    /// endow's own guest-side code can't be put into memory.
    #[error("can't copy endow into memory")]
    Helper(#[source] io::Error),
}

/// The host side of a run, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Prepared {
    run: Option<RunDir>,
    helper: Option<OwnedFd>,
    /// Descriptors that keep the probed sources from being replaced by others of their number.
    _pins: Vec<OwnedFd>,
}

impl Prepared {
    /// Returns the run's directory; `/` for a run that needs none.
    pub(crate) fn directory(&self) -> PathBuf {
        self.run.as_ref().map_or_else(|| PathBuf::from("/"), RunDir::path)
    }

    /// Returns the number of the sealed file that is executed instead of a command.
    pub(crate) fn helper(&self) -> Option<i32> {
        self.helper.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Removes the run's directory.
    pub(crate) fn remove(self) -> Result<(), StateError> {
        self.run.map_or(Ok(()), |run| run.remove(&OsFs))
    }
}

/// Carries out the host-side steps.
pub(crate) fn prepare(
    plan: &Plan,
    state: &Path,
    id: RunId,
    pins: Vec<OwnedFd>,
) -> Result<Prepared, PrepareError> {
    let helper = match plan.exec {
        ExecSpec::Helper { .. } => Some(helper().map_err(PrepareError::Helper)?),
        ExecSpec::Command { .. } => None,
    };
    let mut prepared = Prepared { run: None, helper, _pins: pins };
    if plan.prepare.is_empty() {
        return Ok(prepared);
    }
    let state = StateDir::open(&OsFs, state).map_err(PrepareError::State)?;
    let run = state.create_run(&OsFs, id).map_err(PrepareError::State)?;
    let run = prepared.run.insert(run);
    plan.prepare.iter().try_for_each(|step| apply(step, run))?;
    Ok(prepared)
}

fn apply(step: &PrepareStep, run: &RunDir) -> Result<(), PrepareError> {
    match step {
        PrepareStep::MakeDir { at, mode } => {
            make(run, at, |path| make_directory(path, *mode))
        }
        PrepareStep::MakeFile { at, mode } => make(run, at, |path| make_file(path, *mode)),
        PrepareStep::Seed { from, to } => {
            let seeds = [Seed { source: from.as_path().to_owned(), to: to.0.clone() }];
            let seeded = seed(&OsFs, run.as_fd(), &seeds, SeedLimits::default());
            seeded.map(drop).map_err(PrepareError::Seed)
        }
        PrepareStep::Mask { at, like, hide, points } => {
            make(run, &parent(at), |_| Ok(()))?;
            let masked = mask::Masked { real: like.as_path(), hide, points: &mask_points(points) };
            mask::build(&OsFs, run.as_fd(), &at.0, &masked).map_err(PrepareError::Mask)
        }
    }
}

fn mask_points(points: &[MaskPoint]) -> Vec<mask::Point> {
    let point = |it: &MaskPoint| mask::Point { path: it.path.clone(), directory: it.directory };
    points.iter().map(point).collect()
}

fn parent(at: &RunPath) -> RunPath {
    RunPath(at.0.join("x"))
}

/// Makes something below the run, with the directories that lead to it.
fn make(
    run: &RunDir,
    at: &RunPath,
    make: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), PrepareError> {
    let path = run.path().join(&at.0);
    let above = path.parent().unwrap_or(&path);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(above).and_then(|()| make(&path));
    made.map_err(|source| PrepareError::Make { path, source })
}

fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)?;
    // The caller's umask has no say in it.
    if mode == 0o700 { Ok(()) } else { set_permissions(path, Permissions::from_mode(mode)) }
}

fn make_file(path: &Path, mode: u32) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map(drop)
}

/// Copies the running program into a sealed file in memory: nothing inside can change it, and a
/// file of the host would be refused by Landlock.
fn helper() -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create(c"endow-helper", flags)?;
    let mut program = std::fs::File::open("/proc/self/exe")?;
    let mut copy = std::fs::File::from(memory);
    io::copy(&mut program, &mut copy)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&copy, seals)?;
    Ok(copy.into())
}
