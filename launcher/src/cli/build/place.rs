//! Outputs in the project's directory.
//!
//! What stands at the place of an output is replaced when a build put it there and nobody changed it since;
//! anything else is somebody's, and the build fails before it executes anything. What somebody changed there since is
//! found when the action is over.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use endow_policy::{Action, Output, Stated};
use endow_vfs::action::{Left, LeftNode};
use endow_vfs::cas::{Damage, Digest, Store, StoreError};
use endow_vfs::fs::{At, Errno, Fs, Kind, Open, OsFs, write_all};
use endow_vfs::inputs::{Folder, Leaf};
use endow_vfs::materialize::ContentError;
use endow_vfs::snapshot::Bounds;
use endow_vfs::tree::remove_tree;

use super::inputs::Sources;
use super::output_log::OutputLog;
use super::standing::{Look, Stamps};
use super::times;
use crate::cli::error::{self, CommandError, failed, of_store};
use crate::trees;

/// The longest name (NAME_MAX of limits.h).
const NAME_MAX: usize = 255;
/// The names under which outputs are made, which are no inputs.
pub(super) const PREFIX: &str = ".endow-build-";

/// Puts outputs in place.
pub(super) struct Placer<'s> {
    sources: &'s Sources<'s>,
    store: &'s Store<'s>,
    log: OutputLog,
    /// What stood at the places of outputs, and what was put there.
    stamps: Stamps,
    /// Anything that stands there is replaced.
    is_forced: bool,
    /// What this build put at a path.
    put: BTreeMap<String, String>,
}

impl<'s> Placer<'s> {
    /// Puts outputs into the directory of the sources, whose log this is.
    pub(super) fn new(
        (sources, store): (&'s Sources<'s>, &'s Store<'s>),
        log: OutputLog,
        (stamps, is_forced): (Stamps, bool),
    ) -> Self {
        Self { sources, store, log, stamps, is_forced, put: BTreeMap::new() }
    }

    /// Checks that the outputs of an action can be put, and that nothing is replaced which is not a build's own.
    pub(super) fn check(&self, action: &Action) -> Result<(), CommandError> {
        let mut paths = action.outputs.iter().map(|it| it.value.path.as_str());
        let refused = paths.find_map(|path| Some((path, self.refused(path)?)));
        refused.map_or(Ok(()), |(path, (error, hint))| {
            let asked = format!("{path} is an output of {}, {}", action.name, action.origin);
            Err(error.cause(asked).hint(hint))
        })
    }

    /// Returns why nothing can be put at a path, and what helps.
    fn refused(&self, path: &str) -> Option<(CommandError, &'static str)> {
        if let Some((above, kind)) = self.in_the_way(path) {
            let is_link = kind == Kind::Symlink;
            let what = if is_link { "a link, which is not followed" } else { "no directory" };
            let error = usage("no output can be put there").about(path);
            let error = error.cause(format!("{} is {what}", above.display()));
            return Some((error, "name another place, or make a directory there"));
        }
        let taken = self.taken(path)?;
        let error = usage("no build made what stands there").about(taken.display());
        Some((error, "move it away, or replace it with `--force`"))
    }

    /// Returns what at a path no build put there, or that path itself; then none may put anything there.
    fn taken(&self, path: &str) -> Option<PathBuf> {
        if self.is_forced {
            return None;
        }
        match self.another(path) {
            Ok(None) => {
                let is_own = |standing: String| self.log.has(path, &standing);
                let is_taken = self.standing(path).is_some_and(|standing| !is_own(standing));
                is_taken.then(|| path.into())
            }
            Ok(another) => another,
            Err(_) => Some(path.into()),
        }
    }

    /// Returns what stands above a path and is no directory, so that nothing can be put there; no link is followed.
    fn in_the_way(&self, path: &str) -> Option<(PathBuf, Kind)> {
        let root = self.sources.root().as_fd();
        let mut above: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
        above.retain(|it| !it.as_os_str().is_empty());
        above.into_iter().rev().find_map(|it| {
            let kind = OsFs.status(root, it.as_os_str()).ok()?.kind;
            (kind != Kind::Directory).then(|| (it.to_owned(), kind))
        })
    }

