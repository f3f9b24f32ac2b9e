//! Making a mask layer.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::{MaskPlan, MaskStep, PointKind};
use crate::fs::{Errno, Fs, Result, Status};
use crate::tree::remove_tree;

/// Why a mask layer could not be made.
#[derive(Debug, thiserror::Error)]
#[error("can't hide, or make a mount point: {}", path.display())]
pub struct MaskApplyError {
    /// The step's path below the mount's root; empty for the root.
    pub path: PathBuf,
    /// What the kernel said; `NOTDIR` when a link or file is where the plan has a directory.
    #[source]
    pub errno: Errno,
}

/// Makes the mask layer `name` below `at`, above the directory `real`.
///
/// The root and the directories on the way to each name get the mode and times of the real ones,
/// which is what the guest sees of them; owners and attributes are the caller's.
///
/// # Errors
/// A failing call; what was made is removed again.
pub fn apply(
    fs: &dyn Fs,
    plan: &MaskPlan,
    real: BorrowedFd<'_>,
    at: BorrowedFd<'_>,
    name: &OsStr,
) -> std::result::Result<(), MaskApplyError> {
    let mut making = Making { fs, levels: Vec::new() };
    making.all(plan, real, at, name).inspect_err(|error| {
        // What was there before is not ours.
        if !(error.errno == Errno::EXIST && error.path.as_os_str().is_empty()) {
            drop(remove_tree(fs, at, name));
        }
    })
}

struct Making<'a> {
    fs: &'a dyn Fs,
    levels: Vec<Level>,
}

/// A directory of the mask that is being filled.
struct Level {
    path: PathBuf,
    mask: OwnedFd,
    /// The real one, where it shows through.
    real: Option<Real>,
}

struct Real {
    dir: OwnedFd,
    status: Status,
}

impl Making<'_> {
    fn all(
        &mut self,
        plan: &MaskPlan,
        real: BorrowedFd<'_>,
        at: BorrowedFd<'_>,
        name: &OsStr,
    ) -> std::result::Result<(), MaskApplyError> {
        let failed = |path: &Path, errno| MaskApplyError { path: path.to_owned(), errno };
        self.root(real, at, name).map_err(|errno| failed(Path::new(""), errno))?;
        for step in plan.steps() {
            let path = step.path();
            self.leave_to(path.parent()).map_err(|errno| failed(path, errno))?;
            self.step(step).map_err(|errno| failed(path, errno))?;
        }
        self.leave_to(None).map_err(|errno| failed(Path::new(""), errno))
    }

    fn root(&mut self, real: BorrowedFd<'_>, at: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
        let real = self.look(real, OsStr::new("."))?;
        self.fs.make_dir(at, name, 0o700)?;
        let mask = self.fs.open_dir(at, name)?;
        self.levels.push(Level { path: PathBuf::new(), mask, real: Some(real) });
        Ok(())
    }

    fn step(&mut self, step: &MaskStep) -> Result<()> {
        let Some(level) = self.levels.last() else { return Err(Errno::BADF) };
        let mask = level.mask.as_fd();
        let name = step.path().file_name().ok_or(Errno::INVAL)?;
        match step {
            MaskStep::Whiteout(_) => self.fs.make_whiteout(mask, name),
            MaskStep::Point(_, PointKind::File) => self.fs.create_file(mask, name).map(drop),
            MaskStep::Directory(path) | MaskStep::Point(path, PointKind::Directory) => {
                let real = self.real_below(level, name)?;
                self.enter(path, name, real).map(drop)
            }
            MaskStep::Opaque(path) => {
                let fs = self.fs;
                fs.make_opaque(self.enter(path, name, None)?)
            }
        }
    }

    /// Returns the real directory of a name; `None` when nothing is there or shows.
    fn real_below(&self, level: &Level, name: &OsStr) -> Result<Option<Real>> {
        let Some(real) = &level.real else { return Ok(None) };
        match self.look(real.dir.as_fd(), name) {
            Ok(real) => Ok(Some(real)),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(Errno::NOTDIR),
            Err(errno) => Err(errno),
        }
    }

    fn look(&self, at: BorrowedFd<'_>, name: &OsStr) -> Result<Real> {
        let dir = self.fs.open_handle(at, name)?;
        let status = self.fs.status_of(dir.as_fd())?;
        Ok(Real { dir, status })
    }

    fn enter(&mut self, path: &Path, name: &OsStr, real: Option<Real>) -> Result<BorrowedFd<'_>> {
        let above = self.levels.last().ok_or(Errno::BADF)?.mask.as_fd();
        self.fs.make_dir(above, name, 0o700)?;
        let mask = self.fs.open_dir(above, name)?;
        self.levels.push(Level { path: path.to_owned(), mask, real });
        self.levels.last().map(|level| level.mask.as_fd()).ok_or(Errno::BADF)
    }

    /// Finishes directories until the last is `path`; all of them for `None`.
    fn leave_to(&mut self, path: Option<&Path>) -> Result<()> {
        while let Some(level) = self.levels.pop_if(|level| Some(level.path.as_path()) != path) {
            self.finish(&level)?;
        }
        Ok(())
    }

    /// Gives a directory its mode and times now that all its names are made.
    fn finish(&self, level: &Level) -> Result<()> {
        let mask = level.mask.as_fd();
        match &level.real {
            Some(Real { status, .. }) => {
                self.fs.set_mode(mask, status.mode)?;
                self.fs.set_times(mask, status)
            }
            None => self.fs.set_mode(mask, 0o755),
        }
    }
}
