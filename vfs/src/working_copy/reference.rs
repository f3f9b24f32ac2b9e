//! One reference of the host's repository, set or taken away if it is still what it was.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::land::{LandError, failed, forget, make_dir_like};
use crate::fs::{At, Errno, Fs, Kind, Open, read_all, write_all};
use crate::git_dir::{is_reference, packed_refs};

const PACKED: &str = "packed-refs";
/// The largest file of one reference.
const REFERENCE_MAX: u64 = 4096;

/// What became of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The reference was set.
    Now,
    /// The reference was what it was to be before.
    Before,
}

/// Sets a reference to an object if it is `expected` still; `None` is one that is not there.
///
/// # Errors
/// The reference names another object, somebody changes it, or a call fails: it stays as it is then.
pub fn put_reference(
    fs: &dyn Fs,
    git: BorrowedFd<'_>,
    name: &str,
    (expected, new): (Option<&str>, &str),
) -> Result<Landed, LandError> {
    let lock = Lock::of_reference(fs, git, name)?;
    let found = current(fs, git, &lock.dir, Path::new(name))?;
    if found.as_deref() == Some(new) {
        return lock.release().map(|()| Landed::Before);
    }
    if found.as_deref() != expected {
        lock.release()?;
        return Err(LandError::Moved { name: name.to_owned(), found });
    }
    alone(&packed(fs, git)?, name)?;
    lock.clear()?;
    lock.write(format!("{new}\n").as_bytes())?;
    Ok(Landed::Now)
}

