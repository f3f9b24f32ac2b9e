//! Moving a directory into the upper layer, through the overlay itself: its files are renamed into a
//! new directory, which then takes its place. Contents, modes and times stay.
//!
//! The command may change both directories meanwhile, and this process may do more than it. So every
//! call names one name in an open directory, none follows a link, and directories are opened only
//! within the mount: whatever is put in the way, nothing leaves the overlay.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_vfs::fs::is_acl;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, Timestamps, XattrFlags,
    fchmod, fgetxattr, flistxattr, fremovexattr, fsetxattr, fstat, futimens, mkdirat, openat2,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::apply::HalfWay;

/// The directory that is filled; it stands beside the one that is moved. The command may make such a
/// name as well: only the note tells.
const NEW: &str = ".endow-rename";
/// The deepest tree that is moved: each level is two open directories.
const LEVELS_MAX: usize = 200;
/// The most bytes that the kernel gives for a list of attributes, and for one of them (xattr(7)).
const LIST_MAX: usize = 65_536;
const VALUE_MAX: usize = 65_536;

/// What became of a directory that was not moved.
#[derive(Debug)]
enum Unmoved {
    /// Everything is where it was.
    Back(Errno),
    /// Some of it is in the new directory.
    HalfWay(Errno),
}

/// Moves the directory `name` of `parent` into the upper layer. On an error everything is where it
/// was, as far as the layer still takes changes; where it does not, the note stays.
pub(super) fn lift(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    note: Option<&HalfWay<'_>>,
) -> Result<(), Errno> {
    // The handle that names things can't be given times.
    let parent = &open(parent, OsStr::new("."))?;
    let before = fstat(parent)?;
    let old = open(parent.as_fd(), name)?;
    is_shallow(&old)?;
    note.map_or(Ok(()), HalfWay::begin)?;
    let replaced = replace(parent, &old, name);
    if !matches!(replaced, Err(Unmoved::HalfWay(_))) {
        note.map_or(Ok(()), HalfWay::end)?;
    }
    let timed = futimens(parent, &times(&before));
    replaced.map_err(|(Unmoved::Back(errno) | Unmoved::HalfWay(errno))| errno).and(timed)
}

fn replace(parent: &OwnedFd, old: &OwnedFd, name: &OsStr) -> Result<(), Unmoved> {
    mkdirat(parent, NEW, Mode::RWXU).map_err(Unmoved::Back)?;
    let new = open(parent.as_fd(), OsStr::new(NEW)).map_err(Unmoved::Back)?;
    let moved = pour(old, &new).and_then(|()| unlinkat(parent, name, AtFlags::REMOVEDIR));
    if let Err(errno) = moved {
        let back = pour(&new, old).and_then(|()| unlinkat(parent, NEW, AtFlags::REMOVEDIR));
        return Err(back.map_or_else(Unmoved::HalfWay, |()| Unmoved::Back(errno)));
    }
    renameat_with(parent, NEW, parent, name, RenameFlags::NOREPLACE).map_err(Unmoved::HalfWay)
}

/// Refuses a tree that is too deep before anything is changed.
fn is_shallow(top: &OwnedFd) -> Result<(), Errno> {
    let mut levels = vec![Dir::new(again(top)?)?];
    while let Some(level) = levels.last_mut() {
        let Some((name, is_directory)) = next(level)? else {
            levels.pop();
            continue;
        };
        if is_directory {
            let below = open(level.fd()?, &name)?;
            levels.push(Dir::new(below)?);
        }
        if levels.len() > LEVELS_MAX {
            return Err(Errno::NAMETOOLONG);
        }
    }
    Ok(())
}

/// A directory that is being emptied into another. Its names are read one after another: there may be
/// millions.
struct Level {
    from: Dir,
    to: OwnedFd,
    /// Its name in the one above.
    name: OsString,
    status: Stat,
}

impl Level {
    fn new(from: OwnedFd, to: OwnedFd, name: OsString) -> Result<Self, Errno> {
        let status = fstat(&from)?;
        Ok(Self { from: Dir::new(from)?, to, name, status })
    }

