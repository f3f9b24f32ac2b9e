//! Recording a tree that is being changed.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::cut::wait_for_cut;
use super::list::{Entry, FILES, Kept, Left, Writer};
use super::tracked::Tracked;
use crate::fs::{At, Errno, Fs, Kind, Node, Result};
use crate::git_blob::Name;
use crate::sync::apply::copy::{Owner, copy_leaf};
use crate::sync::apply::number_name;
use crate::sync::collect::users;
use crate::sync::root::{Closed, Root};
use crate::sync::{Seen, Time};
use crate::tree::remove_tree;

/// Directories that every tool makes again.
const CACHES: &[&str] = &["node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"];
/// The file that says the same of any directory (bford.info/cachedir).
const TAG: &str = "CACHEDIR.TAG";
const SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// How much a checkpoint copies.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most bytes of one file.
    pub file_bytes: u64,
    /// The most bytes of all files.
    pub bytes: u64,
    /// The most files.
    pub files: u32,
    /// The most names.
    pub entries: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 64 << 20, bytes: 1 << 30, files: 200_000, entries: 2_000_000 }
    }
}

/// What is recorded, and where to.
pub struct Recording<'a> {
    /// The root of the tree.
    pub root: BorrowedFd<'a>,
    /// The run's directory for it, empty and open for listing.
    pub place: BorrowedFd<'a>,
    /// The run's start: what changed at that time or later is not what was there before.
    pub stamp: Time,
    /// Names that the command does not see, and so can't change.
    pub hidden: &'a [PathBuf],
    /// How much is copied.
    pub limits: Limits,
    /// Asked between two names: whether the run is over.
    pub is_over: &'a dyn Fn() -> bool,
}

/// Records the tree: all names first, which is quick, then what is copied. The command may do anything
/// with it meanwhile: nothing is followed, no other mount is entered, and what changes under way counts
/// as not recorded.
///
/// # Errors
/// The record can't be written; what is there of it holds.
pub fn record(fs: &dyn Fs, recording: &Recording<'_>) -> Result<()> {
    fs.make_dir(recording.place, OsStr::new(FILES), 0o700)?;
    let files = fs.open_dir(recording.place, OsStr::new(FILES))?;
    let mut recorder = Recorder {
        fs,
        of: recording,
        root: Root::new(fs, recording.root, Closed::Stay),
        files,
        list: Writer::create(fs, recording.place)?,
        tracked: None,
        directories: Vec::new(),
        entries: 0,
        copied: 0,
        bytes: 0,
    };
    recorder.names()?;
    recorder.list.flush()?;
    recorder.tracked = Tracked::open(fs, recording.root, recording.place);
    recorder.contents()?;
    recorder.list.flush()
}

struct Recorder<'r> {
    fs: &'r dyn Fs,
    of: &'r Recording<'r>,
    root: Root<'r>,
    files: OwnedFd,
    list: Writer<'r>,
    tracked: Option<Tracked<'r>>,
    /// Directories with the inodes that they are, those above before those below.
    directories: Vec<(PathBuf, Seen)>,
    entries: u32,
    copied: u32,
    bytes: u64,
}

