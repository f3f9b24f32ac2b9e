//! What the command left in the work tree, against the commit that its `HEAD` names: what git would
//! commit if everything was added.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix_object::Kind;

use super::diff::{Sides, below, covers, diff};
use super::edit::Edits;
use super::ignore::{FILE, FILE_MAX, Patterns};
use super::objects::{Objects, failed};
use super::trees::{Leaf, Trees};
use super::{CopyError, Taken};
use crate::fs::{At, Errno, Fs, Open, read_all};
use crate::git_index::Tracked;
use crate::git_tree::{DIRECTORY, GitError, Id, Limit, OBJECT_MAX, SUBMODULE};
use crate::layer::{Descend, LayerEntry, LayerNode, found, walk};
use crate::snapshot::{Naming, is_gitmodules};

/// The git directory of the command.
pub(super) const GIT: &str = ".git";
const FILE_MODE: u32 = 0o100_644;
const EXECUTABLE_MODE: u32 = 0o100_755;
const LINK_MODE: u32 = 0o120_000;
/// No tree with a longer path, or with more directories above a file, can be shown again.
const PATH: usize = 3072;
const DEPTH: usize = 512;

/// What the work tree stands on.
pub(super) struct Below<'a> {
    /// The tree that the mount showed.
    pub(super) shown: Id,
    /// The tree of the command's `HEAD`.
    pub(super) head: Id,
    /// What the command's index tracks, beside what `head` has.
    pub(super) tracked: Option<&'a Tracked>,
    /// What a sparse checkout need not have.
    pub(super) skipped: &'a BTreeSet<PathBuf>,
    pub(super) exclude: &'a [u8],
    pub(super) ignored: Taken,
}

/// What is different in the work tree.
#[derive(Default)]
pub(super) struct Left {
    pub(super) edits: Edits,
    pub(super) ignored: Vec<PathBuf>,
    pub(super) refused: Vec<(PathBuf, String)>,
}