    /// Removes what a build of this directory left beside its outputs that was killed.
    pub(super) fn clear<'a>(&self, outputs: impl Iterator<Item = &'a Stated<Output>>) {
        let paths = outputs.map(|it| it.value.path.as_str()).filter(|path| self.log.knows(path));
        for path in paths {
            let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
            let root = self.sources.root().as_fd();
            if let Ok(dir) = OsFs.open_below(root, Path::new(above), Open::Handle) {
                // What stays is told of when the output is put.
                drop(remove_tree(&OsFs, dir.as_fd(), &half(name)));
            }
        }
    }

    /// Names something at a path that the build does not know: of what it does not look at, nothing.
    fn another(&self, path: &str) -> Result<Option<PathBuf>, Errno> {
        let standing = self.sources.standing(path);
        let files: BTreeSet<&Path> = standing.iter().map(|(path, _)| Path::new(path)).collect();
        let is_put = self.put.contains_key(path);
        let known = |file: &Path, stamp| {
            (is_put || files.contains(file)) && self.stamps.get(file) == Some(&stamp)
        };
        Look::new(&known).at(self.sources.root().as_fd(), path)
    }

    /// Notes what was put at a path.
    fn note_put(&mut self, path: &str, named: String) {
        let mut look = Look::new(&|_, _| true);
        drop(look.at(self.sources.root().as_fd(), path));
        self.stamps.append(&mut look.seen);
        self.put.insert(path.to_owned(), named);
    }

    /// Fails where somebody changed what is to be replaced after the build had looked at it.
    fn check_unchanged(&self, path: &str) -> Result<(), CommandError> {
        if self.is_forced {
            return Ok(());
        }
        let another = self.another(path).map_err(unplaced)?;
        another.map_or(Ok(()), |another| {
            let what = "somebody changed what stands there while the build went on";
            let error = CommandError::new(error::Kind::Usage, what).about(another.display());
            Err(error.hint("move it away and build again, or replace it with `--force`"))
        })
    }

    /// Puts the outputs of an action where they belong, unless the same is there; none, when one can't be.
    pub(super) fn place(&mut self, outputs: &[Left]) -> Result<(), CommandError> {
        let whole: Vec<Whole> =
            outputs.iter().map(|left| self.whole(left)).collect::<Result<_, _>>()?;
        let all: Vec<_> = whole.iter().flat_map(|it| it.leaves.iter().cloned()).collect();
        if let Some(why) = self.sources.rules().refuses_any(&all, self.sources.root().as_fd()) {
            return Err(
                CommandError::new(error::Kind::Policy, "that can't be an output").about(why)
            );
        }
        let mut new = Vec::new();
        for (left, whole) in outputs.iter().zip(whole) {
            let named = whole.name()?;
            let there = self.put.get(&left.path).cloned().or_else(|| self.standing(&left.path));
            if there.as_ref() == Some(&named) && self.stands(&left.path, &whole) {
                self.log.note(&left.path, &named)?;
            } else {
                self.check_unchanged(&left.path)?;
                new.push((left, named));
            }
        }
        for (left, named) in new {
            self.log.note(&left.path, &named)?;
            self.put(left).map_err(|error| error.about(&left.path))?;
            self.note_put(&left.path, named);
        }
        Ok(())
    }

    /// Whether all of an output is still at its place: somebody may have changed what stood there, or was put there.
    fn stands(&self, path: &str, whole: &Whole) -> bool {
        let known = |file: &Path, stamp| {
            self.stamps.get(file) == Some(&stamp) || self.is_alike(file, whole).unwrap_or_default()
        };
        let mut look = Look::new(&known);
        let is_known = look.at(self.sources.root().as_fd(), path) == Ok(None);
        let is_seen = |(path, _): &(String, Leaf)| look.seen.contains_key(Path::new(path));
        is_known && look.directories == whole.directories && whole.leaves.iter().all(is_seen)
    }

    /// Whether a file that was touched meanwhile, as a hard link to it does, is still that of an output.
    fn is_alike(&self, file: &Path, whole: &Whole) -> Option<bool> {
        let is_it = |leaf: &&(String, Leaf)| Path::new(&leaf.0) == file;
        let (_, leaf) = whole.leaves.iter().find(is_it)?;
        let Leaf::File { digest, executable } = leaf else { return None };
        let above = file.parent().filter(|it| !it.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let dir = OsFs.open_below(self.sources.root().as_fd(), above, Open::Handle).ok()?;
        let opened = OsFs.open_file(dir.as_fd(), file.file_name()?).ok()?;
        let status = OsFs.status_of(opened.as_fd()).ok()?;
        if status.kind != Kind::File || (status.mode & 0o100 != 0) != *executable {
            return None;
        }
        trees::read_content(opened.as_fd(), |_| Ok(())).ok().map(|found| found == *digest)
    }

    /// Names what stood at a path when the build began: all of its files, with their contents.
    fn standing(&self, path: &str) -> Option<String> {
        let standing = self.sources.standing(path);
        if standing.is_empty() {
            return None;
        }
        name(standing.iter().map(|(path, leaf)| (path.as_str(), *leaf)))
    }

    /// Returns all of an output.
    fn whole(&self, left: &Left) -> Result<Whole, CommandError> {
        let leaf = match &left.node {
            LeftNode::File { digest, executable } => {
                Leaf::File { digest: *digest, executable: *executable }
            }
            LeftNode::Symlink { target } => Leaf::Symlink { target: target.clone() },
            LeftNode::Directory { root, .. } => {
                let tree = Folder::of_store(self.store, root, Bounds::default());
                let tree = tree.map_err(|error| failed("can't read an output", &error))?;
                return Ok(Whole::of(&left.path, &tree));
            }
        };
        Ok(Whole { leaves: vec![(left.path.clone(), leaf)], directories: BTreeSet::new() })
    }

    fn put(&self, left: &Left) -> Result<(), CommandError> {
        let (above, name) = left.path.rsplit_once('/').unwrap_or(("", &left.path));
        let dir = way(self.sources.root(), above).map_err(unplaced)?;
        let temporary = half(name);
        let to = At { dir: dir.as_fd(), name: &temporary };
        // What a build left that was killed.
        remove_tree(&OsFs, dir.as_fd(), &temporary)
            .map_err(|left| failed("can't put an output in place", &left))?;
        let made = self.make(left, to);
        let put = made
            .and_then(|()| replace(dir.as_fd(), &temporary, OsStr::new(name)).map_err(unplaced));
        if put.is_err() {
            // Half of an output must not keep a disk full; a later build looks for it again.
            drop(remove_tree(&OsFs, dir.as_fd(), &temporary));
        }
        put
    }

    fn make(&self, Left { path, node }: &Left, to: At<'_>) -> Result<(), CommandError> {
        match node {
            LeftNode::File { digest, executable } => self.file(digest, *executable, to),
            LeftNode::Symlink { target } => {
                OsFs.make_symlink(OsStr::new(target), to.dir, to.name).map_err(unplaced)
            }
            LeftNode::Directory { root, .. } => {
                OsFs.make_dir(to.dir, to.name, 0o755).map_err(unplaced)?;
                let made = OsFs.open_dir(to.dir, to.name).map_err(unplaced)?;
                trees::copy(self.store.path(), root, made.as_fd(), &|_| {})
                    .map_err(|error| failed("can't make an output", &error))?;
                self.set_times(root, made.as_fd(), path)
            }
        }
    }

    fn set_times(
        &self,
        tree: &Digest,
        made: BorrowedFd<'_>,
        path: &str,
    ) -> Result<(), CommandError> {
        let tree = Folder::of_store(self.store, tree, Bounds::default());
        let tree = tree.map_err(|error| failed("can't read an output", &error))?;
        let standing = self.sources.folder(path).filter(|_| !self.put.contains_key(path));
        let before = times::Before { root: self.sources.root().as_fd(), path, tree: standing };
        times::set(made, &tree, &before).map_err(unplaced)
    }

    /// What is written is hashed: an object that is damaged becomes no output, and is removed, so that
    /// the action makes it anew.
    fn file(&self, digest: &Digest, executable: bool, to: At<'_>) -> Result<(), CommandError> {
        let object = self.store.open_object(digest).map_err(|error| of_store(&error))?;
        let file = OsFs.create_file_as(to, if executable { 0o755 } else { 0o644 });
        let file = file.map_err(|errno| {
            let error = CommandError::new(error::Kind::Setup, "can't write an output");
            error.cause(io::Error::from(errno))
        })?;
        let found = trees::read_content(object.as_fd(), |bytes| {
            write_all(&OsFs, file.as_fd(), bytes)
                .map_err(|errno| ContentError::Io { action: "write", errno })
        });
        match found {
            Ok(found) if found == *digest => Ok(()),
            Ok(_) => {
                self.store.remove(digest).map_err(|error| of_store(&error))?;
                let damage = Damage::Hash;
                Err(of_store(&StoreError::Damaged { digest: *digest, damage }))
            }
            Err(error) => Err(failed("can't write an output", &error)),
        }
    }
}

