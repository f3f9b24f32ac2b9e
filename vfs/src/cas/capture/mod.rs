//! What a command did to a tree that it could change, as objects that are staged for the store.
//!
//! The layer is what a command left: it is read where it can do no harm, and nothing that was read
//! there is published before [`land_staged`] has hashed it again.

mod diff;
mod directories;
mod error;
mod export;
mod land;
mod stage;
#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

pub use error::CaptureError;
pub use export::export;
pub use land::{is_sound, land_staged};

use super::{Digest, Store};
use crate::fs::{Errno, Fs, Kind};
use crate::layer::{Descend, LayerEntry, LayerNode, walk};
use crate::snapshot::Bounds;
use crate::working_copy::{Captured, RefusedPath};
use diff::{Difference, Differences};
use directories::{Below, Directories, Leaf, leaves, read};
use error::failed;
use stage::Staging;

/// The most paths of one list that are told.
const TOLD: usize = 10_000;
/// The longest target of a symbolic link (PATH_MAX of limits.h, without its NUL).
const TARGET_MAX: usize = 4095;

/// Where a command worked, and on what.
pub struct ChangedSource<'a> {
    /// The layer that took its changes.
    pub upper: BorrowedFd<'a>,
    /// An empty directory for new objects: `<2 digits>/<62 digits>`.
    pub staging: BorrowedFd<'a>,
    /// The store that has the tree.
    pub store: &'a Store<'a>,
    /// The tree at the start.
    pub base: Digest,
    /// What the changed tree may be.
    pub bounds: Bounds,
    /// The paths of which what was left is wanted, with all that is below them; all without these.
    pub wanted: Option<&'a [String]>,
}

/// Reads what a command left; nobody may be changing it any more. Of the tree at the start it
/// reads the directories that lead to a change, of the layer everything that is wanted: of what is not, the tree
/// stays as it was, no content is read that was not there before, and its paths are told. An unchanged tree has the
/// digest that it had.
///
/// # Errors
/// Something can't be read or written, or the layer passes the bounds. What was staged until then
/// is of no use.
pub fn capture(fs: &dyn Fs, source: &ChangedSource<'_>) -> Result<Captured, CaptureError> {
    let directories = Directories::new(source.store, source.base, source.bounds)?;
    let staging = Staging::new(fs, source.staging);
    let (entries, bytes, refused, unwanted) = (0, 0, Vec::new(), Vec::new());
    let (bounds, wanted) = (source.bounds, source.wanted);
    let mut look =
        Look { fs, bounds, wanted, directories, staging, entries, bytes, refused, unwanted };
    walk(fs, source.upper, &mut |entry| look.entry(entry))?;
    let Look { directories, mut staging, refused, unwanted, .. } = look;
    let (tip, made) = directories.apply(&mut staging)?;
    let read = |digest: &Digest| match made.get(digest) {
        Some(listing) => Ok(leaves(listing)),
        None => Ok(leaves(&read(source.store, digest, source.bounds)?)),
    };
    let changes = Differences::new(&read, source.bounds).all(source.base, tip)?;
    let refused = refused.into_iter().take(TOLD);
    Ok(Captured {
        tip: tip.to_string(),
        is_made: tip != source.base,
        references: std::collections::BTreeMap::new(),
        changed: changes.len() as u64,
        changes: changes.into_iter().take(TOLD).map(Difference::changed).collect(),
        ignored: Vec::new(),
        refused: refused.collect(),
        unwanted,
        objects: staging.count(),
    })
}

/// Returns what comes of a layer without entries.
pub fn unchanged(base: Digest) -> Captured {
    Captured {
        tip: base.to_string(),
        is_made: false,
        references: std::collections::BTreeMap::new(),
        changed: 0,
        changes: Vec::new(),
        ignored: Vec::new(),
        refused: Vec::new(),
        unwanted: Vec::new(),
        objects: 0,
    }
}

struct Look<'a> {
    fs: &'a dyn Fs,
    bounds: Bounds,
    wanted: Option<&'a [String]>,
    directories: Directories<'a>,
    staging: Staging<'a>,
    entries: usize,
    bytes: u64,
    refused: Vec<RefusedPath>,
    unwanted: Vec<PathBuf>,
}

