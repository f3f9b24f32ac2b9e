//! What a run is, as a file in its directory says.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use endow_policy::{GuestPath, HostPath};
pub use endow_policy::{OnConflict, SyncMode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::HELD;
use super::{Clocks, RunId, TreeRecord};
use crate::fs::{Errno, Status, Timespec};
use crate::json_path;

/// The version of the format that this program writes.
const VERSION: u32 = 1;

/// What was found of later programs in the same version, kept as it was.
pub type Unknown = BTreeMap<String, Value>;

/// What a run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which run.
    pub id: RunId,
    /// What the user calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// What has become of its changes.
    pub state: RunState,
    /// The name of the command, without its arguments: these may hold secrets.
    #[serde(with = "json_path")]
    pub command: OsString,
    /// The workspace, when the run had one.
    #[serde(default, with = "json_path::option")]
    pub workspace: Option<HostPath>,
    /// When the command started.
    pub started: Moment,
    /// The clocks then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// When the last process was gone.
    #[serde(default)]
    pub ended: Option<Moment>,
    /// How the command ended.
    #[serde(default)]
    pub outcome: Option<Ending>,
    /// What is to become of the changes.
    pub sync: SyncRules,
    /// The deny patterns that held, as written.
    #[serde(default)]
    pub deny: Vec<String>,
    /// The protect patterns that held, as written.
    #[serde(default)]
    pub protect: Vec<String>,
    /// The copy-on-write mounts.
    #[serde(default)]
    pub mounts: Vec<MountRecord>,
    /// The copy-on-write mounts of trees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeRecord>,
    /// How much changed, once that was counted.
    #[serde(default)]
    pub changes: Option<ChangeCounts>,
    /// The bytes that the means to undo it take, once it was settled and they were measured.
    #[serde(default)]
    pub undo_bytes: Option<u64>,
    /// What a later program wrote.
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What has become of a run's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// The command runs, or its changes are just being written back.
    Running,
    /// Its changes are written back, and can be taken back.
    Applied,
    /// Changes wait for the user.
    Waiting,
    /// Its changes were dropped.
    Discarded,
    /// Its changes were written back and taken back again.
    Undone,
    /// Whoever ran it died; its changes are kept.
    Interrupted,
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Applied,
        Self::Waiting,
        Self::Discarded,
        Self::Undone,
        Self::Interrupted,
    ];

    /// Returns the word that users and JSON see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Applied => "applied",
            Self::Waiting => "waiting",
            Self::Discarded => "discarded",
            Self::Undone => "undone",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A time, as the kernel counts it: since 1970, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Moment {
    /// Whole seconds.
    pub seconds: i64,
    /// The rest.
    pub nanoseconds: u32,
}

impl From<Timespec> for Moment {
    fn from(time: Timespec) -> Self {
        Self { seconds: time.tv_sec, nanoseconds: u32::try_from(time.tv_nsec).unwrap_or(0) }
    }
}

impl From<SystemTime> for Moment {
    /// Times before 1970 become 1970.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        Self { seconds, nanoseconds: since.subsec_nanos() }
    }
}

impl From<Moment> for SystemTime {
    fn from(moment: Moment) -> Self {
        let seconds = u64::try_from(moment.seconds).unwrap_or(0);
        let since = Duration::new(seconds, moment.nanoseconds.min(999_999_999));
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }
}

/// How a command ended, in the words of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// `exited`, `signaled`, `timed_out`, `limit`.
    pub kind: String,
    /// The exit code, when it exited.
    #[serde(default)]
    pub code: Option<i32>,
    /// The signal, when one ended it.
    #[serde(default)]
    pub signal: Option<i32>,
}

/// What is to become of the changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRules {
    /// Whether they are written back.
    pub mode: SyncMode,
    /// What happens to a path that also changed outside.
    pub on_conflict: OnConflict,
    /// The patterns of what is written back; empty for everything.
    #[serde(default)]
    pub only: Vec<String>,
    /// Whether held changes count as not written back.
    #[serde(default)]
    pub strict: bool,
}

/// A copy-on-write mount of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountRecord {
    /// Where the command saw it.
    #[serde(with = "json_path")]
    pub at: GuestPath,
    /// What it shows, without links in its path.
    #[serde(with = "json_path")]
    pub source: HostPath,
    /// Which file or directory that was.
    pub id: RootId,
    /// Whether it is a directory; else a single file.
    pub directory: bool,
    /// Where its changes are, below the run's directory.
    #[serde(with = "json_path")]
    pub layer: PathBuf,
    /// It is live: changes reach it at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
    /// Its changes were in memory, and are gone.
    #[serde(default)]
    pub in_memory: bool,
    /// What the root of the layer on the disk was made like.
    #[serde(default)]
    pub made_like: Option<MadeLike>,
    /// What changed outside at this time or later may conflict.
    pub stamp: Moment,
    /// What was hidden at the start.
    #[serde(default)]
    pub hidden: Vec<HiddenPath>,
    /// What is held although no pattern names it, and why: the policies that the run was made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HiddenPath>,
    /// Directories of the caller's PATH.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramsPath>,
    /// The patterns of protected names, where they are not those of the run: protected names, or git's settings,
    /// lead to more of this mount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect: Option<Vec<String>>,
    /// Other paths of the source, in which patterns may begin.
    #[serde(default, with = "json_path::list", skip_serializing_if = "Vec::is_empty")]
    pub granted_as: Vec<PathBuf>,
    /// It did not exist when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<AwaitedRecord>,
}