/// Returns what a reference names.
///
/// # Errors
/// A failing call, or something else in its place.
pub fn reference(
    fs: &dyn Fs,
    git: BorrowedFd<'_>,
    name: &str,
) -> Result<Option<String>, LandError> {
    let whole = Path::new(name);
    let above = whole.parent().unwrap_or(Path::new(""));
    match fs.open_below(git, above, Open::Handle) {
        Ok(dir) => current(fs, git, &dir, whole),
        Err(Errno::NOENT | Errno::NOTDIR) => of_packed(fs, git, whole),
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
        // A directory is of references that were below it.
        Ok(status) if status.kind == Kind::Directory => of_packed(fs, git, whole),
        Ok(_) => Err(failed("use", whole)(Errno::INVAL)),
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
/// The reference names another object, somebody changes it, or a call fails.
pub fn take_reference(
    fs: &dyn Fs,
    git: BorrowedFd<'_>,
    name: &str,
    expected: &str,
) -> Result<(), LandError> {
    let lock = Lock::of_reference(fs, git, name)?;
    let found = current(fs, git, &lock.dir, Path::new(name))?;
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

/// Checks that neither this reference nor a packed one would have to be a directory for the other.
fn alone(packed: &[u8], name: &str) -> Result<(), LandError> {
    let is_above = |one: &[u8], other: &[u8]| {
        other.strip_prefix(one).is_some_and(|rest| rest.starts_with(b"/"))
    };
    let mut names = packed_refs(packed).map(|(known, _)| known);
    let other =
        names.find(|known| is_above(known, name.as_bytes()) || is_above(name.as_bytes(), known));
    other.map_or(Ok(()), |other| Err(in_the_way(name, &String::from_utf8_lossy(other))))
}

fn in_the_way(name: &str, other: &str) -> LandError {
    LandError::InTheWay { name: name.to_owned(), other: other.to_owned() }
}

/// Git's own lock of a file: a file beside it, which becomes the file or is gone at the end.
struct Lock<'a> {
    fs: &'a dyn Fs,
    path: String,
    dir: OwnedFd,
    name: OsString,
    locked: OsString,
    file: OwnedFd,
    is_held: bool,
}

impl<'a> Lock<'a> {
    fn of_reference(fs: &'a dyn Fs, git: BorrowedFd<'_>, name: &str) -> Result<Self, LandError> {
        if !name.starts_with("refs/") || !is_reference(name) {
            return Err(failed("use the name", Path::new(name))(Errno::INVAL));
        }
        Self::take(fs, git, name)
    }

    fn take(fs: &'a dyn Fs, git: BorrowedFd<'_>, path: &str) -> Result<Self, LandError> {
        let whole = Path::new(path);
        let dir = way(fs, git, path)?;
        let name = whole.file_name().unwrap_or_default().to_owned();
        let mut locked = name.clone();
        locked.push(".lock");
        let file = match fs.create_file(dir.as_fd(), &locked) {
            Err(Errno::EXIST) => return Err(LandError::Locked { name: path.to_owned() }),
            created => created.map_err(failed("lock", whole))?,
        };
        Ok(Self { fs, path: path.to_owned(), dir, name, locked, file, is_held: true })
    }

    /// Takes empty directories away that stand in the place.
    fn clear(&self) -> Result<(), LandError> {
        let mut directories = vec![PathBuf::from(&self.name)];
        let (mut at, above) = (0, Path::new(&self.path).parent().unwrap_or(Path::new("")));
        while let Some(directory) = directories.get(at).cloned() {
            let opened = match self.fs.open_below(self.dir.as_fd(), &directory, Open::List) {
                Err(Errno::NOENT | Errno::NOTDIR) if at == 0 => return Ok(()),
                opened => opened.map_err(failed("open", &above.join(&directory)))?,
            };
            let entries = self.fs.list(opened.as_fd(), usize::MAX);
            let entries = entries.map_err(failed("list", &above.join(&directory)))?;
            let other = entries.iter().find(|entry| entry.kind != Some(Kind::Directory));
            if let Some(other) = other.map(|other| above.join(&directory).join(&other.name)) {
                return Err(in_the_way(&self.path, &other.to_string_lossy()));
            }
            directories.extend(entries.into_iter().map(|entry| directory.join(entry.name)));
            at += 1;
        }
        let mut directories = directories.iter().rev();
        directories.try_for_each(|directory| {
            let removed = self.fs.remove_dir(self.dir.as_fd(), directory.as_os_str());
            removed.map_err(failed("remove", &above.join(directory)))
        })
    }

    /// Writes what becomes the file, with the bits of the one that it replaces.
    fn write(mut self, text: &[u8]) -> Result<(), LandError> {
        let file = self.file.as_fd();
        let before = self.fs.status(self.dir.as_fd(), &self.name).ok();
        let before = before.filter(|status| status.kind == Kind::File);
        let mode = before.map_or(0o644, |status| status.mode);
        let written = write_all(self.fs, file, text)
            .and_then(|()| self.fs.set_mode(file, mode))
            .and_then(|()| self.fs.sync_file(file))
            .and_then(|()| self.fs.rename(self.dir.as_fd(), &self.locked, &self.name));
        self.is_held = written.is_err();
        written.map_err(failed("write", Path::new(&self.path)))
    }

    fn release(mut self) -> Result<(), LandError> {
        self.is_held = false;
        forget(self.fs, self.dir.as_fd(), &self.locked)
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        if self.is_held {
            // The first error counts; a lock that stays is told of by whoever meets it.
            let _ = self.fs.unlink(self.dir.as_fd(), &self.locked);
        }
    }
}

/// Opens the directory of a path, through no link, and makes what is not there.
fn way(fs: &dyn Fs, git: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, LandError> {
    let above = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut dir =
        fs.open_below(git, Path::new("."), Open::Handle).map_err(failed("open", above))?;
    let mut known = PathBuf::new();
    for name in above {
        known.push(name);
        make_dir_like(fs, At { dir: dir.as_fd(), name }, &known)?;
        dir = match fs.open_below(dir.as_fd(), Path::new(name), Open::Handle) {
            Err(Errno::NOTDIR) => return Err(in_the_way(path, &known.to_string_lossy())),
            opened => opened.map_err(failed("open", &known))?,
        };
    }
    Ok(dir)
}
