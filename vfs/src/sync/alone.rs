//! Files that were written back and of which no layer has a name any more: from then on their time of
//! change tells every edit, also one that keeps size and time of modification.
//!
//! Of indexes of repositories what they say is noted as well: git writes them anew when it only looks.
//!
//! It is a help, and not synced: where it is missing, torn or of before, an undo compares less.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::collect::io;
use super::file::{VERSION, read, write};
use super::follow::Restored;
use super::index_digest::{INDEXES, index_digest};
use super::journal::{Ledger, UNDO};
use super::resettle::{Standing, look};
use super::root::{Closed, Root};
use super::{Seen, SyncError, stored};
use crate::fs::{Errno, Fs, Open};

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

impl OfMount {
    /// Takes over what was noted before, where nothing newer is: what somebody changed since is still not what was
    /// left, however often it is looked at.
    fn keep(&mut self, earlier: Self) {
        let files: HashSet<PathBuf> = self.files.iter().map(|(path, _)| path.clone()).collect();
        let indexes: HashSet<PathBuf> = self.indexes.iter().map(|it| it.path.clone()).collect();
        self.files.extend(earlier.files.into_iter().filter(|(path, _)| !files.contains(path)));
        self.indexes.extend(earlier.indexes.into_iter().filter(|it| !indexes.contains(&it.path)));
    }
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

    /// Returns what the last indexes that write-back left in a mount say.
    pub(super) fn left_indexes(&self, ledger: &Ledger, mount: u32) -> HashMap<PathBuf, [u8; 32]> {
        let known = self.still_known(ledger, mount).indexes.into_iter();
        known.map(|index| (index.path, index.digest)).collect()
    }

    /// Returns what is noted of files in a mount that are still the last ones that write-back left there,
    /// whatever stands there by now.
    fn still_known(&self, ledger: &Ledger, mount: u32) -> OfMount {
        let left: HashMap<&Path, Option<&Seen>> = ledger.last_left(mount).collect();
        let is_left = |(path, seen): &(&Path, &Seen)| {
            left.get(path).copied().flatten().is_some_and(|left| seen.is_still(left))
        };
        let files: HashMap<&Path, &Seen> = self.files(mount).into_iter().filter(is_left).collect();
        let indexes = self.indexes(mount).into_iter().filter(|(path, _)| files.contains_key(path));
        let index =
            |(path, digest): (&Path, &[u8; 32])| Index { path: path.to_owned(), digest: *digest };
        let indexes = indexes.map(index).collect();
        let files = files.into_iter().map(|(path, seen)| (path.to_owned(), *seen)).collect();
        OfMount { mount, files, indexes }
    }
}

/// Notes what of the files that stood before the layers of a run went is as it was, now that they are
/// gone. Of what changed meanwhile, and of mounts that are not among these, what was noted before stays.
///
/// # Errors
/// A failing call; then nothing is noted.
pub fn note_alone(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
    standing: &[(Standing, BorrowedFd<'_>)],
) -> Result<(), SyncError> {
    let (earlier, ledger) = (Alone::read(fs, run), Ledger::read(fs, run)?);
    let noted = standing.iter().map(|(of_mount, root)| {
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
        let mut noted = OfMount { mount: of_mount.mount, files, indexes };
        noted.keep(earlier.still_known(&ledger, of_mount.mount));
        noted
    });
    let mut mounts: Vec<OfMount> = noted.collect();
    let numbers: HashSet<u32> = mounts.iter().map(|known| known.mount).collect();
    mounts.extend(earlier.mounts.into_iter().filter(|known| !numbers.contains(&known.mount)));
    Alone { version: VERSION, mounts }.store(fs, run)
}
