//! Putting what was captured into the host's repository: objects first, then one reference that
//! names them, if that is still what it was.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use gix_object::Kind as ObjectKind;

use super::commit;
use crate::fs::{At, Errno, Fs, Kind, Open, read_all, write_all};
use crate::git_dir::{is_object_name, packed_refs};
use crate::git_tree::{GitError, Id, Repository, STRUCTURE_MAX};

const PACKED: &str = "packed-refs";
const CHUNK: u64 = 1 << 20;
/// The largest file of one reference.
const REFERENCE_MAX: u64 = 4096;

/// What became of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// It is what it was to be.
    Now,
    /// It was that before.
    Before,
}

/// Why a reference can't be set.
#[derive(Debug, thiserror::Error)]
pub enum LandError {
    /// It is another one by now.
    #[error("{name} is {} by now", found.as_deref().unwrap_or("gone"))]
    Moved {
        /// The reference.
        name: String,
        /// What it names.
        found: Option<String>,
    },
    /// Somebody is changing it.
    #[error("{name} is locked: another program changes it, or one that died left {name}.lock")]
    Locked {
        /// The reference.
        name: String,
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

/// Gives an object directory all objects that are staged. What it has stays as it is.
///
/// # Errors
/// A failing call; objects that nothing names yet may be left.
pub fn land_objects(
    fs: &dyn Fs,
    staging: BorrowedFd<'_>,
    objects: BorrowedFd<'_>,
) -> Result<u64, LandError> {
    let mut landed = 0;
    for fan in names(fs, staging, Path::new("."))? {
        let path = Path::new(&fan);
        is_object(&fan, "").then_some(()).ok_or(Errno::INVAL).map_err(failed("use", path))?;
        match fs.make_dir(objects, &fan, 0o755) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("make", path)(errno)),
        }
        let open = |at| fs.open_below(at, path, Open::Handle).map_err(failed("open", path));
        let (from, to) = (open(staging)?, open(objects)?);
        for name in names(fs, staging, path)? {
            let whole = path.join(&name);
            let is_one = name.to_str().is_some_and(|rest| is_object(&fan, rest));
            is_one.then_some(()).ok_or(Errno::INVAL).map_err(failed("use", &whole))?;
            let place = |dir| At { dir, name: &name };
            landed += u64::from(land(fs, place(from.as_fd()), place(to.as_fd()), objects)?);
        }
    }
    // A reference must name nothing that a loss of power takes away.
    let open = fs.open_below(objects, Path::new("."), Open::List);
    let open = open.map_err(failed("open", Path::new("objects")))?;
    fs.sync_all(open.as_fd()).map_err(failed("write out", Path::new("objects")))?;
    Ok(landed)
}

/// Returns whether these are the parts of an object's name, the second of which may not be known.
fn is_object(first: &OsStr, rest: &str) -> bool {
    let Some(first) = first.to_str().filter(|first| first.len() == 2) else { return false };
    let rest = if rest.is_empty() { "0".repeat(38) } else { rest.to_owned() };
    is_object_name(format!("{first}{rest}").as_bytes())
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

/// Sets a reference to an object if it is `expected` still; `None` is one that is not there.
///
/// # Errors
/// It is another one, somebody changes it, or a call fails: it stays as it is then.
pub fn put_reference(
    fs: &dyn Fs,
    git: BorrowedFd<'_>,
    name: &str,
    (expected, new): (Option<&str>, &str),
) -> Result<Landed, LandError> {
    let lock = Lock::take(fs, git, name)?;
    let found = current(fs, git, &lock.dir, &lock.path)?;
    if found.as_deref() == Some(new) {
        return lock.release().map(|()| Landed::Before);
    }
    if found.as_deref() != expected {
        lock.release()?;
        return Err(LandError::Moved { name: name.to_owned(), found });
    }
    lock.write(format!("{new}\n").as_bytes())?;
    Ok(Landed::Now)
}

/// Returns what a reference names.
///
/// # Errors
/// A failing call, or a directory in its place.
pub fn reference(
    fs: &dyn Fs,
    git: BorrowedFd<'_>,
    name: &str,
) -> Result<Option<String>, LandError> {
    let whole = Path::new(name);
    let above = whole.parent().unwrap_or(Path::new(""));
    match fs.open_below(git, above, Open::Handle) {
        Ok(dir) => current(fs, git, &dir, whole),
        Err(Errno::NOENT) => of_packed(fs, git, whole),
        Err(errno) => Err(failed("open", above)(errno)),
    }
}

fn current(
    fs: &dyn Fs,
    git: BorrowedFd<'_>,
    dir: &OwnedFd,
    whole: &Path,
) -> Result<Option<String>, LandError> {
    let name = whole.file_name().unwrap_or_default();
    match fs.status(dir.as_fd(), name) {
        Ok(status) if status.kind == Kind::File && status.size <= REFERENCE_MAX => {
            let text = read_all(fs, dir.as_fd(), Path::new(name)).map_err(failed("read", whole))?;
            Ok(Some(String::from_utf8_lossy(text.trim_ascii_end()).into_owned()))
        }
        Ok(_) => Err(failed("use", whole)(Errno::ISDIR)),
        Err(Errno::NOENT) => of_packed(fs, git, whole),
        Err(errno) => Err(failed("look at", whole)(errno)),
    }
}

fn of_packed(fs: &dyn Fs, git: BorrowedFd<'_>, name: &Path) -> Result<Option<String>, LandError> {
    let (text, name) = (packed(fs, git)?, name.as_os_str().as_encoded_bytes());
    let found = packed_refs(&text).find(|(known, _)| *known == name);
    Ok(found.map(|(_, id)| String::from_utf8_lossy(id).into_owned()))
}

/// Removes a reference if it is `expected` still, in whichever of the two places it stands; one
/// that is gone is no error.
///
/// # Errors
/// It is another one, somebody changes it, or a call fails.
pub fn take_reference(
    fs: &dyn Fs,
    git: BorrowedFd<'_>,
    name: &str,
    expected: &str,
) -> Result<(), LandError> {
    let lock = Lock::take(fs, git, name)?;
    let found = current(fs, git, &lock.dir, &lock.path)?;
    if found.is_none() {
        return lock.release();
    }
    if found.as_deref() != Some(expected) {
        lock.release()?;
        return Err(LandError::Moved { name: name.to_owned(), found });
    }
    forget_packed(fs, git, name)?;
    forget(fs, lock.dir.as_fd(), &lock.name)?;
    lock.release()
}

/// Takes a line out of `packed-refs`.
fn forget_packed(fs: &dyn Fs, git: BorrowedFd<'_>, name: &str) -> Result<(), LandError> {
    let text = packed(fs, git)?;
    if !packed_refs(&text).any(|(known, _)| known == name.as_bytes()) {
        return Ok(());
    }
    let lock = Lock::take(fs, git, PACKED)?;
    let text = packed(fs, git)?;
    let (mut kept, mut is_ours) = (Vec::with_capacity(text.len()), false);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        // The line below a tag says what it stands for.
        is_ours = match line.first() {
            Some(b'^') => is_ours,
            _ => packed_refs(line).any(|(known, _)| known == name.as_bytes()),
        };
        if !is_ours {
            kept.extend_from_slice(line);
        }
    }
    lock.write(&kept)
}