    /// Lets its owner take names out of it. It is emptied and goes, or `finish` gives it its mode when
    /// it is filled again.
    fn begin(&self) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(self.status.st_mode);
        if mode.contains(Mode::RWXU) { Ok(()) } else { fchmod(self.from.fd()?, mode | Mode::RWXU) }
    }

    /// Moves one entry; returns a directory that must be emptied first.
    fn step(&self, (name, is_directory): (&OsStr, bool)) -> Result<Option<Self>, Errno> {
        let from = self.from.fd()?;
        if !is_directory {
            renameat_with(from, name, &self.to, name, RenameFlags::NOREPLACE)?;
            return Ok(None);
        }
        let from = open(from, name)?;
        match mkdirat(&self.to, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let below = open(self.to.as_fd(), name);
        let below = below.and_then(|to| Self::new(from, to, name.to_owned()));
        // What stays would give its mode to the other one on the way back.
        if below.is_err() {
            let _ = unlinkat(&self.to, name, AtFlags::REMOVEDIR);
        }
        below.map(Some)
    }

    fn finish(&self) -> Result<(), Errno> {
        copy_attributes(self.from.fd()?, &self.to)?;
        self.keep_status()
    }

    /// What never changed is left alone: another user's directory takes neither, and then the way back
    /// would end here.
    fn keep_status(&self) -> Result<(), Errno> {
        let (now, kept) = (fstat(&self.to)?, &self.status);
        if now.st_mode != kept.st_mode {
            fchmod(&self.to, Mode::from_raw_mode(kept.st_mode))?;
        }
        let modified = |it: &Stat| (it.st_mtime, it.st_mtime_nsec);
        if modified(&now) == modified(kept) { Ok(()) } else { futimens(&self.to, &times(kept)) }
    }
}

/// Empties a directory into another, the directories below it too. Where it can't go on, each of those
/// it has begun with leaves its mode and times with the other one, which brings them back.
fn pour(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let mut levels = vec![Level::new(again(from)?, again(to)?, OsString::new())?];
    let poured = pour_levels(&mut levels);
    if poured.is_err() {
        for level in levels.iter().rev() {
            let _ = level.keep_status();
        }
    }
    poured
}

fn pour_levels(levels: &mut Vec<Level>) -> Result<(), Errno> {
    levels.first().map_or(Ok(()), Level::begin)?;
    while let Some(level) = levels.last_mut() {
        if let Some((name, is_directory)) = next(&mut level.from)? {
            if let Some(below) = level.step((&name, is_directory))? {
                levels.push(below);
                levels.last().map_or(Ok(()), Level::begin)?;
            }
            if levels.len() > LEVELS_MAX + 1 {
                return Err(Errno::NAMETOOLONG);
            }
            continue;
        }
        level.finish()?;
        let name = levels.pop().map(|level| level.name).unwrap_or_default();
        if let Some(above) = levels.last() {
            unlinkat(above.from.fd()?, &name, AtFlags::REMOVEDIR)?;
        }
    }
    Ok(())
}

fn again(directory: &OwnedFd) -> Result<OwnedFd, Errno> {
    open(directory.as_fd(), OsStr::new("."))
}

/// Returns the next name of a directory, and whether it is one itself. What was read and taken away does
/// not come again; what is missed makes the directory not empty, and is put back.
fn next(directory: &mut Dir) -> Result<Option<(OsString, bool)>, Errno> {
    while let Some(entry) = directory.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            let is_directory = is_directory(directory.fd()?, &name)?;
            return Ok(Some((name, is_directory)));
        }
    }
    Ok(None)
}

fn is_directory(at: BorrowedFd<'_>, name: &OsStr) -> Result<bool, Errno> {
    let status = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(status.st_mode) == FileType::Directory)
}

/// Copies the `user.` attributes and the ACLs; overlayfs shows none of its own.
fn copy_attributes(from: BorrowedFd<'_>, to: &OwnedFd) -> Result<(), Errno> {
    let (names, made) = (names(from)?, names(to.as_fd())?);
    // The one that was made has them of the directory above.
    for name in made.iter().filter(|name| is_acl(name) && !names.contains(name)) {
        fremovexattr(to, name.as_os_str())?;
    }
    let kept = names.iter().filter(|name| is_acl(name) || name.as_bytes().starts_with(b"user."));
    for name in kept.map(OsString::as_os_str) {
        let mut value = vec![0; VALUE_MAX];
        let length = fgetxattr(from, name, &mut value[..])?;
        value.truncate(length);
        fsetxattr(to, name, &value, XattrFlags::empty())?;
    }
    Ok(())
}

fn names(of: BorrowedFd<'_>) -> Result<Vec<OsString>, Errno> {
    let mut names = vec![0; LIST_MAX];
    let length = flistxattr(of, &mut names[..])?;
    let names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    Ok(names.map(|name| OsStr::from_bytes(name).to_owned()).collect())
}

fn times(status: &Stat) -> Timestamps {
    let time = |seconds, nanoseconds: u64| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
    };
    Timestamps {
        last_access: time(status.st_atime, status.st_atime_nsec),
        last_modification: time(status.st_mtime, status.st_mtime_nsec),
    }
}

/// Opens a directory by one name, through no link and into no other mount.
fn open(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    if name != "." && Path::new(name).file_name() != Some(name) {
        return Err(Errno::INVAL);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    openat2(at, name, flags, Mode::empty(), resolve)
}

#[cfg(test)]
mod tests;
