//! Names that are taken out of a live tree and kept in a layer, as if a command had made them in a
//! buffered one: what tells, writes back and drops changes of a layer does so with them, too.
//!
//! A command may change the tree meanwhile, and goes on to use what it has open of an entry that was
//! taken away. Nothing is followed, and nothing leads out of the tree or of the layer.

mod apart;
mod judged;
mod moving;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::fs::{At, Errno, FileId, Fs, Kind, Open, Result, Status, copy_bytes};
use crate::opening::open_way;
use crate::sync::root::{Closed, Opened, Root};
pub use judged::judged;
use moving::{Moving, clear, holds};

/// The most bytes that are copied while a command runs, where a layer is on another file system.
pub const COPIED_AT_ONCE: u64 = 64 << 20;
/// How often an entry is taken again where somebody closes directories as fast as they are opened.
const TRIES: usize = 16;
/// Files that are kept open until they are copied. One more takes the place of the smallest, which is copied then.
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
    /// Files of which nothing in the layer takes the place: nobody could make them again.
    kept: Rc<BTreeSet<FileId>>,
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
    /// Nobody waits.
    Whole,
}

impl HeldLayer {
    /// Takes the root of a tree and that of its layer, both open.
    #[must_use]
    pub fn new(root: OwnedFd, upper: OwnedFd) -> Self {
        let kept = Rc::default();
        Self { root, upper, open: BTreeMap::new(), opened: RefCell::default(), kept }
    }