/// A place that did not exist when a run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedRecord {
    /// The place, below the deepest directory on the way to it that existed: the record tells which
    /// one that was.
    #[serde(with = "json_path")]
    pub path: PathBuf,
    /// What is there since is live: of a tool's own state nothing is held.
    #[serde(default)]
    pub live: bool,
    /// Of this one is held what would be taken out of it, were it there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guarded: bool,
}

impl MountRecord {
    /// Returns whether it is a single file, which is known by itself.
    #[must_use]
    pub fn is_single(&self) -> bool {
        !self.directory && self.awaited.is_none()
    }

    /// Returns the directory on the host that paths of the mount are relative to.
    #[must_use]
    pub fn root(&self) -> Option<HostPath> {
        let depth = match &self.awaited {
            Some(awaited) => awaited.path.components().count(),
            None => usize::from(!self.directory),
        };
        (0..depth).try_fold(self.source.clone(), |path, _| path.parent())
    }

    /// Returns whether the mount was live and the layer has what was taken out of it: protected
    /// names.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.layer.starts_with(HELD)
    }
}

/// Which file or directory a mount shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootId {
    /// The device of its file system.
    pub dev: u64,
    /// Its inode number there.
    pub ino: u64,
    /// When it was made, where the file system knows.
    #[serde(default)]
    pub born: Option<Moment>,
}

/// Bits and time of a directory: all that a command can change of a mount's root itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeLike {
    /// The permission bits.
    pub mode: u32,
    /// When its names changed last.
    pub modified: Moment,
    /// A digest of its `user.*` attributes and ACLs, where it has all of what it was made like.
    #[serde(default)]
    pub attributes: Option<[u8; 32]>,
}

impl MadeLike {
    /// Returns what a directory is made like.
    #[must_use]
    pub fn of(status: &Status, attributes: Option<[u8; 32]>) -> Self {
        Self { mode: status.mode, modified: status.modified.into(), attributes }
    }

    /// Returns whether a directory still has the bits and the time.
    #[must_use]
    pub fn is_still(&self, status: &Status) -> bool {
        *self == Self::of(status, self.attributes)
    }
}

/// A directory of the caller's PATH in a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramsPath {
    /// Where, below the mount's root.
    #[serde(with = "json_path")]
    pub path: PathBuf,
    /// Links on the way to it.
    #[serde(default, with = "json_path::list", skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PathBuf>,
    /// Those that come later, and are not in the mount.
    #[serde(with = "json_path::list")]
    pub later: Vec<PathBuf>,
}

/// A name that a deny rule hid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenPath {
    /// Where, below the mount's root.
    #[serde(with = "json_path")]
    pub path: PathBuf,
    /// The pattern.
    pub rule: String,
}

/// How much a run changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeCounts {
    /// Names that are new.
    pub created: u64,
    /// Files with other content or another mode.
    pub modified: u64,
    /// Names that are gone.
    pub deleted: u64,
    /// Changes that were not written back; a directory in which one of them is does not count beside it.
    pub left: u64,
}

impl ChangeCounts {
    /// Returns how much both are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            created: self.created + other.created,
            modified: self.modified + other.modified,
            deleted: self.deleted + other.deleted,
            left: self.left + other.left,
        }
    }
}

/// Why a record can't be used. Nothing of such a run may be touched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A later program wrote it.
    #[error("written by a newer endow (format {version}, known is {VERSION})")]
    Newer {
        /// The version of the format.
        version: u64,
    },
    /// It is not a record.
    #[error("not a record of a run")]
    Invalid(#[source] serde_json::Error),
    /// It names a place outside of the run's directory.
    #[error("a layer outside of the run: {}", layer.display())]
    Outside {
        /// The place.
        layer: PathBuf,
    },
    /// It is the record of another run.
    #[error("the record of another run: {id}")]
    Another {
        /// The other run.
        id: RunId,
    },
    /// It can't be read.
    #[error("can't read the record")]
    Unreadable(#[source] Errno),
    /// It is larger than any record.
    #[error("larger than a record can be (64 MiB): too many names are hidden or protected")]
    TooLarge,
}

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    #[serde(flatten)]
    record: &'a Record,
}

impl Record {
    /// Reads the text of a record.
    ///
    /// # Errors
    /// A text of another version, or no record at all.
    pub fn parse(text: &[u8]) -> Result<Self, RecordError> {
        // The version decides what the rest may be.
        let Versioned { version } = serde_json::from_slice(text).map_err(RecordError::Invalid)?;
        if version != u64::from(VERSION) {
            return Err(RecordError::Newer { version });
        }
        let mut record: Self = serde_json::from_slice(text).map_err(RecordError::Invalid)?;
        record.unknown.remove("version");
        let layers = record.mounts.iter().map(|mount| &mount.layer);
        let awaited = record.mounts.iter().filter_map(|mount| Some(&mount.awaited.as_ref()?.path));
        let mut layers = layers.chain(record.trees.iter().map(|tree| &tree.layer)).chain(awaited);
        match layers.find(|layer| !is_below(layer)) {
            Some(layer) => Err(RecordError::Outside { layer: layer.clone() }),
            None => Ok(record),
        }
    }

    /// Returns the text of the record.
    ///
    /// # Panics
    /// Never: every part of a record has a form in JSON.
    pub fn to_json(&self) -> Vec<u8> {
        let written = Written { version: VERSION, record: self };
        let mut text = serde_json::to_vec_pretty(&written).expect("a record has only string keys");
        text.push(b'\n');
        text
    }
}

/// Returns whether a path stays below the directory that it is relative to.
fn is_below(path: &Path) -> bool {
    let mut names = path.components();
    !path.as_os_str().is_empty() && names.all(|name| matches!(name, Component::Normal(_)))
}

#[cfg(test)]
mod tests;
