//! Names that are taken out of a live tree and kept in a layer, as if a command had made them in a
//! buffered one: what tells, writes back and drops changes of a layer does so with them, too.
//!
//! A command may change the tree meanwhile, and goes on to use what it has open of an entry that was
//! taken away. Nothing is followed, and nothing leads out of the tree or of the layer.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::fs::{At, Errno, Fs, Kind, Open, Result, Status, copy_bytes};
use crate::sync::root::{Closed, Opened, Root};
use crate::tree::{copy_tree, measure_tree, remove_tree};

/// The most bytes that are copied while a command runs, where a layer is on another file system.
pub const COPIED_AT_ONCE: u64 = 64 << 20;
/// The most directories one below the other in which two entries of one name are merged.
const DEPTH: usize = 64;

/// Files that are kept open until they are copied.
const OPEN: usize = 128;

/// A live tree, and the layer for what is taken out of it.
#[derive(Debug)]
pub struct HeldLayer {
    root: OwnedFd,
    upper: OwnedFd,
    /// Files without a name whose bytes are to be copied to a layer on another file system: whoever
    /// made them may still be writing.
    open: BTreeMap<PathBuf, OwnedFd>,
    /// Directories that were closed to their owner, with the bits they had.
    opened: RefCell<Vec<Opened>>,
}

/// What came of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is in the layer, and no longer in the tree.
    Held,
    /// There was none.
    Gone,
    /// It is still in the tree: to copy it would take too long now.
    Later,
}

/// How long taking something may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Somebody waits.
    AtOnce,
    /// Nobody does.
    Whole,
}

impl HeldLayer {
    /// Takes the root of a tree and that of its layer, both open.
    #[must_use]
    pub fn new(root: OwnedFd, upper: OwnedFd) -> Self {
        Self { root, upper, open: BTreeMap::new(), opened: RefCell::default() }
    }

    /// Returns the root of the tree.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Opens a directory of the tree that is closed to its owner, and those above it, until
    /// [`close`](Self::close).
    ///
    /// # Errors
    /// It belongs to somebody else, or can't be opened for another reason.
    pub fn open_up(&self, fs: &dyn Fs, path: &Path) -> Result<()> {
        let mut tree = Root::new(fs, self.root.as_fd(), Closed::Open);
        let opened = tree.open_up(path);
        self.opened.borrow_mut().extend(tree.into_opened());
        opened.map(drop)
    }

    /// Gives directories that were opened up their bits again; those that were taken away are gone.
    ///
    /// # Errors
    /// The first that fails; the others are closed.
    pub fn close(&self, fs: &dyn Fs) -> Result<()> {
        let mut tree = Root::new(fs, self.root.as_fd(), Closed::Stay);
        self.opened.take().into_iter().for_each(|opened| tree.was_open(opened));
        tree.close()
    }

    /// Takes an entry out of the tree. One of the same name that was taken before is replaced, and
    /// two directories become one.
    ///
    /// # Errors
    /// What keeps it in the tree: another mount on the way, no room for a copy.
    pub fn take(&mut self, fs: &dyn Fs, path: &Path, pace: Pace) -> Result<Taken> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::INVAL);
        };
        let from = match open_above(fs, self.root.as_fd(), above) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Taken::Gone),
            opened => opened?,
        };
        let to = self.way(fs, above)?;
        let (from, to) = (At { dir: from.as_fd(), name }, At { dir: to.as_fd(), name });
        let moved = move_entry(fs, from, to, pace, 0);
        let taken = match moved {
            Err(Errno::XDEV) => match self.keep_open(fs, from, path, pace)? {
                Some(taken) => taken,
                None => copy_entry(fs, from, to, pace, 0)?,
            },
            moved => moved?,
        };
        if moved == Ok(Taken::Held) {
            self.open.remove(path);
        }
        self.look_like_the_tree(fs, above)?;
        Ok(taken)
    }

    /// Takes the name of a file away at once, and leaves its bytes for the end.
    fn keep_open(
        &mut self,
        fs: &dyn Fs,
        from: At<'_>,
        path: &Path,
        pace: Pace,
    ) -> Result<Option<Taken>> {
        let kind = match fs.status(from.dir, from.name) {
            Err(Errno::NOENT) => return Ok(Some(Taken::Gone)),
            found => found?.kind,
        };
        if kind != Kind::File || pace == Pace::Whole || self.open.len() >= OPEN {
            return Ok(None);
        }
        let file = fs.open_file(from.dir, from.name)?;
        fs.unlink(from.dir, from.name)?;
        self.open.insert(path.to_owned(), file);
        Ok(Some(Taken::Held))
    }

    /// Copies what is still to be copied: nobody writes any more.
    ///
    /// # Errors
    /// The first that can't be copied; the others are.
    pub fn finish(&mut self, fs: &dyn Fs) -> Result<()> {
        let mut first = Ok(());
        for (path, file) in std::mem::take(&mut self.open) {
            first = first.and(self.copy_open(fs, &path, &file));
        }
        first
    }

    fn copy_open(&self, fs: &dyn Fs, path: &Path, file: &OwnedFd) -> Result<()> {
        let (above, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        let to = self.way(fs, above)?;
        remove_tree(fs, to.as_fd(), name).map_err(|left| left.errno)?;
        let status = fs.status_of(file.as_fd())?;
        let copy = fs.create_file(to.as_fd(), name)?;
        copy_bytes(fs, file.as_fd(), copy.as_fd(), status.size)?;
        fs.set_mode(copy.as_fd(), status.mode)?;
        fs.set_times(copy.as_fd(), &status)?;
        self.look_like_the_tree(fs, above)
    }

    /// Makes the directories of the layer that lead to an entry.
    fn way(&self, fs: &dyn Fs, above: &Path) -> Result<OwnedFd> {
        let mut at = fs.open_dir(self.upper.as_fd(), OsStr::new("."))?;
        for name in above {
            at = match fs.open_dir(at.as_fd(), name) {
                Err(Errno::NOENT) => make_directory(fs, at.as_fd(), name)?,
                // Something else was taken from there before.
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    remove_tree(fs, at.as_fd(), name).map_err(|left| left.errno)?;
                    make_directory(fs, at.as_fd(), name)?
                }
                opened => opened?,
            };
        }
        Ok(at)
    }

    /// Gives directories of the layer the bits and the times of the tree's: they are no changes.
    fn look_like_the_tree(&self, fs: &dyn Fs, above: &Path) -> Result<()> {
        for path in above.ancestors() {
            let (Ok(here), Ok(there)) =
                (open_above(fs, self.root.as_fd(), path), open_above(fs, self.upper.as_fd(), path))
            else {
                continue;
            };
            let status = fs.status_of(here.as_fd())?;
            copy_status(fs, there.as_fd(), &status)?;
        }
        Ok(())
    }
}