impl Recorder<'_> {
    /// The command may make names without end; what is not recorded is not covered.
    fn is_over(&self) -> bool {
        self.entries >= self.of.limits.entries || (self.of.is_over)()
    }

    /// Whether nothing of an entry changed since the start.
    fn is_old(&self, seen: &Seen) -> bool {
        !seen.changed.may_be_since(self.of.stamp)
    }

    /// Records names level by level: a command mostly begins at the top.
    fn names(&mut self) -> Result<()> {
        let seen = Seen::from(&self.fs.node(self.of.root, OsStr::new(""))?);
        self.directories.push((PathBuf::new(), seen));
        let (path, kept) = (PathBuf::new(), Kept::Directory);
        self.list.entry(Entry { user: Some(Vec::new()), ..Entry::new(path, seen, kept) })?;
        let mut next = 0;
        while let Some((path, seen)) = self.directories.get(next).cloned() {
            if self.is_over() {
                break;
            }
            self.directory(&path, &seen)?;
            next += 1;
        }
        Ok(())
    }

    /// Opens a directory that still is the one that was found there.
    fn open(&mut self, path: &Path, expected: &Seen) -> Option<(OwnedFd, Seen)> {
        let listed = self.root.list(path).ok()?;
        let now = self.fs.node(listed.as_fd(), OsStr::new("")).ok()?;
        let now = Seen::from(&now);
        now.is_same_inode(expected).then_some((listed, now))
    }

    /// Records the names of a directory. One that is not the one that was found there any more, or
    /// can't be opened, is not listed.
    fn directory(&mut self, path: &Path, expected: &Seen) -> Result<()> {
        let Some((listed, before)) = self.open(path, expected) else { return Ok(()) };
        let Ok(entries) = self.fs.list(listed.as_fd(), usize::MAX) else { return Ok(()) };
        let user = self.fs.attributes(At { dir: listed.as_fd(), name: OsStr::new("") }).map(users);
        let mut is_whole = self.is_old(&before) && user.is_ok();
        for entry in entries {
            let path = path.join(&entry.name);
            if self.of.hidden.contains(&path) {
                continue;
            }
            if self.is_over() {
                return Ok(());
            }
            is_whole &= self.name(path, At { dir: listed.as_fd(), name: &entry.name })?;
        }
        // Where names came or went since the start, those that are there may be others, and so may be its attributes.
        let after = self.fs.node(listed.as_fd(), OsStr::new("")).map(|node| Seen::from(&node));
        if is_whole && after.is_ok_and(|after| self.is_old(&after)) {
            let user = user.ok().filter(|user| !user.is_empty());
            let bytes = user.iter().flatten().map(|(_, value)| value.len() as u64).sum();
            if self.bytes.saturating_add(bytes) > self.of.limits.bytes {
                return Ok(());
            }
            self.bytes = self.bytes.saturating_add(bytes);
            if user.is_some() {
                let entry = Entry::new(path.to_owned(), *expected, Kept::Directory);
                self.list.entry(Entry { user, ..entry })?;
            }
            self.list.listed(path.to_owned())?;
        }
        Ok(())
    }

    /// Records a name; returns whether there was something to record.
    fn name(&mut self, path: PathBuf, at: At<'_>) -> Result<bool> {
        let Ok(node) = self.fs.node(at.dir, at.name) else { return Ok(false) };
        let seen = Seen::from(&node);
        let is_old = self.is_old(&seen);
        let kept = match seen.kind {
            Kind::Other => Kept::Left(Left::Special),
            Kind::Directory if is_old || self.stood(at, &seen) => self.kept_directory(at, is_old),
            // It is younger than the run, or had another name: something else may have stood here.
            _ if !is_old => Kept::Left(Left::Changed),
            _ => Kept::Name,
        };
        if kept == Kept::Directory {
            self.directories.push((path.clone(), seen));
        }
        self.entries += 1;
        let owner = other_owner(&node);
        self.list.entry(Entry { owner, ..Entry::new(path, seen, kept) }).map(|()| true)
    }

    /// Records what files and links hold that did not change since the start.
    fn contents(&mut self) -> Result<()> {
        for (path, seen) in std::mem::take(&mut self.directories) {
            if (self.of.is_over)() {
                break;
            }
            let Some((listed, _)) = self.open(&path, &seen) else { continue };
            let Ok(entries) = self.fs.list(listed.as_fd(), usize::MAX) else { continue };
            for entry in entries {
                let at = At { dir: listed.as_fd(), name: &entry.name };
                self.content(path.join(&entry.name), at)?;
            }
        }
        Ok(())
    }

    fn content(&mut self, path: PathBuf, at: At<'_>) -> Result<()> {
        if self.of.hidden.contains(&path) || (self.of.is_over)() {
            return Ok(());
        }
        let Ok(node) = self.fs.node(at.dir, at.name) else { return Ok(()) };
        let seen = Seen::from(&node);
        let has_content = matches!(seen.kind, Kind::File | Kind::Symlink);
        if !has_content || !self.is_old(&seen) {
            return Ok(());
        }
        let (kept, is_less) = match self.kept_by_git(&path, at, &node) {
            Some(name) => (Kept::Git(name), false),
            None => self.kept_copy(at, &node)?,
        };
        // That its name is known says as much.
        if kept == Kept::Left(Left::Changed) {
            return Ok(());
        }
        let owner = other_owner(&node);
        self.list.entry(Entry { owner, is_less, ..Entry::new(path, seen, kept) })
    }

    /// Returns whether a directory that changed since the start had its name then: a rename changes
    /// the directory above, too, which is looked at afterwards.
    fn stood(&self, at: At<'_>, seen: &Seen) -> bool {
        let above = self.fs.node(at.dir, OsStr::new("")).map(|node| Seen::from(&node));
        let is_younger = seen.born.is_none_or(|born| born.may_be_since(self.of.stamp));
        !is_younger && above.is_ok_and(|above| self.is_old(&above))
    }

    /// What the command did to a directory since the start is no reason to leave it out.
    fn kept_directory(&self, at: At<'_>, is_old: bool) -> Kept {
        let opened = match self.fs.open_dir_here(at.dir, at.name) {
            Err(Errno::XDEV) => return Kept::Left(Left::MountPoint),
            Err(_) if is_old => return Kept::Left(Left::Unreadable),
            Err(_) => return Kept::Left(Left::Changed),
            Ok(opened) => opened,
        };
        if at.name == ".git" {
            return Kept::Left(Left::Repository);
        }
        let is_cache = CACHES.iter().any(|name| at.name == *name) || self.is_tagged(&opened);
        if is_cache { Kept::Left(Left::Cache) } else { Kept::Directory }
    }

    fn is_tagged(&self, directory: &OwnedFd) -> bool {
        let Ok(file) = self.fs.open_file(directory.as_fd(), OsStr::new(TAG)) else { return false };
        let mut text = [0; SIGNATURE.len()];
        let is_old = self.fs.node(directory.as_fd(), OsStr::new(TAG));
        is_old.is_ok_and(|node| self.is_old(&Seen::from(&node)))
            && self.fs.read(file.as_fd(), &mut text).is_ok_and(|length| length == text.len())
            && text == SIGNATURE
    }

    /// Returns git's name of a file's content. Attributes are nothing that git has.
    fn kept_by_git(&mut self, path: &Path, at: At<'_>, node: &Node) -> Option<Name> {
        let tracked = self.tracked.as_mut().filter(|_| node.status.kind == Kind::File)?;
        let file = self.fs.open_file(at.dir, at.name).ok()?;
        let name = tracked.name(path, file.as_fd(), node)?;
        let is_plain = self.fs.attributes(at).is_ok_and(|attributes| attributes.is_empty());
        (is_plain && self.stayed(Some(&file), at, node)).then_some(name)
    }

    /// Returns whether nobody changed a file or link, or was about to, since it was looked at.
    fn stayed(&self, file: Option<&OwnedFd>, at: At<'_>, node: &Node) -> bool {
        let nobody_cuts = file.is_none_or(|file| wait_for_cut(self.fs, file.as_fd(), at).is_ok());
        let after = self.fs.node(at.dir, at.name).map(|node| Seen::from(&node));
        nobody_cuts && after == Ok(Seen::from(node))
    }

    /// Copies; tells as well whether the copy has fewer privileges than the original.
    fn kept_copy(&mut self, from: At<'_>, node: &Node) -> Result<(Kept, bool)> {
        let size = node.status.size;
        let limits = self.of.limits;
        if size > limits.file_bytes {
            return Ok((Kept::Left(Left::Large), false));
        }
        if self.copied >= limits.files || self.bytes.saturating_add(size) > limits.bytes {
            return Ok((Kept::Left(Left::Full), false));
        }
        // A copy opens up what its owner can't read: that would be a change of the tree.
        let is_file = node.status.kind == Kind::File;
        let file = is_file.then(|| self.fs.open_file(from.dir, from.name)).transpose();
        let Ok(file) = file else { return Ok((Kept::Left(Left::Unreadable), false)) };
        let number = self.copied + 1;
        let name = number_name(number);
        let copied = copy_leaf(self.fs, from, At { dir: self.files.as_fd(), name: &name }, node);
        if let Ok(lacks) = &copied
            && self.stayed(file.as_ref(), from, node)
        {
            self.copied = number;
            self.bytes = self.bytes.saturating_add(node.status.allocated);
            return Ok((Kept::Copy(number), !lacks.is_empty()));
        }
        remove_tree(self.fs, self.files.as_fd(), &name).map_err(|left| left.errno)?;
        let left = match copied {
            Err(Errno::NOSPC | Errno::DQUOT) => Left::Full,
            _ => Left::Changed,
        };
        Ok((Kept::Left(left), false))
    }
}

/// Returns whose a file is, when that is not who makes new ones here.
fn other_owner(node: &Node) -> Option<Owner> {
    Some(Owner::of(node)).filter(|owner| *owner != Owner::own())
}
