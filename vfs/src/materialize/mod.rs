//! Making a tree real: which files, in which order, by which worker (`plan`), and doing it
//! (`apply`). Where the contents come from is the caller's.

mod apply;
mod plan;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

pub use apply::apply;
pub use plan::{Group, Materialization, plan, plan_layer};

use crate::fs::{At, Errno, Fs, Timespec, write_all};

/// The time of every file, since a tree has none: 2011-11-11 11:11:09 UTC, as BuildBox has it. All
/// being equal, nothing of a build counts as out of date.
pub const MODIFIED: Timespec = Timespec { tv_sec: 1_321_009_869, tv_nsec: 0 };

/// The bits of a directory.
pub(crate) const DIRECTORY_MODE: u32 = 0o755;
/// The bits of a file.
const FILE_MODE: u32 = 0o644;
/// The bits of a file that can be executed.
const EXECUTABLE_MODE: u32 = 0o755;

/// Where the contents of a tree's files are.
pub trait Contents<C>: Sync {
    /// Returns what one worker makes files with.
    fn maker(&self) -> Box<dyn Maker<C> + '_>;
}

/// Makes files of a tree, one after the other.
pub trait Maker<C> {
    /// Makes the file `at`, where nothing is.
    ///
    /// # Errors
    /// A content that is missing or not what its name says, or a failing call.
    fn make(&mut self, content: &C, executable: bool, at: At<'_>) -> Result<(), ContentError>;
}

/// Why a content is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The kernel refuses a call.
    #[error("can't {action}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// The source has it not, or something else in its place.
    #[error("{0}")]
    Source(String),
}

/// Why a tree can't be made.
#[derive(Debug, thiserror::Error)]
#[error("can't make {}", path.display())]
pub struct MaterializeError {
    /// The path below the root of the tree; empty for the root itself.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub error: ContentError,
}

/// Makes a file with bytes that are at hand.
///
/// # Errors
/// A failing call.
pub fn make_file(
    fs: &dyn Fs,
    at: At<'_>,
    executable: bool,
    bytes: &[u8],
) -> Result<(), ContentError> {
    let failed = |action| move |errno| ContentError::Io { action, errno };
    let file = create_file(fs, at, executable)?;
    write_all(fs, file.as_fd(), bytes).map_err(failed("write"))?;
    finish_file(fs, file.as_fd())
}

/// Creates a file with its bits, but for those that the process's mask takes away: [`apply()`] looks
/// after them.
///
/// # Errors
/// A failing call.
pub fn create_file(fs: &dyn Fs, at: At<'_>, executable: bool) -> Result<OwnedFd, ContentError> {
    let failed = |errno| ContentError::Io { action: "create the file", errno };
    let mode = if executable { EXECUTABLE_MODE } else { FILE_MODE };
    fs.create_file_as(at, mode).map_err(failed)
}

/// Gives a file that is written its time.
///
/// # Errors
/// A failing call.
pub fn finish_file(fs: &dyn Fs, file: BorrowedFd<'_>) -> Result<(), ContentError> {
    let at = At { dir: file, name: OsStr::new("") };
    let failed = |errno| ContentError::Io { action: "set the time", errno };
    fs.set_modified(at, MODIFIED).map_err(failed)
}
