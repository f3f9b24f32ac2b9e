//! Files that were written back and of which no layer has a name any more: from then on their time of
//! change tells every edit, also one that keeps size and time of modification.
//!
//! Of indexes of repositories what they say is noted as well: git writes them anew when it only looks.
//!
//! It is a help, and not synced: where it is missing, torn or of before, an undo compares less.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::collect::io;
use super::follow::Restored;
use super::journal::{UNDO, read, write};
use super::resettle::{Standing, look};
use super::root::{Closed, Root};
use super::{Seen, SyncError, stored};
use crate::fs::{Errno, Fs, Kind, Open, read_all};
use crate::{git_dir, git_index};

/// The name of the index in a git directory.
const INDEX: &str = "index";
/// The longest file that names a reference or an object, and the longest list of references, in bytes.
const LINE: u64 = 4096;
const PACKED: u64 = 64 << 20;
/// How many bytes of indexes of a mount are read: a command may leave any number of them.
pub(super) const INDEXES: u64 = 64 << 20;
const VERSION: u32 = 1;
const ALONE: &str = "alone.json";
const ALONE_NEW: &str = "alone.json.new";

/// What is stored of all mounts.
#[derive(Serialize, Deserialize)]
pub(super) struct Alone {
    version: u32,
    mounts: Vec<OfMount>,
}

#[derive(Serialize, Deserialize)]
struct OfMount {
    mount: u32,
    #[serde(with = "stored::seen")]
    files: Vec<(PathBuf, Seen)>,
    #[serde(default)]
    indexes: Vec<Index>,
}

#[derive(Serialize, Deserialize)]
struct Index {
    #[serde(with = "crate::json_path")]
    path: PathBuf,
    digest: [u8; 32],
}

impl Default for Alone {
    fn default() -> Self {
        Self { version: VERSION, mounts: Vec::new() }
    }
}

impl Alone {
    /// Reads what is known of a run; nothing where that can't be read.
    pub(super) fn read(fs: &dyn Fs, run: BorrowedFd<'_>) -> Self {
        read(fs, run, &Path::new(UNDO).join(ALONE)).ok().flatten().unwrap_or_default()
    }

    /// Returns the files of a mount as they stood.
    pub(super) fn files(&self, mount: u32) -> HashMap<&Path, &Seen> {
        let mounts = self.mounts.iter().filter(|known| known.mount == mount);
        mounts.flat_map(|known| &known.files).map(|(path, seen)| (path.as_path(), seen)).collect()
    }

    /// Notes that a file is there again, as another one.
    pub(super) fn left_again(&mut self, mount: u32, restored: &Restored) {
        let mounts = self.mounts.iter_mut().filter(|known| known.mount == mount);
        let files = mounts.flat_map(|known| &mut known.files);
        for (_, seen) in files.filter(|(path, _)| *path == restored.path) {
            *seen = restored.now;
        }
    }

    /// Puts it in the place of what is stored; without a directory for that there is nothing to note.
    pub(super) fn store(&self, fs: &dyn Fs, run: BorrowedFd<'_>) -> Result<(), SyncError> {
        let undo = match fs.open_below(run, Path::new(UNDO), Open::List) {
            Err(Errno::NOENT) => return Ok(()),
            result => result.map_err(io("open", Path::new(UNDO)))?,
        };
        write(fs, undo.as_fd(), ALONE_NEW, self)?;
        fs.rename(undo.as_fd(), ALONE_NEW.as_ref(), ALONE.as_ref())
            .map_err(io("write", Path::new(ALONE)))
    }

    /// Returns what the indexes of repositories in a mount said.
    pub(super) fn indexes(&self, mount: u32) -> HashMap<&Path, &[u8; 32]> {
        let mounts = self.mounts.iter().filter(|known| known.mount == mount);
        let indexes = mounts.flat_map(|known| &known.indexes);
        indexes.map(|index| (index.path.as_path(), &index.digest)).collect()
    }
}

