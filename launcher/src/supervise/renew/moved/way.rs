//! The directories that lead to where a name was.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use endow_vfs::fs::{At, Fs, Kind, Open, OsFs, Status};
use endow_vfs::opening::OpenedUp;
use rustix::fs::{AtFlags, Gid, Uid, chownat, fstat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::geteuid;

/// A way that is being made free, for a name that is in another directory meanwhile.
pub(super) struct Way<'a> {
    /// Where the name is: what is made is made like it, and what stands in the way is put there.
    from: BorrowedFd<'a>,
    model: Status,
    /// Directories that were made.
    made: Vec<(OwnedFd, OsString)>,
    /// Those that are open for a while.
    opened: Vec<OpenedUp<'static>>,
    /// What stood in the way, and where.
    aside: Option<Aside>,
    /// Whether something may be put aside.
    may_displace: bool,
}

/// What was put aside.
struct Aside {
    /// The directory it was in.
    above: OwnedFd,
    was: OsString,
    is: OsString,
}

/// How many names are tried for what is put aside.
const NAMES: usize = 100;

impl<'a> Way<'a> {
    pub(super) fn from(from: BorrowedFd<'a>, may_displace: bool) -> Result<Self, Errno> {
        let model = OsFs.status_of(from)?;
        Ok(Self { from, model, made: Vec::new(), opened: Vec::new(), aside: None, may_displace })
    }

    /// Opens a directory below the root of a mount, and makes what is missing of it.
    pub(super) fn lead(&mut self, root: OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
        let mut at = self.enter(root)?;
        for name in path {
            let next = match open(&at, name) {
                Err(Errno::NOENT) => self.make(&at, name),
                Err(Errno::NOTDIR | Errno::LOOP) if self.may_displace => {
                    self.put_aside(&at, name)?;
                    self.make(&at, name)
                }
                opened => opened,
            };
            at = self.enter(next?)?;
        }
        Ok(at)
    }

    /// Returns the name of what stood in the way; it is where the name was.
    pub(super) fn aside(&self) -> Option<OsString> {
        self.aside.as_ref().map(|aside| aside.is.clone())
    }

    /// Takes back what was made and put aside, so that all is as it was.
    pub(super) fn take_back(&self) {
        for (above, name) in self.made.iter().rev() {
            // One that holds something by now stays.
            let _ = OsFs.remove_dir(above.as_fd(), name);
        }
        if let Some(Aside { above, was, is }) = &self.aside {
            // Where something else stands there by now, it stays where it is.
            let from = At { dir: self.from, name: is };
            let _ = OsFs.rename_new(from, At { dir: above.as_fd(), name: was });
        }
    }

    /// Opens up what the command may have closed to its owner.
    fn enter(&mut self, directory: OwnedFd) -> Result<OwnedFd, Errno> {
        let at = fcntl_dupfd_cloexec(&directory, 0)?;
        let opened = OpenedUp::of(&OsFs, directory)?;
        self.opened.extend(opened.was_closed().then_some(opened));
        Ok(at)
    }

    /// Makes a directory. As root, it belongs to whoever has the one that the name is in.
    fn make(&mut self, above: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
        OsFs.make_dir(above.as_fd(), name, 0o700)?;
        self.made.push((fcntl_dupfd_cloexec(above, 0)?, name.to_owned()));
        let made = OsFs.open_below(above.as_fd(), Path::new(name), Open::List)?;
        if !is_new(&made)? {
            // Somebody has put another one in its place.
            return Err(Errno::STALE);
        }
        let itself = At { dir: made.as_fd(), name: OsStr::new("") };
        OsFs.set_mode_at(itself, (self.model.mode & 0o777) | 0o300)?;
        if geteuid().is_root() {
            let group = Gid::from_raw(fstat(above)?.st_gid);
            let owner = Some(Uid::from_raw(self.model.uid));
            chownat(&made, "", owner, Some(group), AtFlags::EMPTY_PATH)?;
        }
        Ok(made)
    }

    /// Moves a link or a file out of the way; there can be one, for all below it is made.
    fn put_aside(&mut self, at: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        if OsFs.status(at.as_fd(), name)?.kind == Kind::Directory {
            return Err(Errno::LOOP);
        }
        let above = fcntl_dupfd_cloexec(at, 0)?;
        for number in 0..NAMES {
            let mut to = name.to_owned();
            if number > 0 {
                to.push(format!(".{number}"));
            }
            match OsFs.rename_new(At { dir: at.as_fd(), name }, At { dir: self.from, name: &to }) {
                Err(Errno::EXIST) => {}
                moved => {
                    moved?;
                    self.aside = Some(Aside { above, was: name.to_owned(), is: to });
                    return Ok(());
                }
            }
        }
        Err(Errno::EXIST)
    }
}

/// Whether a directory is as this process makes them: its own, for nobody else, and empty.
fn is_new(directory: &OwnedFd) -> Result<bool, Errno> {
    let found = OsFs.status_of(directory.as_fd())?;
    let is_own = found.uid == geteuid().as_raw() && found.mode & 0o777 & !0o700 == 0;
    Ok(is_own && OsFs.list(directory.as_fd(), 1)?.is_empty())
}

fn open(at: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    OsFs.open_below(at.as_fd(), Path::new(name), Open::Handle)
}
