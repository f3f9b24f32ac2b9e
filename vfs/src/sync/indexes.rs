//! What the indexes of repositories said when a run began: git writes them anew when it only looks, and
//! their times tell nothing then.
//!
//! ```text
//! <run>/indexes.json    what they said, as digests
//! ```
//!
//! Nothing is read at the start. git puts a new index in the place of the old one, which can be read as long as
//! it is open: what it said is noted when the run ends. It is a help, and not synced: where it is missing, an
//! index that was written anew counts as changed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::alone::Alone;
use super::collect::io;
use super::file::{VERSION, read, write};
use super::index_digest::INDEXES;
use super::journal::Ledger;
use super::root::{Closed, Root};
use super::{Seen, SyncError, Time};
use crate::fs::{Fs, Kind};
use crate::git_dir::KEPT;
use crate::git_index;

/// What they said, below the run's directory.
pub const NOTED: &str = "indexes.json";
const NOTED_NEW: &str = "indexes.json.new";
/// How many of a repository's submodules and linked work trees are looked at, of each.
const MOST: usize = 32;

type Digest = [u8; 32];

/// Indexes in the mounts of a run, open since it began.
#[derive(Debug, Default)]
pub struct OpenIndexes {
    open: Vec<OpenIndex>,
}

#[derive(Debug)]
struct OpenIndex {
    mount: u32,
    path: PathBuf,
    file: OwnedFd,
    size: u64,
    modified: Time,
}

impl OpenIndexes {
    /// Opens those of the repository at the root of a mount that nobody wrote since `stamp`.
    pub fn open(&mut self, fs: &dyn Fs, (mount, root): (u32, BorrowedFd<'_>), stamp: Time) {
        let mut root = Root::new(fs, root, Closed::Stay);
        for git_dir in [Path::new(".git"), Path::new("")] {
            let mut dirs = vec![git_dir.to_owned()];
            dirs.extend(KEPT.iter().flat_map(|name| names_in(fs, &mut root, git_dir.join(name))));
            let opened = dirs.iter().filter_map(|dir| {
                let path = dir.join("index");
                // A bare repository has `HEAD` beside it.
                look(fs, &mut root, &dir.join("HEAD"))?;
                open(fs, &mut root, (mount, path), stamp)
            });
            self.open.extend(opened);
        }
    }

    /// Notes what those said whose directories of mounts are `changed`, beside what is known from an earlier run
    /// that this one goes on from.
    ///
    /// # Errors
    /// A failing call; then nothing is noted.
    pub fn note(
        self,
        fs: &dyn Fs,
        run: BorrowedFd<'_>,
        changed: &dyn Fn(u32, &Path) -> bool,
    ) -> Result<(), SyncError> {
        let is_changed =
            |it: &&OpenIndex| it.path.parent().is_some_and(|dir| changed(it.mount, dir));
        let mut noted = Noted::read(fs, run);
        let (known, mut left) = (noted.indexes.len(), INDEXES);
        for it in self.open.iter().filter(is_changed) {
            let is_known =
                noted.indexes.iter().any(|old| (old.mount, &old.path) == (it.mount, &it.path));
            let digest = (!is_known).then(|| it.digest(fs, &mut left)).flatten();
            let index = |digest| Index { mount: it.mount, path: it.path.clone(), digest };
            noted.indexes.extend(digest.map(index));
        }
        if noted.indexes.len() == known { Ok(()) } else { noted.store(fs, run) }
    }
}

impl OpenIndex {
    /// Returns what it says, as long as nobody wrote into it.
    fn digest(&self, fs: &dyn Fs, left: &mut u64) -> Option<Digest> {
        *left = left.checked_sub(self.size)?;
        let digest = git_index::digest(&self.file).ok()?;
        let now = fs.status_of(self.file.as_fd()).ok()?;
        (now.size == self.size && Time::from(now.modified) == self.modified).then_some(digest)
    }
}

fn names_in(fs: &dyn Fs, root: &mut Root<'_>, dir: PathBuf) -> Vec<PathBuf> {
    let listed = root.list(&dir).and_then(|listed| fs.list(listed.as_fd(), MOST));
    listed.unwrap_or_default().into_iter().map(|entry| dir.join(entry.name)).collect()
}

fn look(fs: &dyn Fs, root: &mut Root<'_>, path: &Path) -> Option<Seen> {
    let (dir, leaf) = root.above(path).ok()?;
    fs.node(dir.as_fd(), leaf).ok().map(|node| Seen::from(&node))
}

fn open(
    fs: &dyn Fs,
    root: &mut Root<'_>,
    (mount, path): (u32, PathBuf),
    stamp: Time,
) -> Option<OpenIndex> {
    let seen = look(fs, root, &path)?;
    let is_since = |time: Time| time.may_be_since(stamp);
    let is_earlier = !is_since(seen.changed) && !seen.born.is_some_and(is_since);
    if seen.kind != Kind::File || !is_earlier {
        return None;
    }
    let (dir, leaf) = root.above(&path).ok()?;
    let file = fs.open_file(dir.as_fd(), leaf).ok()?;
    let status = fs.status_of(file.as_fd()).ok()?;
    let is_it = status.id.ino == seen.ino && Time::from(status.changed) == seen.changed;
    is_it.then(|| OpenIndex { mount, path, file, size: seen.size, modified: seen.modified })
}

/// What is noted of a run.
#[derive(Serialize, Deserialize)]
struct Noted {
    version: u32,
    indexes: Vec<Index>,
}

#[derive(Serialize, Deserialize)]
struct Index {
    mount: u32,
    #[serde(with = "crate::json_path")]
    path: PathBuf,
    digest: Digest,
}

impl Noted {
    fn read(fs: &dyn Fs, run: BorrowedFd<'_>) -> Self {
        let noted = read(fs, run, Path::new(NOTED)).ok().flatten();
        noted.unwrap_or(Self { version: VERSION, indexes: Vec::new() })
    }