fn packed(fs: &dyn Fs, git: BorrowedFd<'_>) -> Result<Vec<u8>, LandError> {
    match read_all(fs, git, Path::new(PACKED)) {
        Err(Errno::NOENT) => Ok(Vec::new()),
        read => read.map_err(failed("read", Path::new(PACKED))),
    }
}

/// Git's own lock of a file: a file beside it, which becomes the file.
struct Lock<'a> {
    fs: &'a dyn Fs,
    path: PathBuf,
    dir: OwnedFd,
    name: OsString,
    locked: OsString,
    file: OwnedFd,
}

impl<'a> Lock<'a> {
    fn take(fs: &'a dyn Fs, git: BorrowedFd<'_>, path: &str) -> Result<Self, LandError> {
        let whole = Path::new(path);
        let above = whole.parent().filter(|above| !above.as_os_str().is_empty());
        let dir = way(fs, git, above.unwrap_or(Path::new("")))?;
        let name = whole.file_name().unwrap_or_default().to_owned();
        let mut locked = name.clone();
        locked.push(".lock");
        let file = match fs.create_file(dir.as_fd(), &locked) {
            Err(Errno::EXIST) => return Err(LandError::Locked { name: path.to_owned() }),
            created => created.map_err(failed("lock", whole))?,
        };
        Ok(Self { fs, path: whole.to_owned(), dir, name, locked, file })
    }

    fn write(self, text: &[u8]) -> Result<(), LandError> {
        let file = self.file.as_fd();
        let written = write_all(self.fs, file, text)
            .and_then(|()| self.fs.set_mode(file, 0o644))
            .and_then(|()| self.fs.sync_file(file))
            .and_then(|()| self.fs.rename(self.dir.as_fd(), &self.locked, &self.name));
        written.map_err(|errno| {
            // The first error counts; a lock that stays is told of by whoever meets it.
            let _ = self.fs.unlink(self.dir.as_fd(), &self.locked);
            failed("write", &self.path)(errno)
        })
    }

    fn release(self) -> Result<(), LandError> {
        forget(self.fs, self.dir.as_fd(), &self.locked)
    }
}

/// Opens a directory below, through no link, and makes what is not there.
fn way(fs: &dyn Fs, git: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, LandError> {
    let mut dir = fs.open_below(git, Path::new("."), Open::Handle).map_err(failed("open", path))?;
    for name in path {
        match fs.make_dir(dir.as_fd(), name, 0o755) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("make", path)(errno)),
        }
        let next = fs.open_below(dir.as_fd(), Path::new(name), Open::Handle);
        dir = next.map_err(failed("open", path))?;
    }
    Ok(dir)
}

/// Returns whether a commit is `old` or has it among its ancestors.
///
/// # Errors
/// A commit can't be read.
pub fn descends(repository: &Repository, commit: &Id, old: &Id) -> Result<bool, GitError> {
    let (mut reader, mut bytes) = (repository.reader(), Vec::new());
    commit::comes_after(commit, old, &mut |id| -> Result<_, GitError> {
        reader.object(id, ObjectKind::Commit, STRUCTURE_MAX, &mut bytes)?;
        Ok(commit::parents(&bytes))
    })
}

fn names(fs: &dyn Fs, dir: BorrowedFd<'_>, path: &Path) -> Result<Vec<OsString>, LandError> {
    let opened = fs.open_below(dir, path, Open::List).map_err(failed("open", path))?;
    let entries = fs.list(opened.as_fd(), usize::MAX).map_err(failed("list", path))?;
    Ok(entries.into_iter().map(|entry| entry.name).collect())
}

fn forget(fs: &dyn Fs, dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), LandError> {
    match fs.unlink(dir, name) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed("remove", Path::new(name))(errno)),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(Errno) -> LandError + use<> {
    let path = path.to_owned();
    move |errno| LandError::Io { action, path, errno }
}