/// All of an output, by whole paths.
struct Whole {
    /// Its files and links.
    leaves: Vec<(String, Leaf)>,
    /// Its directories, also those in which nothing is.
    directories: BTreeSet<PathBuf>,
}

impl Whole {
    fn of(path: &str, tree: &Folder) -> Self {
        let leaves = tree.leaves().into_iter();
        let leaves = leaves.map(|(below, leaf)| (format!("{path}/{below}"), leaf.clone()));
        let directories = tree.all().into_iter();
        let directories = directories.map(|(below, _)| Path::new(path).join(below));
        Self { leaves: leaves.collect(), directories: directories.collect() }
    }

    /// Names its files: directories without any are nobody's.
    fn name(&self) -> Result<String, CommandError> {
        let named = name(self.leaves.iter().map(|(path, leaf)| (path.as_str(), leaf)));
        named.ok_or_else(|| CommandError::new(error::Kind::Bug, "no tree of outputs"))
    }
}

/// Returns the name under which an output is made.
fn half(name: &str) -> OsString {
    format!("{PREFIX}{}", beginning(name)).into()
}

fn usage(message: &str) -> CommandError {
    CommandError::new(error::Kind::Usage, message)
}

/// Returns as much of a name as fits behind another part.
fn beginning(name: &str) -> &str {
    name.get(..name.floor_char_boundary(NAME_MAX - PREFIX.len())).unwrap_or(name)
}

