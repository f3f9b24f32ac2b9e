//! Moving a directory into the upper layer, through the overlay itself: its files are renamed into a
//! new directory, which then takes its place. Contents, modes and times stay.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, Timestamps, XattrFlags,
    chmodat, fgetxattr, flistxattr, fsetxattr, fstat, mkdirat, openat2, renameat_with, statat,
    unlinkat, utimensat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

/// The longest path below the directory: names are opened by it, and the kernel takes no longer
/// one.
const PATH_MAX: usize = 3900;

/// The most bytes that the kernel gives for a list of attributes, and for one of them (xattr(7)).
const LIST_MAX: usize = 65_536;
const VALUE_MAX: usize = 65_536;

/// Moves the directory `name` of `parent` into the upper layer. On an error everything is where it
/// was, as far as the layer still takes changes.
pub(super) fn lift(parent: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let mut new = OsString::from(".endow-rename-");
    new.push(std::process::id().to_string());
    let before = fstat(parent)?;
    let mut lifting = Lifting::look(parent, name)?;
    let result = lifting.make(parent, &new).and_then(|()| {
        lifting.move_all()?;
        lifting.replace(parent, name, &new)
    });
    if result.is_err() {
        lifting.move_back(parent, &new);
    }
    let times = times(&before);
    result.and(utimensat(parent, "", &times, AtFlags::EMPTY_PATH))
}

struct Lifting {
    old: OwnedFd,
    new: Option<OwnedFd>,
    /// The directory and those below it, each before what is in it.
    directories: Vec<(PathBuf, Stat)>,
    /// Everything else.
    others: Vec<PathBuf>,
    /// How many of the others were moved.
    moved: usize,
}

impl Lifting {
    /// Looks at all that is to be moved; nothing is changed.
    fn look(parent: &OwnedFd, name: &OsStr) -> Result<Self, Errno> {
        let old = open(parent.as_fd(), Path::new(name))?;
        let top = (PathBuf::new(), fstat(&old)?);
        let mut this =
            Self { old, new: None, directories: vec![top], others: Vec::new(), moved: 0 };
        let mut next = 0;
        while let Some((path, _)) = this.directories.get(next) {
            let path = path.clone();
            this.look_in(&path)?;
            next += 1;
        }
        Ok(this)
    }

    fn look_in(&mut self, path: &Path) -> Result<(), Errno> {
        let directory = open(self.old.as_fd(), path)?;
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let status = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let path = path.join(name);
            if path.as_os_str().len() > PATH_MAX {
                return Err(Errno::NAMETOOLONG);
            }
            if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
                self.directories.push((path, status));
            } else {
                self.others.push(path);
            }
        }
        Ok(())
    }

    fn make(&mut self, parent: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        mkdirat(parent, name, Mode::RWXU)?;
        let new = open(parent.as_fd(), Path::new(name))?;
        let mut below = self.directories.iter().skip(1);
        let made = below.try_for_each(|(path, _)| mkdirat(&new, path, Mode::RWXU));
        self.new = Some(new);
        made
    }

    fn move_all(&mut self) -> Result<(), Errno> {
        let new = self.new.as_ref().ok_or(Errno::BADF)?;
        for path in &self.others {
            renameat_with(&self.old, path, new, path, RenameFlags::NOREPLACE)?;
            self.moved += 1;
        }
        for (path, status) in self.directories.iter().rev() {
            copy_attributes(&self.old, new, path)?;
            copy_status(new.as_fd(), path, status)?;
        }
        Ok(())
    }

    /// Puts the new directory in the place of the old one, which is empty.
    fn replace(&self, parent: &OwnedFd, name: &OsStr, new: &OsStr) -> Result<(), Errno> {
        let below = self.directories.iter().skip(1).rev();
        for (path, _) in below {
            unlinkat(&self.old, path, AtFlags::REMOVEDIR)?;
        }
        unlinkat(parent, name, AtFlags::REMOVEDIR)?;
        renameat_with(parent, new, parent, name, RenameFlags::NOREPLACE)
    }

    /// Errors are left: the caller meets the kernel's refusal all the same.
    fn move_back(&self, parent: &OwnedFd, name: &OsStr) {
        let Some(new) = &self.new else { return };
        for (path, _) in self.directories.iter().skip(1) {
            let _ = mkdirat(&self.old, path, Mode::RWXU);
        }
        for path in self.others.iter().take(self.moved) {
            let _ = renameat_with(new, path, &self.old, path, RenameFlags::NOREPLACE);
        }
        for (path, status) in self.directories.iter().rev() {
            let _ = copy_status(self.old.as_fd(), path, status);
            let _ = if path.as_os_str().is_empty() {
                unlinkat(parent, name, AtFlags::REMOVEDIR)
            } else {
                unlinkat(new, path, AtFlags::REMOVEDIR)
            };
        }
    }
}

fn copy_status(root: BorrowedFd<'_>, path: &Path, status: &Stat) -> Result<(), Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    chmodat(root, path, Mode::from_raw_mode(status.st_mode), AtFlags::empty())?;
    utimensat(root, path, &times(status), AtFlags::SYMLINK_NOFOLLOW)
}

/// Copies the `user.` attributes; overlayfs shows none of its own.
fn copy_attributes(old: &OwnedFd, new: &OwnedFd, path: &Path) -> Result<(), Errno> {
    let (from, to) = (open(old.as_fd(), path)?, open(new.as_fd(), path)?);
    let mut names = vec![0; LIST_MAX];
    let length = flistxattr(&from, &mut names[..])?;
    names.truncate(length);
    let names = names.split(|byte| *byte == 0).filter(|name| name.starts_with(b"user."));
    for name in names.map(OsStr::from_bytes) {
        let mut value = vec![0; VALUE_MAX];
        let length = fgetxattr(&from, name, &mut value[..])?;
        value.truncate(length);
        fsetxattr(&to, name, &value, XattrFlags::empty())?;
    }
    Ok(())
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

/// Opens a directory below another, through no link and no mount.
fn open(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    openat2(root, path, flags, Mode::empty(), resolve)
}
