//! Putting what was captured into the host's repository, before one reference names it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use gix_object::Kind as ObjectKind;

use super::commit;
use super::order::in_order;
use crate::fs::{At, Errno, Fs, Open, write_all};
use crate::git_tree::{GitError, Id, Repository, STRUCTURE_MAX};

const CHUNK: u64 = 1 << 20;

/// Why objects or a reference can't be put into a repository.
#[derive(Debug, thiserror::Error)]
pub enum LandError {
    /// The reference names another object by now.
    #[error("{name} is {} by now", found.as_deref().unwrap_or("gone"))]
    Moved {
        /// The reference.
        name: String,
        /// What it names.
        found: Option<String>,
    },
    /// Somebody is changing the reference.
    #[error("{name} is locked: another program changes it, or one that died left {name}.lock")]
    Locked {
        /// The reference.
        name: String,
    },
    /// No reference can stand there beside another one.
    #[error("{name} can't be beside {other}: one of them would have to be a directory")]
    InTheWay {
        /// The reference.
        name: String,
        /// What is there.
        other: String,
    },
    /// A call failed.
    #[error("can't {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file of the git directory.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
}

/// Gives an object directory all objects that are staged, each after all that it leads to: of a
/// landing that is cut off nothing is there that leads to what is not. What it has stays as it is.
///
/// # Errors
/// A failing call; objects that nothing names yet may be left.
pub fn land_objects(
    fs: &dyn Fs,
    staging: BorrowedFd<'_>,
    objects: BorrowedFd<'_>,
) -> Result<u64, LandError> {
    let mut landed = 0;
    for (fan, name) in in_order(fs, staging)? {
        let path = Path::new(&fan);
        match fs.make_dir(objects, &fan, 0o755) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("make", path)(errno)),
        }
        let open = |at| fs.open_below(at, path, Open::Handle).map_err(failed("open", path));
        let (from, to) = (open(staging)?, open(objects)?);
        let place = |dir| At { dir, name: &name };
        landed += u64::from(land(fs, place(from.as_fd()), place(to.as_fd()), objects)?);
    }
    // A reference must name nothing that a loss of power takes away.
    let open = fs.open_below(objects, Path::new("."), Open::List);
    let open = open.map_err(failed("open", Path::new("objects")))?;
    fs.sync_all(open.as_fd()).map_err(failed("write out", Path::new("objects")))?;
    Ok(landed)
}

/// Returns whether the object was not there.
fn land(fs: &dyn Fs, from: At<'_>, to: At<'_>, objects: BorrowedFd<'_>) -> Result<bool, LandError> {
    let path = Path::new(to.name);
    match fs.link(from, to) {
        Ok(()) => return Ok(true),
        Err(Errno::EXIST) => return Ok(false),
        Err(Errno::XDEV | Errno::PERM | Errno::MLINK) => {}
        Err(errno) => return Err(failed("link", path)(errno)),
    }
    let mut new = OsString::from("tmp_obj_endow_");
    new.push(to.name);
    forget(fs, objects, &new)?;
    let copied = copy(fs, from, At { dir: objects, name: &new });
    copied.map_err(failed("copy", path))?;
    match fs.rename_new(At { dir: objects, name: &new }, to) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => forget(fs, objects, &new).map(|()| false),
        Err(errno) => Err(failed("name", path)(errno)),
    }
}

fn copy(fs: &dyn Fs, from: At<'_>, to: At<'_>) -> Result<(), Errno> {
    let (source, target) = (fs.open_file(from.dir, from.name)?, fs.create_file(to.dir, to.name)?);
    let (mut buffer, mut at) = (vec![0; usize::try_from(CHUNK).unwrap_or(0)], 0);
    loop {
        match fs.read_at(source.as_fd(), &mut buffer, at)? {
            0 => break,
            read => {
                write_all(fs, target.as_fd(), buffer.get(..read).unwrap_or_default())?;
                at += read as u64;
            }
        }
    }
    fs.set_mode(target.as_fd(), 0o444)
}

/// Returns whether a commit is `old` or has it among its ancestors.
///
/// # Errors
/// A commit can't be read.
pub fn descends(repository: &Repository, commit: &Id, old: &Id) -> Result<bool, GitError> {
    let (mut reader, mut bytes) = (repository.reader(), Vec::new());
    commit::comes_after(commit, old, &mut |id| -> Result<_, GitError> {
        match reader.object(id, ObjectKind::Commit, STRUCTURE_MAX, &mut bytes) {
            Ok(()) => Ok(commit::parents(&bytes)),
            // A shallow clone's history ends somewhere.
            Err(GitError::Missing { id: missing }) if missing != *commit => Ok(Vec::new()),
            Err(other) => Err(other),
        }
    })
}

pub(super) fn forget(fs: &dyn Fs, dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), LandError> {
    match fs.unlink(dir, name) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed("remove", Path::new(name))(errno)),
    }
}

pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(Errno) -> LandError + use<> {
    let path = path.to_owned();
    move |errno| LandError::Io { action, path, errno }
}