fn open_above(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    fs.open_below(root, path, Open::List)
}

fn make_directory(fs: &dyn Fs, at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd> {
    fs.make_dir(at, name, 0o700)?;
    fs.open_dir(at, name)
}

fn copy_status(fs: &dyn Fs, dir: BorrowedFd<'_>, status: &Status) -> Result<()> {
    fs.set_mode(dir, (status.mode & 0o777) | 0o700)?;
    fs.set_times(dir, status)
}

fn move_entry(fs: &dyn Fs, from: At<'_>, to: At<'_>, pace: Pace, depth: usize) -> Result<Taken> {
    match fs.rename_new(from, to) {
        Ok(()) => Ok(Taken::Held),
        Err(Errno::NOENT) => Ok(Taken::Gone),
        Err(Errno::XDEV) if depth > 0 => copy_entry(fs, from, to, pace, depth),
        Err(Errno::EXIST) if depth < DEPTH && are_directories(fs, from, to) => {
            merge(fs, from, to, pace, depth)
        }
        Err(Errno::EXIST) => {
            remove_tree(fs, to.dir, to.name).map_err(|left| left.errno)?;
            fs.rename_new(from, to).map(|()| Taken::Held)
        }
        Err(errno) => Err(errno),
    }
}

fn are_directories(fs: &dyn Fs, one: At<'_>, other: At<'_>) -> bool {
    let is_one =
        |it: At<'_>| fs.status(it.dir, it.name).is_ok_and(|found| found.kind == Kind::Directory);
    is_one(one) && is_one(other)
}

/// Takes what a directory holds into one that was taken before.
fn merge(fs: &dyn Fs, from: At<'_>, to: At<'_>, pace: Pace, depth: usize) -> Result<Taken> {
    let (here, there) = (fs.open_dir_here(from.dir, from.name)?, fs.open_dir(to.dir, to.name)?);
    let mut all = Taken::Held;
    for entry in fs.list(here.as_fd(), usize::MAX)? {
        let (from, to) = (
            At { dir: here.as_fd(), name: &entry.name },
            At { dir: there.as_fd(), name: &entry.name },
        );
        if move_entry(fs, from, to, pace, depth + 1)? == Taken::Later {
            all = Taken::Later;
        }
    }
    match fs.remove_dir(from.dir, from.name) {
        // More came meanwhile.
        Err(Errno::NOTEMPTY) => Ok(Taken::Later),
        removed => removed.map(|()| all),
    }
}

/// Copies an entry to a layer on another file system, and takes it away then.
fn copy_entry(fs: &dyn Fs, from: At<'_>, to: At<'_>, pace: Pace, depth: usize) -> Result<Taken> {
    if fs.status(from.dir, from.name).is_err_and(|errno| errno == Errno::NOENT) {
        return Ok(Taken::Gone);
    }
    if fs.status(to.dir, to.name).is_ok() {
        if depth < DEPTH && are_directories(fs, from, to) {
            return merge(fs, from, to, pace, depth);
        }
        remove_tree(fs, to.dir, to.name).map_err(|left| left.errno)?;
    }
    if pace == Pace::AtOnce && bytes(fs, from)? > COPIED_AT_ONCE {
        return Ok(Taken::Later);
    }
    copy_tree(fs, from, to).map_err(|error| error.errno)?;
    remove_tree(fs, from.dir, from.name).map_err(|left| left.errno)?;
    Ok(Taken::Held)
}

fn bytes(fs: &dyn Fs, at: At<'_>) -> Result<u64> {
    let found = fs.status(at.dir, at.name)?;
    if found.kind == Kind::Directory {
        return measure_tree(fs, at.dir, at.name).map(|it| it.bytes);
    }
    Ok(found.allocated)
}
