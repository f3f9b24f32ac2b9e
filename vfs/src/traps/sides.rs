//! A tree, and the layer above it where it has one, or names that are to be put into it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::way::Way;
use crate::fs::{Errno, Fs, Kind, Node, Open, Result, Special};

/// What is asked for names: the layer or what is new first.
#[derive(Clone)]
pub struct Sides<'a> {
    fs: &'a dyn Fs,
    new: Option<&'a NewNames>,
    layer: Option<BorrowedFd<'a>>,
    tree: BorrowedFd<'a>,
    /// To what was asked last of the layer, by this or by a clone.
    way: Arc<Way>,
}

/// Files that are to be put into a tree, by their paths: where each leads that is a link.
#[derive(Debug, Default)]
pub struct NewNames(BTreeMap<PathBuf, Option<OsString>>);

impl FromIterator<(PathBuf, Option<OsString>)> for NewNames {
    fn from_iter<T: IntoIterator<Item = (PathBuf, Option<OsString>)>>(names: T) -> Self {
        Self(names.into_iter().collect())
    }
}

impl NewNames {
    /// Whether a file is to be at a path, or below it.
    fn has(&self, path: &Path) -> bool {
        self.0.range(path.to_owned()..).next().is_some_and(|(next, _)| next.starts_with(path))
    }

    fn link(&self, path: &Path) -> Option<&OsString> {
        self.0.get(path)?.as_ref()
    }

    /// Returns what is to be in a directory.
    fn kinds(&self, directory: &Path) -> BTreeMap<OsString, Option<Kind>> {
        let below = self.0.range(directory.to_owned()..);
        let below = below.take_while(|(path, _)| path.starts_with(directory));
        let kind = |(path, link): (&PathBuf, &Option<OsString>)| {
            let mut rest = path.strip_prefix(directory).ok()?.iter();
            let name = rest.next()?.to_owned();
            let file = if link.is_some() { Kind::Symlink } else { Kind::File };
            Some((name, Some(if rest.next().is_some() { Kind::Directory } else { file })))
        };
        below.filter_map(kind).collect()
    }
}

impl<'a> Sides<'a> {
    /// Takes the root of a tree, and that of its layer.
    pub fn new(fs: &'a dyn Fs, layer: Option<BorrowedFd<'a>>, tree: BorrowedFd<'a>) -> Self {
        Self { fs, new: None, layer, tree, way: Arc::default() }
    }

    /// Takes a tree and what is to be put into it.
    pub fn with_new(fs: &'a dyn Fs, new: &'a NewNames, tree: BorrowedFd<'a>) -> Self {
        Self { fs, new: Some(new), layer: None, tree, way: Arc::default() }
    }

    /// Returns the tree without what is new.
    pub(super) fn tree_alone(&self) -> Self {
        Self::new(self.fs, None, self.tree)
    }

    /// Goes on from where others are, if they are asked of the same layer.
    pub(super) fn along(self, others: &Self) -> Self {
        let number = |it: &Self| it.layer.map(|layer| layer.as_raw_fd());
        let way = if number(&self) == number(others) { &others.way } else { &self.way };
        Self { way: Arc::clone(way), ..self }
    }

