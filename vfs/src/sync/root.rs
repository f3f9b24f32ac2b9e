//! Directories by their paths below an open root.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::fs::{At, Errno, Fs, Open, Result};

/// The longest path handed to the kernel at once; its own bound is 4096 with the end.
const LONGEST: usize = 3800;
/// What an owner needs to list a directory, and to name things in it.
pub(super) const OPEN: u32 = 0o700;

/// An open directory at or below a root.
#[derive(Clone, Debug)]
pub(crate) enum Dir<'a> {
    Root(BorrowedFd<'a>),
    Below(Rc<OwnedFd>),
}

impl AsFd for Dir<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(root) => *root,
            Self::Below(dir) => dir.as_fd(),
        }
    }
}

impl Dir<'_> {
    pub(crate) fn at<'b>(&'b self, name: &'b OsStr) -> At<'b> {
        At { dir: self.as_fd(), name }
    }
}

/// What becomes of directories whose bits keep their owner out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// They stay closed.
    Stay,
    /// They are opened, and closed again at the end.
    Open,
}

/// A root, and the directory below it that was opened last: neighbours are opened in order, so
/// one is enough and the number of descriptors does not grow with the depth.
pub(crate) struct Root<'a> {
    fs: &'a dyn Fs,
    top: BorrowedFd<'a>,
    closed: Closed,
    last: Option<(PathBuf, Rc<OwnedFd>)>,
    opened: Vec<Opened>,
}

/// A directory that is open meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) ino: u64,
    /// The bits it had.
    pub(crate) mode: u32,
}

/// The directory above one that was closed, by its path.
type Above = (PathBuf, OwnedFd);

impl<'a> Root<'a> {
    pub(crate) fn new(fs: &'a dyn Fs, top: BorrowedFd<'a>, closed: Closed) -> Self {
        Self { fs, top, closed, last: None, opened: Vec::new() }
    }

