//! Putting what was captured into the host's repository, before one reference names it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use gix_object::Kind as ObjectKind;

use super::commit;
use super::order::{Name, in_order};
use crate::fs::{At, Errno, Fs, Kind, Open, write_all};
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
/// landing that is cut off nothing is there that leads to what is not. What it has stays as it is, but for
/// files without a byte: a loss of power leaves such ones.
///
/// # Errors
/// A failing call; objects that nothing names yet may be left.
pub fn land_objects(
    fs: &dyn Fs,
    staging: BorrowedFd<'_>,
    objects: BorrowedFd<'_>,
) -> Result<u64, LandError> {
    let mut landing = Landing { fs, staging, objects, copied: Vec::new(), landed: 0 };
    let landed = in_order(fs, staging)?.iter().try_for_each(|name| landing.put(name));
    if let Err(error) = landed.and_then(|()| landing.name_copies()) {
        // What is left of them now is taken away by git.
        let left = landing.copied.iter().map(|(_, name)| copy_name(name));
        left.for_each(|name| drop(forget(fs, objects, &name)));
        return Err(error);
    }
    // A reference must name nothing that a loss of power takes away.
    landing.sync()?;
    Ok(landing.landed)
}

struct Landing<'a> {
    fs: &'a dyn Fs,
    staging: BorrowedFd<'a>,
    objects: BorrowedFd<'a>,
    /// What could not be linked, and has no name of an object yet.
    copied: Vec<Name>,
    /// How many objects were not there.
    landed: u64,
}

impl Landing<'_> {
    fn put(&mut self, name: &Name) -> Result<(), LandError> {
        let (fan, rest) = name;
        let path = Path::new(fan);
        make_dir_like(self.fs, At { dir: self.objects, name: fan }, path)?;
        let (from, to) = (self.open(self.staging, path)?, self.open(self.objects, path)?);
        let place = |dir| At { dir, name: rest };
        let (from, to) = (place(from.as_fd()), place(to.as_fd()));
        if self.is_there(to)? {
            return Ok(());
        }
        // One that comes later may lead to one that is copied, and waits as that does.
        if self.copied.is_empty() {
            match self.fs.link(from, to) {
                Ok(()) => {
                    self.landed += 1;
                    return Ok(());
                }
                Err(Errno::EXIST) => return Ok(()),
                Err(Errno::XDEV | Errno::PERM | Errno::MLINK) => {}
                Err(errno) => return Err(failed("link", Path::new(rest))(errno)),
            }
        }
        let new = copy_name(rest);
        forget(self.fs, self.objects, &new)?;
        self.copied.push(name.clone());
        let copied = copy(self.fs, from, At { dir: self.objects, name: &new });
        copied.map_err(failed("copy", Path::new(rest)))
    }

    fn is_there(&self, at: At<'_>) -> Result<bool, LandError> {
        match self.fs.status(at.dir, at.name) {
            Err(Errno::NOENT) => Ok(false),
            Ok(status) if status.kind == Kind::File && status.size == 0 => {
                forget(self.fs, at.dir, at.name).map(|()| false)
            }
            found => found.map(|_| true).map_err(failed("look at", Path::new(at.name))),
        }
    }

    /// Gives copies their names, once all their bytes are on the disk: git takes what has one for whole.
    fn name_copies(&mut self) -> Result<(), LandError> {
        if self.copied.is_empty() {
            return Ok(());
        }
        self.sync()?;
        for (fan, name) in &self.copied {
            let (to, new) = (self.open(self.objects, Path::new(fan))?, copy_name(name));
            let from = At { dir: self.objects, name: &new };
            match self.fs.rename_new(from, At { dir: to.as_fd(), name }) {
                Ok(()) => self.landed += 1,
                Err(Errno::EXIST) => forget(self.fs, self.objects, &new)?,
                Err(errno) => return Err(failed("name", Path::new(name))(errno)),
            }
        }
        Ok(())
    }

    fn open(&self, at: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, LandError> {
        self.fs.open_below(at, path, Open::Handle).map_err(failed("open", path))
    }

    fn sync(&self) -> Result<(), LandError> {
        let path = Path::new("objects");
        let open = self.fs.open_below(self.objects, Path::new("."), Open::List);
        let open = open.map_err(failed("open", path))?;
        self.fs.sync_all(open.as_fd()).map_err(failed("write out", path))
    }
}

/// Returns what a copy is called, as git calls objects that it is writing.
fn copy_name(name: &OsStr) -> OsString {
    let mut new = OsString::from("tmp_obj_endow_");
    new.push(name);
    new
}

/// Makes a directory unless it is there, with the bits of the one above it: others may be meant to write there.
pub(super) fn make_dir_like(fs: &dyn Fs, at: At<'_>, path: &Path) -> Result<(), LandError> {
    let failed = || failed("make", path);
    match fs.make_dir(at.dir, at.name, 0o700) {
        Err(Errno::EXIST) => return Ok(()),
        made => made.map_err(failed())?,
    }
    let above = fs.status_of(at.dir).map_err(failed())?;
    fs.set_dir_mode(at.dir, at.name, above.mode).map_err(failed())
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