    /// Returns whether the tree has a directory, and no link on the way to it.
    pub(super) fn has_directory(&self, path: &Path) -> Result<bool> {
        match self.open(self.tree, path) {
            Ok(_) => Ok(true),
            Err(errno) if errno == Errno::LOOP || is_absent(errno) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Returns whether a side has a name, or may have it: a command can close directories.
    pub(super) fn has(&self, above: &Path, name: &str) -> bool {
        self.new.is_some_and(|new| new.has(&above.join(name)))
            || self.each().any(|side| self.has_at(side, above, name))
    }

    /// Returns whether a side has a directory of this name, or something else, or may have it. A link may be either.
    pub(super) fn has_kind(&self, above: &Path, name: &str, is_directory: bool) -> bool {
        let is_it = |side| match self.node(side, above, OsStr::new(name)) {
            Ok(node) if node.special == Some(Special::Whiteout) => false,
            Ok(node) => {
                let kind = node.status.kind;
                kind == Kind::Symlink || (kind == Kind::Directory) == is_directory
            }
            Err(errno) => errno != Errno::LOOP && !is_absent(errno),
        };
        self.new.is_some_and(|new| new.has(&above.join(name))) || self.each().any(is_it)
    }

    /// Returns whether the tree has a name, or may have it; the layer does not count.
    pub(super) fn tree_has(&self, above: &Path, name: &str) -> bool {
        self.has_at(self.tree, above, name)
    }

    /// Whether the tree is known to have something that is no directory.
    pub(super) fn tree_has_file(&self, above: &Path, name: &str) -> bool {
        let found = self.node(self.tree, above, OsStr::new(name));
        found.is_ok_and(|node| node.status.kind != Kind::Directory)
    }

    /// Returns the names in a directory of the tree that are no directories; none where it is none itself.
    pub(super) fn tree_files(&self, path: &Path) -> Result<Vec<OsString>> {
        let listed = self.look_in(self.tree, path, &|dir| {
            let dir = self.fs.open_below(dir, Path::new("."), Open::List)?;
            self.fs.list(dir.as_fd(), usize::MAX)
        });
        let entries = match listed {
            Err(errno) if errno == Errno::LOOP || is_absent(errno) => Vec::new(),
            listed => listed?,
        };
        let files = entries.into_iter().filter(|entry| entry.kind != Some(Kind::Directory));
        Ok(files.map(|entry| entry.name).collect())
    }

    /// Returns the names that either side has in a directory, each once; some may be of what was taken away. No more than
    /// so many are listed of a side.
    pub(super) fn names(&self, path: &Path, most: usize) -> Result<Vec<OsString>> {
        let mut names = BTreeSet::new();
        for side in self.each() {
            let listed = self.look_in(side, path, &|dir| {
                let dir = self.fs.open_below(dir, Path::new("."), Open::List)?;
                self.fs.list(dir.as_fd(), most)
            });
            match listed {
                Err(errno) if errno == Errno::LOOP || is_absent(errno) => {}
                listed => names.extend(listed?.into_iter().map(|entry| entry.name)),
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Returns the names in a directory, some of which may be of what was taken away, and what each is where that is known;
    /// no more than so many of a side.
    pub(super) fn kinds(
        &self,
        path: &Path,
        most: usize,
    ) -> Result<BTreeMap<OsString, Option<Kind>>> {
        let mut names = self.new.map(|new| new.kinds(path)).unwrap_or_default();
        for side in self.each() {
            let listed = self.look_in(side, path, &|dir| {
                let dir = self.fs.open_below(dir, Path::new("."), Open::List)?;
                self.fs.list(dir.as_fd(), most)
            });
            let entries = match listed {
                Err(errno) if errno == Errno::LOOP || is_gone(errno) => Vec::new(),
                listed => listed?,
            };
            for entry in entries {
                names.entry(entry.name).or_insert(entry.kind);
            }
        }
        Ok(names)
    }

    /// Whether something new is where the tree has a file or a link.
    pub(super) fn replaces_file(&self, path: &Path) -> bool {
        let Some((above, name)) = path.parent().zip(path.file_name()) else { return false };
        let found = || self.node(self.tree, above, name);
        let is_file = |node: Node| node.status.kind != Kind::Directory;
        (self.layer.is_some() || self.new.is_some()) && found().is_ok_and(is_file)
    }

    /// Whether it is to be put there.
    pub(super) fn is_new(&self, path: &Path) -> bool {
        self.new.is_some_and(|new| new.has(path))
    }

    /// Opens a file, that of the layer first; one that is only to be put there can't be.
    pub(super) fn open_file(&self, path: &Path) -> Result<OwnedFd> {
        let (above, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        if self.new.is_some_and(|new| new.has(path)) {
            return Err(Errno::NOENT);
        }
        let open = |side| self.look_in(side, above, &|dir| self.fs.open_file(dir, name));
        let mut opened = Err(Errno::NOENT);
        for side in self.each() {
            opened = open(side);
            if !opened.as_ref().is_err_and(|errno| is_absent(*errno)) {
                break;
            }
        }
        opened
    }

    /// Opens a file of the tree, or what a link leads to, which the user has made.
    pub(super) fn open_followed(&self, path: &Path) -> Result<OwnedFd> {
        let (above, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        self.look_in(self.tree, above, &|dir| match self.fs.open_file(dir, name) {
            Err(Errno::LOOP) => {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
                rustix::fs::openat(dir, name, flags, Mode::empty())
            }
            opened => opened,
        })
    }

    /// Opens what was changed at a path, or what the tree has where that is all; `None` where that is nothing, or no file.
    pub(super) fn open_changed(&self, path: &Path) -> Option<Result<OwnedFd>> {
        let is_all = self.layer.is_none() && self.new.is_none();
        if is_all { Some(self.open_file(path)) } else { self.open_new(path) }
    }

    /// Opens what is new at a path; `None` where that is nothing, or no file.
    pub(super) fn open_new(&self, path: &Path) -> Option<Result<OwnedFd>> {
        if self.new.is_some_and(|new| new.has(path)) {
            return Some(Err(Errno::NOENT));
        }
        let (above, name) = path.parent().zip(path.file_name())?;
        let layer = self.layer?;
        match self.node(layer, above, name) {
            Ok(node) if node.status.kind != Kind::File => None,
            Err(errno) if is_absent(errno) => None,
            _ => Some(self.look_in(layer, above, &|dir| self.fs.open_file(dir, name))),
        }
    }

    /// Returns where a link leads, as the command sees it; `None` for what is none.
    pub(super) fn link(&self, path: &Path) -> Result<Option<OsString>> {
        if let Some(new) = self.new.filter(|new| new.has(path)) {
            return Ok(new.link(path).cloned());
        }
        for side in self.each() {
            match self.link_at(side, path) {
                Ok(target) => return Ok(Some(target)),
                Err(Errno::INVAL) => return Ok(None),
                Err(errno) if is_absent(errno) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(None)
    }

    /// Returns whether the tree has this very link.
    pub(super) fn tree_has_link(&self, path: &Path, target: &OsStr) -> bool {
        (self.layer.is_some() || self.new.is_some())
            && self.link_at(self.tree, path).is_ok_and(|found| found == target)
    }

    /// Returns whether a path is a link, or a link is on the way to it.
    pub(super) fn is_behind_link(&self, path: &Path) -> bool {
        let is_link = |side, path: &Path| self.link_at(side, path).is_ok();
        if self.new.is_some_and(|new| path.ancestors().any(|it| new.link(it).is_some())) {
            return true;
        }
        self.each().any(|side| match self.link_at(side, path) {
            // The directory above may be one itself.
            Err(Errno::NOTDIR) => path.parent().is_some_and(|above| is_link(side, above)),
            Err(errno) => errno != Errno::INVAL && !is_absent(errno),
            Ok(_) => true,
        })
    }

    fn each(&self) -> impl Iterator<Item = BorrowedFd<'a>> {
        self.layer.into_iter().chain([self.tree])
    }

    fn has_at(&self, side: BorrowedFd<'_>, above: &Path, name: &str) -> bool {
        match self.node(side, above, OsStr::new(name)) {
            Ok(node) => node.special != Some(Special::Whiteout),
            // A link on the way is judged by itself.
            Err(errno) => errno != Errno::LOOP && !is_absent(errno),
        }
    }

    fn node(&self, side: BorrowedFd<'_>, above: &Path, name: &OsStr) -> Result<Node> {
        self.look_in(side, above, &|dir| self.fs.node(dir, name))
    }

    fn link_at(&self, side: BorrowedFd<'_>, path: &Path) -> Result<OsString> {
        let (above, name) = path.parent().zip(path.file_name()).ok_or(Errno::INVAL)?;
        self.look_in(side, above, &|dir| self.fs.read_link(dir, name))
    }

    /// Looks into a directory. Those of the layer that the command closed are opened meanwhile.
    fn look_in<T>(
        &self,
        side: BorrowedFd<'_>,
        path: &Path,
        look: &dyn Fn(BorrowedFd<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.layer.is_some_and(|it| it.as_raw_fd() == side.as_raw_fd()) {
            return self.way.look((self.fs, side), path, look);
        }
        self.open(side, path).and_then(|dir| look(dir.as_fd()))
    }

    fn open(&self, side: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
        self.fs.open_below(side, path, Open::Handle)
    }
}

/// Returns whether a call failed since a directory is not there: one with a path that is too long may be, and one
/// beyond a mount.
fn is_gone(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR)
}

/// Whether a call failed since nothing of a side is there.
pub(super) fn is_absent(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::NAMETOOLONG)
}