/// Looks at the layer, and stages new contents.
pub(super) fn look(
    fs: &dyn Fs,
    upper: BorrowedFd<'_>,
    below: &Below<'_>,
    (objects, trees): (&mut Objects<'_>, &mut Trees),
) -> Result<Left, CopyError> {
    let patterns = Patterns::new(below.exclude);
    let (left, touched) = (Left::default(), BTreeSet::new());
    let (gone, opaque) = (BTreeSet::new(), BTreeSet::new());
    let mut look = Look { fs, upper, below, objects, trees, patterns, left, touched, gone, opaque };
    walk(fs, upper, &mut |entry| look.entry(entry))?;
    look.skipped()?;
    look.untouched()?;
    Ok(look.left)
}

struct Look<'a, 'o> {
    fs: &'a dyn Fs,
    upper: BorrowedFd<'a>,
    below: &'a Below<'a>,
    objects: &'a mut Objects<'o>,
    trees: &'a mut Trees,
    patterns: Patterns,
    left: Left,
    /// Paths that the layer decides about, with all below them.
    touched: BTreeSet<PathBuf>,
    /// Those of them at which nothing stands.
    gone: BTreeSet<PathBuf>,
    /// Directories through which nothing of the tree shows.
    opaque: BTreeSet<PathBuf>,
}

impl Look<'_, '_> {
    fn entry(&mut self, entry: &LayerEntry<'_>) -> Result<Descend, CopyError> {
        let path = entry.path;
        if path == Path::new(GIT) {
            return Ok(Descend::Past);
        }
        let name = path.file_name().unwrap_or_default().as_bytes();
        if let Some(fault) = Naming::Git.fault(name) {
            return Ok(self.refuse(path, fault.to_string()));
        }
        if path.as_os_str().len() > PATH || path.iter().count() > DEPTH {
            return Ok(self.refuse(path, "its path is too long".to_owned()));
        }
        match &entry.found {
            LayerNode::Directory { opaque } => return self.directory(entry, *opaque),
            LayerNode::Whiteout => self.whiteout(path),
            LayerNode::Special(what) => {
                return Ok(self.refuse(path, format!("{what} is in no tree")));
            }
            LayerNode::File { .. } | LayerNode::Symlink(_) if self.is_left_out(path, false)? => {
                self.leave_out(path)?;
            }
            LayerNode::File { size, .. } if *size > OBJECT_MAX => {
                return Ok(self.refuse(path, "it is larger than an object may be".to_owned()));
            }
            LayerNode::Symlink(_) if is_gitmodules(name) => {
                return Ok(self.refuse(path, "git reads no link of this name".to_owned()));
            }
            LayerNode::File { size, executable } => {
                let file = match self.fs.open_file(entry.at.dir, entry.at.name) {
                    Err(Errno::ACCESS) => {
                        return Ok(self.refuse(path, "its bits allow nobody to read it".to_owned()));
                    }
                    opened => opened.map_err(failed("open", path))?,
                };
                let id = self.objects.put_file(file.as_fd(), *size, path)?;
                let mode = if *executable { EXECUTABLE_MODE } else { FILE_MODE };
                self.left.edits.set(path, Some((mode, id)));
            }
            LayerNode::Symlink(target) => {
                let id = self.objects.put(Kind::Blob, target.as_os_str().as_bytes())?;
                self.left.edits.set(path, Some((LINK_MODE, id)));
            }
        }
        self.touched.insert(path.to_owned());
        Ok(Descend::Past)
    }

    /// Of what a sparse checkout leaves out nothing is deleted.
    fn whiteout(&mut self, path: &Path) {
        self.gone.insert(path.to_owned());
        if covers(self.below.skipped, path) {
            return;
        }
        if below(self.below.skipped, path) {
            self.left.edits.replace(path);
        } else {
            self.left.edits.set(path, None);
        }
    }

    /// What a sparse checkout leaves out of directories that are gone, or others, stays as the
    /// commit has it.
    fn skipped(&mut self) -> Result<(), CopyError> {
        let skipped = self.below.skipped;
        for path in skipped {
            let is_hidden = covers(&self.gone, path) || covers(&self.opaque, path);
            let mut above = path.ancestors();
            let is_there = above.any(|it| {
                let is_none = self.gone.contains(it) || self.opaque.contains(it);
                self.touched.contains(it) && !is_none
            });
            if is_hidden && !is_there && !below(&self.touched, path) {
                let leaf = self.in_head(path)?;
                self.left.edits.set(path, leaf);
            }
        }
        Ok(())
    }

    /// What is refused stays as the commit has it.
    fn refuse(&mut self, path: &Path, why: String) -> Descend {
        self.left.refused.push((path.to_owned(), why));
        self.touched.insert(path.to_owned());
        Descend::Past
    }

    /// What the commit has there is of another kind, and gone.
    fn leave_out(&mut self, path: &Path) -> Result<(), CopyError> {
        if self.in_head(path)?.is_some() {
            self.left.edits.set(path, None);
        }
        self.left.ignored.push(path.to_owned());
        Ok(())
    }

    fn directory(&mut self, entry: &LayerEntry<'_>, opaque: bool) -> Result<Descend, CopyError> {
        let (path, at) = (entry.path, entry.at);
        let open = || self.fs.open_dir(at.dir, at.name);
        if self.in_head(path)?.is_some_and(|(mode, _)| mode == SUBMODULE) {
            let inside = open().and_then(|dir| self.fs.list(dir.as_fd(), 1));
            if inside.is_ok_and(|names| names.is_empty()) {
                self.touched.insert(path.to_owned());
                return Ok(Descend::Past);
            }
            return Ok(self.refuse(path, "it is a submodule".to_owned()));
        }
        let own = open().and_then(|dir| self.fs.node(dir.as_fd(), GIT.as_ref()).map(drop));
        if own.is_ok() {
            return Ok(self.refuse(path, "it is a repository of its own".to_owned()));
        }
        if !self.is_tracked(path, true)? && self.is_left_out(path, true)? {
            self.leave_out(path)?;
            self.touched.insert(path.to_owned());
            return Ok(Descend::Past);
        }
        if opaque {
            self.left.edits.replace(path);
            self.touched.insert(path.to_owned());
            self.opaque.insert(path.to_owned());
        }
        Ok(Descend::Into)
    }

    /// What `HEAD` changed without the work tree: as after `git reset --soft`, or `git rm --cached`.
    fn untouched(&mut self) -> Result<(), CopyError> {
        let sides = [self.below.shown, self.below.head].map(Some);
        let [shown, head] = sides;
        let changed = diff((&mut *self.objects, &mut *self.trees), shown, head)?;
        for (path, Sides { old, new }) in changed {
            if covers(&self.touched, &path) {
                continue;
            }
            if old.is_none() && covers(self.below.skipped, &path) {
                continue;
            }
            let is_submodule = |leaf: Option<Leaf>| leaf.is_some_and(|leaf| leaf.0 == SUBMODULE);
            if is_submodule(old) && is_submodule(new) {
                continue;
            }
            // The directory of a submodule is empty, which is nothing for git.
            let shown = old.filter(|leaf| leaf.0 != SUBMODULE);
            if shown.is_some() && new.is_none() && self.is_left_out(&path, false)? {
                self.left.ignored.push(path);
            } else {
                self.left.edits.set(&path, shown);
            }
        }
        Ok(())
    }

    /// Returns whether git would not take a path in.
    fn is_left_out(&mut self, path: &Path, is_directory: bool) -> Result<bool, CopyError> {
        if self.below.ignored == Taken::All || self.is_tracked(path, is_directory)? {
            return Ok(false);
        }
        let mut patterns = std::mem::replace(&mut self.patterns, Patterns::new(b""));
        let decided = patterns.leave_out(path, is_directory, &mut |it| self.patterns_of(it));
        self.patterns = patterns;
        decided
    }

    fn is_tracked(&mut self, path: &Path, is_directory: bool) -> Result<bool, CopyError> {
        let bytes = path.as_os_str().as_bytes();
        let in_index = |tracked: &Tracked| {
            if is_directory { tracked.has_below(bytes) } else { tracked.has(bytes) }
        };
        if self.below.tracked.is_some_and(in_index) {
            return Ok(true);
        }
        let found = self.in_head(path)?;
        Ok(found.is_some_and(|(mode, _)| (mode == DIRECTORY) == is_directory))
    }

    fn in_head(&mut self, path: &Path) -> Result<Option<Leaf>, CopyError> {
        self.trees.find(self.objects, &self.below.head, path)
    }

    /// Reads the patterns that a directory has: the layer's file, or what shows through it.
    fn patterns_of(&mut self, directory: &Path) -> Result<Option<Vec<u8>>, CopyError> {
        let path = directory.join(FILE);
        match self.fs.open_below(self.upper, directory, Open::Handle) {
            Ok(dir) => match found(self.fs, At { dir: dir.as_fd(), name: FILE.as_ref() }, &path) {
                Ok(LayerNode::File { size, .. }) if size <= FILE_MAX => {
                    let text = read_all(self.fs, dir.as_fd(), Path::new(FILE));
                    return text.map(Some).map_err(failed("read", &path));
                }
                Ok(_) => return Ok(None),
                Err(error) if error.errno == Errno::NOENT => {}
                Err(error) => return Err(error.into()),
            },
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => return Err(failed("open", directory)(errno)),
        }
        if covers(&self.opaque, directory) { Ok(None) } else { self.shown_patterns(&path) }
    }

    fn shown_patterns(&mut self, path: &Path) -> Result<Option<Vec<u8>>, CopyError> {
        let found = self.trees.find(self.objects, &self.below.shown, path)?;
        let Some((FILE_MODE | EXECUTABLE_MODE, id)) = found else { return Ok(None) };
        let mut text = Vec::new();
        match self.objects.read(&id, Limit(FILE_MAX), &mut text) {
            Err(CopyError::Git(GitError::ObjectSize { .. })) => Ok(None),
            read => read.map(|_| Some(text)),
        }
    }
}