    /// Opens a handle of a directory.
    pub(crate) fn dir(&mut self, path: &Path) -> Result<Dir<'a>> {
        let (known, rest) = self.nearest(path);
        if rest.is_empty() {
            return Ok(known);
        }
        let dir = match self.walk(known, rest) {
            Err(Errno::ACCESS) if self.closed == Closed::Open => {
                self.open_up(path)?;
                let (known, rest) = self.nearest(path);
                self.walk(known, rest)?
            }
            result => result?,
        };
        self.remember(path, &dir);
        Ok(dir)
    }

    /// Opens a directory for listing.
    pub(crate) fn list(&mut self, path: &Path) -> Result<OwnedFd> {
        let dir = self.dir(path)?;
        match self.fs.open_below(dir.as_fd(), Path::new("."), Open::List) {
            Err(Errno::ACCESS) if self.closed == Closed::Open => {
                self.open_up(path)?;
                self.fs.open_below(dir.as_fd(), Path::new("."), Open::List)
            }
            result => result,
        }
    }

    /// Opens the directory that a path's last name is in, and returns that name.
    pub(crate) fn above<'p>(&mut self, path: &'p Path) -> Result<(Dir<'a>, &'p OsStr)> {
        match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => Ok((self.dir(above)?, name)),
            _ => Ok((Dir::Root(self.top), OsStr::new("."))),
        }
    }

    /// From now on, opens what keeps its owner out.
    pub(crate) fn opens_closed(&mut self) {
        self.closed = Closed::Open;
    }

    /// Forgets what is open, since a directory of this path may be another one now.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// Makes the directory writable for its owner, and those that lead to it from the one that was
    /// opened last, or from the root; tells whether anything was to do. Each is opened from the one
    /// above it, so that all of a chain cost no more calls than it has names.
    pub(crate) fn open_up(&mut self, path: &Path) -> Result<bool> {
        let before = self.opened.len();
        let (mut dir, mut rest) = self.nearest(path);
        self.open_one(&dir, path, rest)?;
        while let Some((name, more)) = first_name(rest) {
            let next = match self.fs.open_below(dir.as_fd(), Path::new(name), Open::Handle) {
                // Something else is not closed.
                Err(Errno::NOTDIR | Errno::LOOP) if more.is_empty() => {
                    return Ok(self.opened.len() > before);
                }
                result => result?,
            };
            (dir, rest) = (Dir::Below(Rc::new(next)), more);
            self.open_one(&dir, path, rest)?;
        }
        self.remember(path, &dir);
        Ok(self.opened.len() > before)
    }

    /// Opens up a directory on the way to a path, by its handle: whatever is renamed meanwhile, no
    /// other one gets bits.
    fn open_one(&mut self, dir: &Dir<'_>, path: &Path, rest: &[u8]) -> Result<()> {
        let status = self.fs.node(dir.as_fd(), OsStr::new(""))?.status;
        if status.mode & OPEN == OPEN {
            return Ok(());
        }
        self.fs.set_mode_at(dir.at(OsStr::new("")), status.mode | OPEN)?;
        let (path, ino, mode) = (without(path, rest).to_owned(), status.id.ino, status.mode);
        self.opened.push(Opened { path, ino, mode });
        Ok(())
    }

    /// Notes that a directory may have been opened up by a process that was killed.
    pub(crate) fn was_open(&mut self, opened: Opened) {
        self.opened.extend(Some(opened).filter(|opened| opened.mode & OPEN != OPEN));
    }

    /// Returns the directories that are open now, with the bits they had.
    pub(crate) fn into_opened(self) -> Vec<Opened> {
        self.opened
    }

    /// Returns the bits of a directory from before it was opened up.
    pub(crate) fn opened(&self, path: &Path, ino: u64) -> Option<u32> {
        let known = self.opened.iter().find(|it| it.ino == ino && it.is_at(path));
        known.map(|opened| opened.mode)
    }

    /// Notes that a directory gets other bits than it had when it was opened up.
    pub(crate) fn will_have(&mut self, path: &Path, mode: u32) {
        let known = self.opened.iter_mut().filter(|opened| opened.is_at(path));
        known.for_each(|opened| opened.mode = mode);
    }

    /// Gives the directories that were opened up their bits again, where they still stand.
    pub(crate) fn close(&mut self) -> Result<()> {
        let (mut result, mut above) = (Ok(()), None);
        while let Some(opened) = self.opened.pop() {
            let mut closed = self.close_one(&opened, &mut above);
            if closed == Err(Errno::ACCESS) {
                // One above was closed meanwhile; opened up, it is the next that is closed again.
                let way = opened.path.parent().unwrap_or(Path::new(""));
                closed = self.open_up(way).and_then(|_| self.close_one(&opened, &mut above));
            }
            if !matches!(closed, Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) {
                result = result.and(closed);
            }
        }
        result
    }

    /// Closes a directory, and finds the one above it, which is mostly the next: those of a chain
    /// are not looked for from the root, one after the other.
    fn close_one(&mut self, opened: &Opened, above: &mut Option<Above>) -> Result<()> {
        let next = above.take().filter(|(path, _)| opened.is_at(path));
        let next = next.filter(|(_, next)| self.is_it(next.as_fd(), opened) == Ok(true));
        let dir = match next {
            Some((_, next)) => Dir::Below(Rc::new(next)),
            None => self.dir(&opened.path)?,
        };
        if !self.is_it(dir.as_fd(), opened)? {
            return Ok(());
        }
        if let Some(path) = opened.path.parent() {
            let handle = self.fs.open_handle(dir.as_fd(), OsStr::new("..")).ok();
            *above = handle.map(|handle| (path.to_owned(), handle));
        }
        self.fs.set_mode_at(dir.at(OsStr::new("")), opened.mode)
    }

    fn is_it(&self, dir: BorrowedFd<'_>, opened: &Opened) -> Result<bool> {
        Ok(self.fs.node(dir, OsStr::new(""))?.status.id.ino == opened.ino)
    }

    /// Returns the directory on the way to a path that is open already, and the names that follow.
    fn nearest<'p>(&self, path: &'p Path) -> (Dir<'a>, &'p [u8]) {
        let whole = path.as_os_str().as_bytes();
        let known = self.last.as_ref().and_then(|(known, dir)| {
            let rest = whole.strip_prefix(known.as_os_str().as_bytes())?;
            let rest = if rest.is_empty() { rest } else { rest.strip_prefix(b"/")? };
            Some((Dir::Below(Rc::clone(dir)), rest))
        });
        known.unwrap_or((Dir::Root(self.top), whole))
    }

    fn remember(&mut self, path: &Path, dir: &Dir<'_>) {
        if let (Dir::Below(dir), false) = (dir, path.as_os_str().is_empty()) {
            self.last = Some((path.to_owned(), Rc::clone(dir)));
        }
    }

    fn walk(&self, mut dir: Dir<'a>, mut rest: &[u8]) -> Result<Dir<'a>> {
        while !rest.is_empty() {
            let (part, more) = first_part(rest);
            let part = Path::new(OsStr::from_bytes(part));
            dir = Dir::Below(Rc::new(self.fs.open_below(dir.as_fd(), part, Open::Handle)?));
            rest = more;
        }
        Ok(dir)
    }
}

impl Opened {
    /// Compared byte by byte: of two paths of a chain all names are equal but the last.
    fn is_at(&self, path: &Path) -> bool {
        self.path.as_os_str() == path.as_os_str()
    }
}

/// Returns what of a path leads to where `rest` of it begins.
fn without<'p>(path: &'p Path, rest: &[u8]) -> &'p Path {
    let whole = path.as_os_str().as_bytes();
    let before = whole.strip_suffix(rest).unwrap_or(whole);
    Path::new(OsStr::from_bytes(before.strip_suffix(b"/").unwrap_or(before)))
}

/// Takes as many names as the kernel reads at once, and what follows them.
fn first_part(path: &[u8]) -> (&[u8], &[u8]) {
    let cut = path.get(..LONGEST).and_then(|head| head.iter().rposition(|byte| *byte == b'/'));
    cut.and_then(|at| Some((path.get(..at)?, path.get(at + 1..)?))).unwrap_or((path, &[]))
}

/// Takes one name, and what follows it.
fn first_name(path: &[u8]) -> Option<(&OsStr, &[u8])> {
    let mut parts = path.splitn(2, |byte| *byte == b'/');
    let name = parts.next().filter(|name| !name.is_empty())?;
    Some((OsStr::from_bytes(name), parts.next().unwrap_or_default()))
}