/// Notes what of the files that stood before the layers of a run went is as it was, now that they are
/// gone.
///
/// # Errors
/// A failing call; then nothing is noted.
pub fn note_alone(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    standing: &[(Standing, BorrowedFd<'_>)],
) -> Result<(), SyncError> {
    let mounts = standing.iter().map(|(of_mount, root)| {
        let mut root = Root::new(fs, *root, Closed::Stay);
        let files = of_mount.files.iter().filter_map(|(path, before)| {
            let (now, links) = look(fs, &mut root, path)?;
            // A further name may come and go without an edit.
            (links == 1 && now.is_still(before)).then(|| (path.clone(), now))
        });
        let files: Vec<_> = files.collect();
        let mut left = INDEXES;
        let indexes = files.iter().filter_map(|(path, seen)| {
            let digest = index_digest(fs, &mut root, path, &mut left)?;
            // Somebody may have written it in between.
            let is_it = look(fs, &mut root, path).is_some_and(|(now, _)| now == *seen);
            is_it.then(|| Index { path: path.clone(), digest })
        });
        let indexes = indexes.collect();
        OfMount { mount: of_mount.mount, files, indexes }
    });
    Alone { version: VERSION, mounts: mounts.collect() }.store(fs, run)
}

/// Digests what the index of a repository says, and which commit is checked out beside it: somebody may have
/// committed what it says. `None` of what is no index, can't be read, or has more bytes than are `left`.
pub(super) fn index_digest(
    fs: &dyn Fs,
    root: &mut Root<'_>,
    path: &Path,
    left: &mut u64,
) -> Option<[u8; 32]> {
    let git_dir = path.parent().filter(|_| path.file_name() == Some(OsStr::new(INDEX)))?;
    let head = text(fs, root, &git_dir.join("HEAD"), LINE)?;
    let commit = match head.strip_prefix(b"ref: ") {
        Some(name) => named(fs, root, git_dir, name.trim_ascii_end())?,
        None => head.clone(),
    };
    let (dir, leaf) = root.above(path).ok()?;
    let file = fs.open_file(dir.as_fd(), leaf).ok()?;
    *left = left.checked_sub(fs.status_of(file.as_fd()).ok()?.size)?;
    let parts = [&git_index::digest(&file).ok()?[..], &head, &commit];
    Some(parts.iter().fold(Sha256::new(), Sha256::chain_update).finalize().into())
}

/// Returns the object that a reference names, which a linked work tree has of the repository.
fn named(fs: &dyn Fs, root: &mut Root<'_>, git_dir: &Path, name: &[u8]) -> Option<Vec<u8>> {
    let name = str::from_utf8(name).ok()?;
    let below = name.strip_prefix("refs/").filter(|below| git_dir::is_reference(below))?;
    let common = git_dir.parent().and_then(Path::parent);
    let dirs = || std::iter::once(git_dir).chain(common);
    let loose = dirs().find_map(|dir| text(fs, root, &dir.join("refs").join(below), LINE));
    let found = loose.map(|text| text.trim_ascii_end().to_vec()).or_else(|| {
        let packed = dirs().find_map(|dir| text(fs, root, &dir.join("packed-refs"), PACKED))?;
        let mut all = git_dir::packed_refs(&packed);
        all.find(|(known, _)| *known == name.as_bytes()).map(|(_, object)| object.to_vec())
    });
    found.filter(|object| git_dir::is_object_name(object))
}

/// Returns what a file says that has at most so many bytes.
fn text(fs: &dyn Fs, root: &mut Root<'_>, path: &Path, most: u64) -> Option<Vec<u8>> {
    let (dir, leaf) = root.above(path).ok()?;
    let found = fs.node(dir.as_fd(), leaf).ok()?.status;
    let is_small = found.kind == Kind::File && found.size <= most;
    is_small.then(|| read_all(fs, dir.as_fd(), Path::new(leaf)).ok()).flatten()
}