    /// Returns this layer, where files with these ids are never replaced.
    #[must_use]
    pub fn keeping(self, kept: BTreeSet<FileId>) -> Self {
        Self { kept: Rc::new(kept), ..self }
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
    /// two directories become one. What is closed to its owner is opened for the moment.
    ///
    /// # Errors
    /// What keeps it in the tree: another mount on the way, no room for a copy; `EXIST` where it would take the place of
    /// what is kept.
    pub fn take(&mut self, fs: &dyn Fs, path: &Path, pace: Pace) -> Result<Taken> {
        let above = path.parent().ok_or(Errno::INVAL)?;
        let kept = Rc::clone(&self.kept);
        let moving = |closed| Moving { fs, pace, closed, kept: &kept };
        self.make_room(fs);
        let mut taken = self.take_once(path, moving(Closed::Stay));
        for _ in 0..TRIES {
            if taken != Err(Errno::ACCESS) {
                break;
            }
            let _opened = [&self.root, &self.upper].map(|root| open_way(fs, root.as_fd(), above));
            taken = self.take_once(path, moving(Closed::Open));
        }
        taken
    }

    fn take_once(&mut self, path: &Path, moving: Moving<'_>) -> Result<Taken> {
        let fs = moving.fs;
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::INVAL);
        };
        let opened = Root::new(fs, self.root.as_fd(), Closed::Stay).dir(above);
        let from = match opened {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Taken::Gone),
            opened => opened?,
        };
        let to = self.way(fs, above)?;
        let (from, to) = (At { dir: from.as_fd(), name }, At { dir: to.as_fd(), name });
        let taken = match moving.entry(from, to, 0) {
            Err(Errno::XDEV) => move_over(&mut self.open, moving, (from, to), path),
            moved => moved.map(|taken| (taken, true)),
        };
        if let Ok((Taken::Held, true)) = taken {
            forget_open(fs, self.upper.as_fd(), &mut self.open, path);
        }
        let looks = self.look_like_the_tree(fs, above);
        taken.and_then(|(taken, _)| looks.map(|()| taken))
    }

    /// Notes that what is taken at these paths is held, though nothing by their own words would hold it.
    ///
    /// # Errors
    /// A failing call.
    pub fn judge(&self, fs: &dyn Fs, paths: &[&Path]) -> Result<()> {
        judged::note(fs, self.upper.as_fd(), paths)
    }

    /// Copies what is still to be copied: nobody writes any more. Returns what can't be, for want of room in the layer, say:
    /// it is back in the tree, unless something else is there by now.
    pub fn finish(&mut self, fs: &dyn Fs) -> Vec<PathBuf> {
        let mut left = Vec::new();
        for (path, file) in std::mem::take(&mut self.open) {
            if self.copy_open(fs, &path, &file).is_err() {
                // Whatever fails here, it is told as one that is not in the layer.
                let _ = self.put_back(fs, &path, &file);
                left.push(path);
            }
        }
        left
    }

    /// Gives files of the layer bytes of their own that have further names outside: nobody writes any more, but who can
    /// write to those could change what waits later. Returns what could not be parted, which is in the layer as it was.
    pub fn part(&self, fs: &dyn Fs) -> Vec<PathBuf> {
        apart::part(fs, self.upper.as_fd(), &self.kept)
    }

    /// Copies the smallest of the files that are open where one more would be too many: the next may be larger than what
    /// is copied while somebody waits. What is still written into it then is lost.
    fn make_room(&mut self, fs: &dyn Fs) {
        if self.open.len() < OPEN {
            return;
        }
        let size = |file: &OwnedFd| fs.status_of(file.as_fd()).map_or(u64::MAX, |it| it.size);
        let smallest = self.open.iter().map(|(path, file)| (size(file), path)).min();
        let Some(path) = smallest.filter(|(size, _)| *size <= COPIED_AT_ONCE) else { return };
        let path = path.1.clone();
        // One that can't be copied is tried again at the end, and told then.
        if let Some(file) = self.open.get(&path)
            && self.copy_open(fs, &path, file).is_ok()
        {
            self.open.remove(&path);
        }
    }

    fn put_back(&self, fs: &dyn Fs, path: &Path, file: &OwnedFd) -> Result<()> {
        let (above, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        let _opened = open_way(fs, self.root.as_fd(), above);
        let to = open_above(fs, self.root.as_fd(), above)?;
        // Whoever puts it there is not who made it.
        copy_file(fs, file, At { dir: to.as_fd(), name }, 0o777)
    }

    fn copy_open(&self, fs: &dyn Fs, path: &Path, file: &OwnedFd) -> Result<()> {
        let (above, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        // One that was taken meanwhile may be closed.
        let _opened = open_way(fs, self.upper.as_fd(), above);
        let to = self.way(fs, above)?;
        clear(fs, &self.kept, At { dir: to.as_fd(), name })?;
        copy_file(fs, file, At { dir: to.as_fd(), name }, 0o7777)?;
        self.look_like_the_tree(fs, above).inspect_err(|_| {
            let _ = fs.unlink(to.as_fd(), name);
        })
    }

    /// Makes the directories of the layer that lead to an entry.
    fn way(&self, fs: &dyn Fs, above: &Path) -> Result<OwnedFd> {
        let mut at = fs.open_dir(self.upper.as_fd(), OsStr::new("."))?;
        for name in above {
            at = match fs.open_dir(at.as_fd(), name) {
                Err(Errno::NOENT) => make_directory(fs, at.as_fd(), name)?,
                // Something else was taken from there before.
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    clear(fs, &self.kept, At { dir: at.as_fd(), name })?;
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

/// Copies a file that has no name, with these of its bits; nothing is left of a copy that fails.
fn copy_file(fs: &dyn Fs, file: &OwnedFd, to: At<'_>, bits: u32) -> Result<()> {
    let status = fs.status_of(file.as_fd())?;
    let copy = fs.create_file(to.dir, to.name)?;
    let copied = copy_bytes(fs, file.as_fd(), copy.as_fd(), status.size)
        .and_then(|()| fs.set_mode(copy.as_fd(), status.mode & bits))
        .and_then(|()| fs.set_times(copy.as_fd(), &status));
    copied.inspect_err(|_| {
        let _ = fs.unlink(to.dir, to.name);
    })
}

/// Takes an entry to a layer on another file system, and returns whether it is there already.
fn move_over(
    open: &mut BTreeMap<PathBuf, OwnedFd>,
    moving: Moving<'_>,
    (from, to): (At<'_>, At<'_>),
    path: &Path,
) -> Result<(Taken, bool)> {
    if holds(moving.fs, moving.kept, from)? {
        // A copy would be another file, of which nobody knew what it is.
        return Err(Errno::XDEV);
    }
    match keep_open(open, moving, from, path)? {
        Some(taken) => Ok((taken, false)),
        None => moving.copy(from, to, 0).map(|taken| (taken, true)),
    }
}

/// Drops what was to be copied to names at which something newer is by now.
fn forget_open(
    fs: &dyn Fs,
    upper: BorrowedFd<'_>,
    open: &mut BTreeMap<PathBuf, OwnedFd>,
    path: &Path,
) {
    let look = |path: &Path| {
        let (above, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        fs.status(open_above(fs, upper, above)?.as_fd(), name)
    };
    let is_missing = |path: &Path| matches!(look(path), Err(Errno::NOENT));
    open.retain(|open, _| !open.starts_with(path) || is_missing(open));
}

/// Takes the name of a file away at once, and leaves its bytes for the end.
fn keep_open(
    open: &mut BTreeMap<PathBuf, OwnedFd>,
    Moving { fs, pace, .. }: Moving<'_>,
    from: At<'_>,
    path: &Path,
) -> Result<Option<Taken>> {
    let kind = match fs.status(from.dir, from.name) {
        Err(Errno::NOENT) => return Ok(Some(Taken::Gone)),
        found => found?.kind,
    };
    if kind != Kind::File || pace == Pace::Whole || open.len() >= OPEN {
        return Ok(None);
    }
    let file = match fs.open_file(from.dir, from.name) {
        // A file that is closed itself: nobody writes what can't be read.
        Err(Errno::ACCESS) => return Ok(None),
        file => file?,
    };
    fs.unlink(from.dir, from.name)?;
    open.insert(path.to_owned(), file);
    Ok(Some(Taken::Held))
}

fn open_above(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
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
