//! endow's own directories, which no grant may show.

use std::cell::RefCell;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::fs::{Errno, FileId};

/// One of endow's own directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnDir {
    /// Runs and their undo data.
    State,
    /// Trees that can be made again.
    Cache,
    /// The user's policy and what is trusted.
    Config,
    /// Locks and control sockets.
    Runtime,
}

impl OwnDir {
    /// Returns the word for it in messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Cache => "cache",
            Self::Config => "configuration",
            Self::Runtime => "runtime",
        }
    }
}

/// How the source of a grant lies to endow's own directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It has nothing to do with them.
    Apart,
    /// It is one of them or lies in one: no grant.
    Inside(OwnDir),
    /// It contains some: these names must be masked or covered.
    Contains(Vec<Contained>),
}

/// One of endow's own directories below a grant's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contained {
    /// Which one.
    pub dir: OwnDir,
    /// Its path below the source, links resolved.
    pub relative: PathBuf,
    /// Whether it exists now; where the guest may write, it could make one that doesn't.
    pub exists: bool,
}

/// Why a directory's place can't be told.
#[derive(Debug, thiserror::Error)]
#[error("can't resolve: {}", path.display())]
pub struct OwnDirsError {
    /// The path.
    pub path: PathBuf,
    /// What the kernel said.
    #[source]
    pub error: io::Error,
}

/// Where endow's own directories are, by device and inode.
#[derive(Clone, Debug)]
pub struct EndowDirs {
    dirs: Vec<Known>,
    /// Which of them the directories lie in that are above the sources that were asked about: many
    /// sources have the same one.
    above: RefCell<FxHashMap<Vec<u8>, Option<OwnDir>>>,
}

/// The most links that the kernel follows on one way.
const LINKS_MAX: usize = 40;

/// A path's directories from the root on, links resolved, and the ids of those that exist.
type Chain = Vec<(PathBuf, Option<FileId>)>;

#[derive(Clone, Debug)]
struct Known {
    dir: OwnDir,
    exists: bool,
    /// The directory and those above it, outermost first; those that don't exist have no id.
    chain: Chain,
}

impl EndowDirs {
    /// Looks up the directories as they are now; they need not exist.
    ///
    /// # Errors
    /// A path that can't be followed.
    pub fn resolve<'a>(
        dirs: impl IntoIterator<Item = (OwnDir, &'a Path)>,
    ) -> Result<Self, OwnDirsError> {
        let known = dirs.into_iter().map(|(dir, path)| {
            let chain = chain_of(path).map_err(|error| failed(path, error))?;
            let exists = chain.last().is_some_and(|(_, id)| id.is_some());
            Ok(Known { dir, exists, chain })
        });
        Ok(Self { dirs: known.collect::<Result<_, _>>()?, above: RefCell::default() })
    }

    /// Returns where those are to be that do not exist, links resolved.
    pub fn missing(&self) -> impl Iterator<Item = &Path> {
        let missing = self.dirs.iter().filter(|known| !known.exists);
        missing.filter_map(|known| Some(known.chain.last()?.0.as_path()))
    }

    /// Returns whether one of the directories lies at or below a path whose links are resolved,
    /// going by names alone. Costs no call, and misses what only a bind mount shows.
    pub fn any_below(&self, resolved: &Path) -> bool {
        let places = self.dirs.iter().filter_map(|known| known.chain.last());
        places.into_iter().any(|(path, _)| path.starts_with(resolved))
    }

    /// Tells how a grant's source, its links resolved and looked at before, lies to the directories.
    /// Costs no call when another source in its directory was asked about.
    ///
    /// It compares device and inode at each directory above either, so bind mounts of a directory
    /// above are seen. A bind mount of something *inside* one of endow's directories, granted
    /// through a directory above that mount, is not.
    ///
    /// # Errors
    /// A directory above the source that is not there.
    pub fn relation_found(&self, source: &Path, found: FileId) -> Result<Relation, OwnDirsError> {
        let itself = self.dirs.iter().find(|known| known.id() == Some(found)).map(|it| it.dir);
        match itself.map_or_else(|| self.above(source), |dir| Ok(Some(dir)))? {
            Some(dir) => Ok(Relation::Inside(dir)),
            None => Ok(self.contained(found)),
        }
    }