    fn store(&self, fs: &dyn Fs, run: BorrowedFd<'_>) -> Result<(), SyncError> {
        write(fs, run, NOTED_NEW, self)?;
        fs.rename(run, OsStr::new(NOTED_NEW), OsStr::new(NOTED))
            .map_err(io("write", Path::new(NOTED)))
    }
}

/// Gives a new run that goes on from an earlier one's layers what is noted of that one; `numbers` are those of
/// the mounts in both.
///
/// # Errors
/// A failing call.
pub fn hand_on_indexes(
    fs: &dyn Fs,
    (from, to): (BorrowedFd<'_>, BorrowedFd<'_>),
    numbers: &[(u32, u32)],
) -> Result<(), SyncError> {
    let earlier = Noted::read(fs, from);
    let renumbered = earlier.indexes.into_iter().filter_map(|index| {
        let (_, mount) = numbers.iter().find(|(was, _)| *was == index.mount)?;
        Some(Index { mount: *mount, ..index })
    });
    let indexes: Vec<Index> = renumbered.collect();
    if indexes.is_empty() {
        return Ok(());
    }
    Noted { version: VERSION, indexes }.store(fs, to)
}

/// What is known of the indexes in a mount.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownIndexes {
    /// What they said when the run began.
    pub(super) begun: HashMap<PathBuf, Digest>,
    /// What write-back left of them says, with the commit that is checked out.
    pub(super) left: HashMap<PathBuf, Digest>,
}

impl KnownIndexes {
    pub(super) fn read(fs: &dyn Fs, run: BorrowedFd<'_>, (ledger, mount): (&Ledger, u32)) -> Self {
        let noted = Noted::read(fs, run).indexes.into_iter();
        let begun = noted.filter(|it| it.mount == mount).map(|it| (it.path, it.digest)).collect();
        Self { begun, left: Alone::read(fs, run).left_indexes(ledger, mount) }
    }
}
