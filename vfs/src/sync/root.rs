//! Directories by their paths below an open root.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use crate::fs::{At, Errno, Fs, Kind, Open, Result};

/// The longest path handed to the kernel at once; its own bound is 4096 with the end.
const LONGEST: usize = 3800;

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

impl<'a> Root<'a> {
    pub(crate) fn new(fs: &'a dyn Fs, top: BorrowedFd<'a>, closed: Closed) -> Self {
        Self { fs, top, closed, last: None, opened: Vec::new() }
    }

    /// Opens a handle of a directory.
    pub(crate) fn dir(&mut self, path: &Path) -> Result<Dir<'a>> {
        if path.as_os_str().is_empty() {
            return Ok(Dir::Root(self.top));
        }
        if let Some((known, dir)) = &self.last
            && known.as_os_str() == path.as_os_str()
        {
            return Ok(Dir::Below(Rc::clone(dir)));
        }
        let dir = match self.walk(path) {
            Err(Errno::ACCESS) if self.closed == Closed::Open => {
                self.open_up(path)?;
                self.walk(path)?
            }
            result => result?,
        };
        let dir = Rc::new(dir);
        self.last = Some((path.to_owned(), Rc::clone(&dir)));
        Ok(Dir::Below(dir))
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

    /// Makes the directory writable for its owner; tells whether anything was to do.
    pub(crate) fn open_up(&mut self, path: &Path) -> Result<bool> {
        let before = self.opened.len();
        let mut above = PathBuf::new();
        let names = path.components().map(Component::as_os_str);
        // The root itself can't be found as `.` where it is closed.
        for name in std::iter::once(OsStr::new("")).chain(names) {
            let dir = if above.as_os_str().is_empty() {
                Dir::Root(self.top)
            } else {
                Dir::Below(Rc::new(self.walk(&above)?))
            };
            let status = self.fs.node(dir.as_fd(), name)?.status;
            above.push(name);
            if status.kind == Kind::Directory && status.mode & 0o700 != 0o700 {
                self.fs.set_mode_at(dir.at(name), status.mode | 0o700)?;
                let (path, ino, mode) = (above.clone(), status.id.ino, status.mode);
                self.opened.push(Opened { path, ino, mode });
            }
        }
        Ok(self.opened.len() > before)
    }

    /// Notes that a directory may have been opened up by a process that was killed.
    pub(crate) fn was_open(&mut self, opened: Opened) {
        self.opened.extend(Some(opened).filter(|opened| opened.mode & 0o700 != 0o700));
    }

    /// Returns the directories that are open now, with the bits they had.
    pub(crate) fn into_opened(self) -> Vec<Opened> {
        self.opened
    }

    /// Returns the bits of a directory from before it was opened up.
    pub(crate) fn opened(&self, path: &Path, ino: u64) -> Option<u32> {
        let known = self.opened.iter().find(|it| it.path == path && it.ino == ino);
        known.map(|opened| opened.mode)
    }

    /// Notes that a directory gets other bits than it had when it was opened up.
    pub(crate) fn will_have(&mut self, path: &Path, mode: u32) {
        let known = self.opened.iter_mut().filter(|opened| opened.path == path);
        known.for_each(|opened| opened.mode = mode);
    }

    /// Gives the directories that were opened up their bits again, where they still stand.
    pub(crate) fn close(&mut self) -> Result<()> {
        let mut result = Ok(());
        while let Some(opened) = self.opened.pop() {
            let mut closed = self.close_one(&opened);
            if closed == Err(Errno::ACCESS) {
                // One above was closed meanwhile; opened up, it is the next that is closed again.
                let above = opened.path.parent().unwrap_or(Path::new(""));
                closed = self.open_up(above).and_then(|_| self.close_one(&opened));
            }
            if !matches!(closed, Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) {
                result = result.and(closed);
            }
        }
        result
    }

    fn close_one(&mut self, opened: &Opened) -> Result<()> {
        let (dir, name) = self.above(&opened.path)?;
        let found = self.fs.node(dir.as_fd(), name)?.status;
        let is_it = found.kind == Kind::Directory && found.id.ino == opened.ino;
        if is_it { self.fs.set_mode_at(dir.at(name), opened.mode) } else { Ok(()) }
    }

    fn walk(&self, path: &Path) -> Result<OwnedFd> {
        let whole = path.as_os_str().as_bytes();
        let known = self.last.as_ref().and_then(|(known, dir)| {
            let rest = whole.strip_prefix(known.as_os_str().as_bytes())?.strip_prefix(b"/")?;
            Some((Rc::clone(dir), rest))
        });
        let (mut dir, mut rest) = match known {
            Some((dir, rest)) => (Some(dir), rest),
            None => (None, whole),
        };
        loop {
            let (part, more) = first_part(rest);
            let part = if part.is_empty() { b"." } else { part };
            let at = dir.as_ref().map_or(self.top, |dir| dir.as_fd());
            let next = self.fs.open_below(at, Path::new(OsStr::from_bytes(part)), Open::Handle)?;
            match more {
                Some(more) => (dir, rest) = (Some(Rc::new(next)), more),
                None => return Ok(next),
            }
        }
    }
}

/// Takes as many names as the kernel reads at once, and what follows them.
fn first_part(path: &[u8]) -> (&[u8], Option<&[u8]>) {
    let cut = path.get(..LONGEST).and_then(|head| head.iter().rposition(|byte| *byte == b'/'));
    match cut.and_then(|at| Some((path.get(..at)?, path.get(at + 1..)?))) {
        Some((part, more)) => (part, Some(more)),
        None => (path, None),
    }
}
