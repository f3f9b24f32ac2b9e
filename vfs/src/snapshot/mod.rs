//! A tree as a value: names, kinds and what each file holds, all of it checked before anything of
//! it is written. What a commit or a digest names comes from others: nothing in it is believed.

mod name;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, hash_map};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub(crate) use name::is_gitmodules;
pub use name::{NameFault, Naming};

/// The longest target of a symbolic link (PATH_MAX of limits.h, without its NUL).
const TARGET_MAX: usize = 4095;

/// A tree without its contents: parents stand before what is in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot<C> {
    entries: Vec<Entry<C>>,
    bytes: u64,
}

/// One path of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<C> {
    /// Where, below the root of the tree; never empty.
    pub path: PathBuf,
    /// What stands there.
    pub node: Node<C>,
}

/// What stands at a path. `C` names the content of a file, as the source of the tree does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node<C> {
    /// A directory.
    Directory,
    /// A regular file.
    File {
        /// Which content.
        content: C,
        /// How many bytes that is.
        size: u64,
        /// Whether it can be executed.
        executable: bool,
    },
    /// A symbolic link.
    Symlink {
        /// Where it leads; nothing follows it.
        target: PathBuf,
    },
}

/// How large a tree may be. Beyond that it is an error, before anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Files, directories and links.
    pub entries: usize,
    /// Bytes in all files together, those that share a content counted each time.
    pub bytes: u64,
    /// Directories above a file.
    pub depth: usize,
    /// Bytes of a path below the root.
    pub path: usize,
    /// Bytes of all paths together: what a tree takes while it is looked at.
    pub paths: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { entries: 4_000_000, bytes: 256 << 30, depth: 512, path: 3072, paths: 512 << 20 }
    }
}

/// Why a tree can't be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// A name that no file can have, or that would mean something else.
    #[error("{}: {fault}", path.display())]
    Name {
        /// The directory and the name.
        path: PathBuf,
        /// What is wrong with the name.
        fault: NameFault,
    },
    /// A directory has the name twice.
    #[error("{}: the name stands there twice", path.display())]
    Twice {
        /// The path of both.
        path: PathBuf,
    },
    /// What it is in is no directory of the tree.
    #[error("{}: it stands in no directory", path.display())]
    NoParent {
        /// The path.
        path: PathBuf,
    },
    /// A link's target is empty, too long or has a NUL.
    #[error("{}: a symbolic link can't have this target", path.display())]
    Target {
        /// The path of the link.
        path: PathBuf,
    },
    /// The tree passes one of its bounds.
    #[error("{}: more than {limit} {of}", path.display())]
    TooLarge {
        /// Where that was found.
        path: PathBuf,
        /// Which bound.
        of: &'static str,
        /// The bound.
        limit: u64,
    },
}

impl<C> Snapshot<C> {
    /// Returns all paths, parents before what is in them.
    pub fn entries(&self) -> &[Entry<C>] {
        &self.entries
    }

    /// Returns the bytes of all files together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Puts a tree together, one entry after the other.
#[derive(Debug)]
pub struct Builder<C> {
    naming: Naming,
    bounds: Bounds,
    /// Whether each path is a directory. Bytes: a path is hashed and compared name by name.
    paths: HashMap<Box<[u8]>, Is>,
    snapshot: Snapshot<C>,
    /// Bytes of all paths.
    named: u64,
}

/// What stands at a path, as far as the next entry asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Directory,
    Other,
}

impl<C> Builder<C> {
    /// Begins an empty tree.
    pub fn new(naming: Naming, bounds: Bounds) -> Self {
        let snapshot = Snapshot { entries: Vec::new(), bytes: 0 };
        let paths = HashMap::from([(Box::default(), Is::Directory)]);
        Self { naming, bounds, paths, snapshot, named: 0 }
    }

    /// Adds an entry of a directory that was added before, and returns its path. The root is the
    /// empty path, and is there from the start.
    ///
    /// # Errors
    /// A name, a target or a place that can't be, a name that is there, or a bound that is passed:
    /// the tree is to be given up then.
    pub fn push(
        &mut self,
        directory: &Path,
        name: &[u8],
        node: Node<C>,
    ) -> Result<&Path, SnapshotError> {
        let path = place(directory, name);
        if let Some(fault) = self.naming.fault(name) {
            return Err(SnapshotError::Name { path, fault });
        }
        if self.paths.get(directory.as_os_str().as_bytes()) != Some(&Is::Directory) {
            return Err(SnapshotError::NoParent { path });
        }
        self.measure(&path, &node)?;
        let is = if matches!(node, Node::Directory) { Is::Directory } else { Is::Other };
        match self.paths.entry(path.as_os_str().as_bytes().into()) {
            hash_map::Entry::Occupied(_) => return Err(SnapshotError::Twice { path }),
            hash_map::Entry::Vacant(free) => drop(free.insert(is)),
        }
        if let Node::Symlink { target } = &node {
            check_target(&path, target)?;
        }
        let entries = &mut self.snapshot.entries;
        entries.push(Entry { path, node });
        Ok(entries.last().map_or(Path::new(""), |entry| &entry.path))
    }

    /// Ends the tree.
    pub fn finish(self) -> Snapshot<C> {
        self.snapshot
    }

    fn measure(&mut self, path: &Path, node: &Node<C>) -> Result<(), SnapshotError> {
        if let Node::File { size, .. } = node {
            self.snapshot.bytes = self.snapshot.bytes.saturating_add(*size);
        }
        let entries = self.snapshot.entries.len() as u64 + 1;
        let bytes = path.as_os_str().as_bytes();
        let depth = bytes.split(|byte| *byte == b'/').count() as u64 - 1;
        let length = bytes.len() as u64;
        self.named += length;
        let bounds = [
            (entries, self.bounds.entries as u64, "files and directories"),
            (self.snapshot.bytes, self.bounds.bytes, "bytes"),
            (depth, self.bounds.depth as u64, "directories above one another"),
            (length, self.bounds.path as u64, "bytes in a path"),
            (self.named, self.bounds.paths, "bytes in all paths"),
        ];
        match bounds.into_iter().find(|(is, limit, _)| is > limit) {
            Some((_, limit, of)) => {
                Err(SnapshotError::TooLarge { path: path.to_owned(), of, limit })
            }
            None => Ok(()),
        }
    }
}

/// Joins as bytes: for `Path::join`, a name with a slash in front is the whole path.
fn place(directory: &Path, name: &[u8]) -> PathBuf {
    let mut bytes = directory.as_os_str().as_bytes().to_vec();
    if !bytes.is_empty() {
        bytes.push(b'/');
    }
    bytes.extend_from_slice(name);
    PathBuf::from(OsString::from_vec(bytes))
}

fn check_target(path: &Path, target: &Path) -> Result<(), SnapshotError> {
    let bytes = target.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.len() > TARGET_MAX || bytes.contains(&0) {
        return Err(SnapshotError::Target { path: path.to_owned() });
    }
    Ok(())
}