impl Look<'_> {
    fn entry(&mut self, entry: &LayerEntry<'_>) -> Result<Descend, CaptureError> {
        let path = entry.path;
        self.entries += 1;
        if self.entries > self.bounds.entries {
            return Err(CaptureError::TooMuch { what: "paths", most: self.bounds.entries as u64 });
        }
        if !self.is_wanted(path) {
            return self.pass(entry);
        }
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Ok(self.refuse(path, "its name is no UTF-8"));
        };
        if path.as_os_str().len() > self.bounds.path {
            return Ok(self.refuse(path, "its path is too long"));
        }
        match &entry.found {
            LayerNode::Directory { .. } if path.components().count() >= self.bounds.depth => {
                return Ok(self.refuse(path, "it is in too many directories"));
            }
            LayerNode::Directory { opaque } => {
                let below = if *opaque { Below::Hidden } else { Below::Shows };
                self.directories.enter(path, name, below)?;
                return Ok(Descend::Into);
            }
            LayerNode::Whiteout => self.directories.set(path, name, None),
            LayerNode::Special(what) => {
                return Ok(self.refuse(path, &format!("{what} is in no tree")));
            }
            LayerNode::Symlink(target) => match target.to_str() {
                Some(target) if target.len() <= TARGET_MAX => {
                    self.directories.set(path, name, Some(Leaf::Symlink(target.to_owned())));
                }
                _ => return Ok(self.refuse(path, "its target is no UTF-8")),
            },
            LayerNode::File { .. } => return self.file(entry, name),
        }
        Ok(Descend::Past)
    }

    /// Whether a path is wanted, or leads to one that is.
    fn is_wanted(&self, path: &Path) -> bool {
        let is_of =
            |wanted: &String| path.starts_with(wanted) || Path::new(wanted).starts_with(path);
        self.wanted.is_none_or(|wanted| wanted.iter().any(is_of))
    }

    /// Tells of something that is not wanted, unless it is what the tree has there.
    fn pass(&mut self, entry: &LayerEntry<'_>) -> Result<Descend, CaptureError> {
        let path = entry.path;
        let shown = path.file_name().and_then(|name| name.to_str());
        let shown = shown.and_then(|name| self.directories.shown(path, name).map(|it| (name, it)));
        let is_same = match (&entry.found, shown) {
            (LayerNode::Directory { .. }, _) if path.components().count() >= self.bounds.depth => {
                return Ok(self.tell(path));
            }
            (LayerNode::Directory { opaque }, shown) => {
                match shown {
                    Some((name, Leaf::Directory(_))) if !opaque => {
                        self.directories.enter(path, name, Below::Shows)?;
                    }
                    _ => drop(self.tell(path)),
                }
                return Ok(Descend::Into);
            }
            (LayerNode::Whiteout, shown) => shown.is_none(),
            (LayerNode::Symlink(target), Some((_, Leaf::Symlink(had)))) => {
                target.to_str() == Some(&had)
            }
            (LayerNode::File { .. }, Some((_, had))) => self.is_as_it_was(entry, &had)?,
            _ => false,
        };
        Ok(if is_same { Descend::Past } else { self.tell(path) })
    }

    fn tell(&mut self, path: &Path) -> Descend {
        if self.unwanted.len() < TOLD {
            self.unwanted.push(path.to_owned());
        }
        Descend::Past
    }

    /// Whether a file is what the tree has there.
    fn is_as_it_was(&mut self, entry: &LayerEntry<'_>, had: &Leaf) -> Result<bool, CaptureError> {
        let (path, Leaf::File { digest, executable }) = (entry.path, had) else { return Ok(false) };
        let Ok(file) = self.fs.open_file(entry.at.dir, entry.at.name) else { return Ok(false) };
        let status = self.fs.status_of(file.as_fd()).map_err(failed("look at", path))?;
        let is_alike = status.kind == Kind::File
            && status.size == digest.size
            && (status.mode & 0o111 != 0) == *executable;
        Ok(is_alike && self.staging.hash(file.as_fd(), status.size, path)? == *digest)
    }

    fn file(&mut self, entry: &LayerEntry<'_>, name: &str) -> Result<Descend, CaptureError> {
        let path = entry.path;
        let file = match self.fs.open_file(entry.at.dir, entry.at.name) {
            Err(Errno::ACCESS) => return Ok(self.refuse(path, "it can't be read")),
            result => result.map_err(failed("open", path))?,
        };
        let status = self.fs.status_of(file.as_fd()).map_err(failed("look at", path))?;
        if status.kind != Kind::File {
            return Err(failed("open", path)(Errno::STALE));
        }
        self.bytes = self.bytes.saturating_add(status.size);
        if self.bytes > self.bounds.bytes {
            return Err(CaptureError::TooMuch { what: "bytes", most: self.bounds.bytes });
        }
        let digest = self.staging.hash(file.as_fd(), status.size, path)?;
        if !self.directories.had(path, name, &digest) {
            self.staging.put_file(file.as_fd(), &digest, path)?;
        }
        // As `put_tree` counts it.
        let leaf = Leaf::File { digest, executable: status.mode & 0o111 != 0 };
        self.directories.set(path, name, Some(leaf));
        Ok(Descend::Past)
    }

    /// What is refused stays as the tree had it.
    fn refuse(&mut self, path: &Path, why: &str) -> Descend {
        self.refused.push(RefusedPath { path: path.to_owned(), why: why.to_owned() });
        Descend::Past
    }
}