fn unplaced(errno: Errno) -> CommandError {
    let error = CommandError::new(error::Kind::Setup, "can't put an output in place");
    error.cause(io::Error::from(errno))
}

/// Names files by their paths and contents.
fn name<'l>(leaves: impl IntoIterator<Item = (&'l str, &'l Leaf)>) -> Option<String> {
    let tree = Folder::new(leaves).ok()?;
    tree.digest().ok().map(|digest| digest.to_string())
}

/// Opens a directory below the root and makes it where it is missing; no link is followed.
fn way(root: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let mut dir = OsFs.open_below(root.as_fd(), Path::new("."), Open::Handle)?;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        match OsFs.make_dir(dir.as_fd(), OsStr::new(name), 0o755) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        dir = OsFs.open_below(dir.as_fd(), Path::new(name), Open::Handle)?;
    }
    Ok(dir)
}

/// Puts a new file or directory in the place of an old one, which is one or the other.
fn replace(dir: BorrowedFd<'_>, new: &OsStr, name: &OsStr) -> Result<(), Errno> {
    match OsFs.rename(dir, new, name) {
        // A directory takes the place of an empty one alone.
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ISDIR | Errno::NOTDIR) => {
            OsFs.exchange(At { dir, name: new }, At { dir, name })?;
            remove_tree(&OsFs, dir, new).map_err(|_| Errno::NOTEMPTY)
        }
        renamed => renamed,
    }
}