    /// Returns in which of the directories the one above a source lies.
    fn above(&self, source: &Path) -> Result<Option<OwnDir>, OwnDirsError> {
        let Some(above) = source.parent() else { return Ok(None) };
        if let Some(inside) = self.above.borrow().get(above.as_os_str().as_bytes()) {
            return Ok(*inside);
        }
        let chain = chain_of_resolved(above).map_err(|error| failed(above, error))?;
        let inside = self.inside(&chain);
        self.above.borrow_mut().insert(above.as_os_str().as_bytes().to_vec(), inside);
        Ok(inside)
    }

    fn inside(&self, chain: &[(PathBuf, Option<FileId>)]) -> Option<OwnDir> {
        let ids: Vec<FileId> = chain.iter().filter_map(|(_, id)| *id).collect();
        self.dirs.iter().find(|known| known.is_among(&ids, chain)).map(|known| known.dir)
    }

    /// Returns which of the directories lie below the one with `id`.
    fn contained(&self, id: FileId) -> Relation {
        let contained: Vec<_> = self.dirs.iter().filter_map(|known| known.below(id)).collect();
        if contained.is_empty() { Relation::Apart } else { Relation::Contains(contained) }
    }
}

impl Known {
    fn id(&self) -> Option<FileId> {
        self.chain.last().and_then(|(_, id)| *id)
    }

    /// Returns whether this directory is one of `ids`, or of the paths while it doesn't exist.
    fn is_among(&self, ids: &[FileId], chain: &[(PathBuf, Option<FileId>)]) -> bool {
        match self.chain.last() {
            Some((_, Some(id))) => ids.contains(id),
            Some((path, None)) => chain.iter().any(|(above, _)| above == path),
            None => false,
        }
    }

    /// Returns this directory seen from the one with `id`, if that is above it.
    fn below(&self, id: FileId) -> Option<Contained> {
        let above = self.chain.iter().rposition(|(_, known)| *known == Some(id))?;
        let names = self.chain.get(above + 1..)?.iter().filter_map(|(path, _)| path.file_name());
        let (dir, exists) = (self.dir, self.exists);
        Some(Contained { dir, relative: names.collect(), exists })
    }
}

/// Returns a path's directories from the root on, links resolved as far as the path exists.
fn chain_of(path: &Path) -> io::Result<Chain> {
    let (mut existing, mut missing, mut links) = (path.to_path_buf(), Vec::new(), 0);
    let canonical = loop {
        match existing.canonicalize() {
            Ok(canonical) => break canonical,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // What a link leads to is not there yet: whoever may make it makes the directory.
        if let Ok(to) = existing.read_link() {
            existing.pop();
            existing.push(to);
            links += 1;
            if links > LINKS_MAX {
                return Err(Errno::LOOP.into());
            }
            continue;
        }
        missing.extend(existing.file_name().map(ToOwned::to_owned));
        if !existing.pop() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
    };
    let mut chain = chain_of_resolved(&canonical)?;
    let mut end = canonical.clone();
    for name in missing.into_iter().rev() {
        end.push(name);
        chain.push((end.clone(), None));
    }
    Ok(chain)
}

fn chain_of_resolved(path: &Path) -> io::Result<Chain> {
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    let with_id = |path: &Path| Ok((path.to_path_buf(), Some(id(&path.symlink_metadata()?))));
    above.into_iter().map(with_id).collect()
}

fn id(metadata: &Metadata) -> FileId {
    FileId { dev: metadata.dev(), ino: metadata.ino() }
}

fn failed(path: &Path, error: io::Error) -> OwnDirsError {
    OwnDirsError { path: path.to_owned(), error }
}
