//! What is on the disk about a checkpoint.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fs::{Attribute, Errno, Fs, Result, read_all, write_all};
use crate::git_blob::Name;
use crate::sync::apply::copy::Owner;
use crate::sync::{Seen, Time, stored};

/// The version that this code writes, and the newest it reads.
const VERSION: u32 = 1;
pub(super) const LIST: &str = "list";
pub(super) const FILES: &str = "files";
const ENDED: &str = "ended";
/// Lines are written when this much is waiting.
const BUFFER: usize = 64 * 1024;

/// Why a path is not covered by a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Left {
    /// It changed before it was recorded, or nobody came to it before the end.
    Changed,
    /// The file is larger than a checkpoint copies.
    Large,
    /// There was no room for it: the checkpoint is as large as it may be.
    Full,
    /// A directory of things that can be made again.
    Cache,
    /// A git directory, which keeps its own history.
    Repository,
    /// It can't be read.
    Unreadable,
    /// A device, socket or FIFO.
    Special,
    /// Another file system is mounted there.
    MountPoint,
    /// The repository has it no more.
    Lost,
    /// It changed after the end, and nothing of it is kept.
    Since,
    /// It comes back, but for set-user-id, set-group-id or its file capability.
    Privilege,
    /// It comes back, but for attributes that the state's file system can't keep.
    Attributes,
}

/// What is kept of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kept {
    /// A directory: what `Seen` says, and the entries of its own names.
    Directory,
    /// A copy with this number.
    Copy(u32),
    /// The name that git has for the bytes.
    Git(Name),
    /// That it was there: nobody has come to its content yet.
    Name,
    /// Nothing.
    Left(Left),
}

impl Kept {
    /// Returns why a path that changed can't be had again, when it can't.
    pub(super) fn left(self) -> Option<Left> {
        match self {
            Self::Left(left) => Some(left),
            Self::Name => Some(Left::Changed),
            Self::Directory | Self::Copy(_) | Self::Git(_) => None,
        }
    }
}

/// A path as it was. A later entry of the same path says more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    #[serde(with = "crate::json_path")]
    pub(super) path: PathBuf,
    pub(super) seen: Seen,
    pub(super) kept: Kept,
    /// Whose it is, where that is not who makes new files here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<Owner>,
    /// The copy lacks set-user-id, set-group-id or the file capability.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_less: bool,
    /// The attributes of a directory, where it has any. Those of the root are always here, which tells that they were
    /// recorded.
    #[serde(with = "stored::pairs", default, skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<Vec<Attribute>>,
}

impl Entry {
    pub(super) fn new(path: PathBuf, seen: Seen, kept: Kept) -> Self {
        Self { path, seen, kept, owner: None, is_less: false, user: None }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Version(u32),
    Entry(Entry),
    /// All names of the directory are recorded, and none came or went before.
    Listed(#[serde(with = "crate::json_path")] PathBuf),
}

/// The list while it is written.
pub(super) struct Writer<'a> {
    fs: &'a dyn Fs,
    file: OwnedFd,
    waiting: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(super) fn create(fs: &'a dyn Fs, place: BorrowedFd<'_>) -> Result<Self> {
        let file = fs.create_file(place, OsStr::new(LIST))?;
        let mut writer = Self { fs, file, waiting: Vec::new() };
        writer.line(&Line::Version(VERSION))?;
        Ok(writer)
    }

    pub(super) fn entry(&mut self, entry: Entry) -> Result<()> {
        self.line(&Line::Entry(entry))
    }

    pub(super) fn listed(&mut self, path: PathBuf) -> Result<()> {
        self.line(&Line::Listed(path))
    }

    fn line(&mut self, line: &Line) -> Result<()> {
        serde_json::to_writer(&mut self.waiting, line).map_err(|_| Errno::INVAL)?;
        self.waiting.push(b'\n');
        if self.waiting.len() < BUFFER { Ok(()) } else { self.flush() }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        write_all(self.fs, self.file.as_fd(), self.waiting.as_slice())?;
        self.waiting.clear();
        Ok(())
    }
}

/// Notes that the run ended, in the place of its checkpoint.
///
/// # Errors
/// A failing call.
pub fn ended(fs: &dyn Fs, place: BorrowedFd<'_>) -> Result<()> {
    let file = fs.create_file(place, OsStr::new(ENDED))?;
    // Asked for, a time of change is exact from the next change on (Linux 6.13): later than all
    // that was changed before, and not later than what follows.
    fs.status_of(file.as_fd())?;
    fs.set_mode(file.as_fd(), 0o600)?;
    fs.status_of(file.as_fd()).map(drop)
}

/// Returns when the run ended; `None` when nobody noted it.
///
/// # Errors
/// A failing call.
pub fn end(fs: &dyn Fs, place: BorrowedFd<'_>) -> Result<Option<Time>> {
    match fs.status(place, OsStr::new(ENDED)) {
        Err(Errno::NOENT) => Ok(None),
        result => result.map(|status| Some(status.changed.into())),
    }
}

/// What was recorded of a tree.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) entries: BTreeMap<PathBuf, (Seen, Kept)>,
    /// Directories of which every name is among the entries.
    pub(super) listed: HashSet<PathBuf>,
    /// Whose it is, of what is not of who makes new files here.
    pub(super) owners: HashMap<PathBuf, Owner>,
    /// Copies that lack set-user-id, set-group-id or the file capability.
    pub(super) less: HashSet<PathBuf>,
    /// The attributes of directories that have any, and those of the root.
    users: HashMap<PathBuf, Vec<Attribute>>,
}

impl Recorded {
    /// Returns the attributes that a directory had; `None` where they are not known.
    pub(super) fn user(&self, directory: &Path) -> Option<&[Attribute]> {
        let is_known = self.users.contains_key(Path::new("")) && self.listed.contains(directory);
        is_known.then(|| self.users.get(directory).map(Vec::as_slice).unwrap_or_default())
    }
}

/// Reads a list; one that a killed process did not finish ends at its last whole line.
pub(super) fn read(fs: &dyn Fs, place: BorrowedFd<'_>) -> Result<Recorded> {
    let text = match read_all(fs, place, Path::new(LIST)) {
        // Nobody came to record anything.
        Err(Errno::NOENT) => return Ok(Recorded::default()),
        result => result?,
    };
    let mut recorded = Recorded::default();
    for line in text.split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::Version(VERSION)) => {}
            Ok(Line::Version(_)) => return Err(Errno::NOTSUP),
            Ok(Line::Entry(entry)) => {
                if let Some(owner) = entry.owner {
                    recorded.owners.insert(entry.path.clone(), owner);
                }
                if entry.is_less {
                    recorded.less.insert(entry.path.clone());
                }
                if let Some(user) = entry.user {
                    recorded.users.insert(entry.path.clone(), user);
                }
                recorded.entries.insert(entry.path, (entry.seen, entry.kept));
            }
            Ok(Line::Listed(path)) => drop(recorded.listed.insert(path)),
            Err(_) => break,
        }
    }
    Ok(recorded)
}
