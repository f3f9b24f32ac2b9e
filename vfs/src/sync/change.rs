//! What a run changed: the values that collecting gives.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::repository::GitDirs;
use super::stored;
use crate::fs::{COARSEST, Kind, Node, Timespec};

/// A time of a file, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Time {
    /// Whole seconds.
    pub seconds: i64,
    /// And nanoseconds.
    pub nanoseconds: i64,
}

impl From<Timespec> for Time {
    fn from(time: Timespec) -> Self {
        Self { seconds: time.tv_sec, nanoseconds: time.tv_nsec }
    }
}

impl From<Time> for Timespec {
    fn from(time: Time) -> Self {
        Self { tv_sec: time.seconds, tv_nsec: time.nanoseconds }
    }
}

impl Time {
    /// Returns whether a time that a file system noted may be one of that moment or later: what it keeps of it may be
    /// whole seconds.
    pub fn may_be_since(self, moment: Self) -> bool {
        if self.nanoseconds != 0 {
            return self >= moment;
        }
        let grain = i64::try_from(COARSEST.as_secs()).unwrap_or(i64::MAX);
        Self { seconds: self.seconds.saturating_add(grain), ..self } > moment
    }
}

/// Which inode the root of a mount is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The device of its file system.
    pub dev: u64,
    /// Its inode number there.
    pub ino: u64,
    /// When it was made, where the file system knows.
    pub born: Option<Time>,
}

impl From<&Node> for Identity {
    fn from(node: &Node) -> Self {
        let id = node.status.id;
        let born = node.born.filter(|_| node.keeps_birth).map(Time::from);
        Self { dev: id.dev, ino: id.ino, born }
    }
}

impl Identity {
    /// Returns whether both are the same directory.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        // Device numbers may change when the machine starts; a time of birth does not, where it is kept.
        self.ino == other.ino
            && self.born == other.born
            && (self.born.is_some() || self.dev == other.dev)
    }
}

/// What stood at a path when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What kind of file.
    pub kind: Kind,
    /// Its inode number.
    pub ino: u64,
    /// When the inode was made, where the file system knows.
    pub born: Option<Time>,
    /// Its size in bytes; means nothing for a directory.
    pub size: u64,
    /// Its permission bits.
    pub mode: u32,
    /// When its content changed last.
    pub modified: Time,
    /// When anything of it changed last.
    pub changed: Time,
}

impl From<&Node> for Seen {
    fn from(node: &Node) -> Self {
        let status = &node.status;
        Self {
            kind: status.kind,
            ino: status.id.ino,
            born: node.born.map(Time::from),
            size: status.size,
            mode: status.mode,
            modified: status.modified.into(),
            changed: status.changed.into(),
        }
    }
}

impl Seen {
    /// Returns whether this is the inode that `other` was.
    pub fn is_same_inode(&self, other: &Self) -> bool {
        self.kind == other.kind && self.ino == other.ino && self.born == other.born
    }

    /// Returns whether this is what `other` was, apart from a rename or a further name.
    ///
    /// The content of a directory is compared by a walk, not by its times.
    pub fn is_still(&self, other: &Self) -> bool {
        let is_same_content = self.kind == Kind::Directory
            || (self.size == other.size && self.modified == other.modified);
        self.is_same_inode(other) && self.mode == other.mode && is_same_content
    }

    /// Returns what a move keeps of an entry: its kind, size and time of modification. The inode in a layer is another
    /// one than the host's.
    pub(super) fn traits(&self) -> Traits {
        let size = if self.kind == Kind::Directory { 0 } else { self.size };
        (self.kind, size, self.modified)
    }
}

/// What a move keeps of an entry.
pub(super) type Traits = (Kind, u64, Time);

/// Mode, time and attributes that an entry gets or had; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Permission bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// Time of the last modification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<Time>,
    /// All `user.*` attributes, sorted, those of overlayfs left out, and the ACLs.
    #[serde(with = "stored::pairs", default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Vec<(OsString, Vec<u8>)>>,
}

/// What the run did to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The host has nothing there.
    Created,
    /// Other bytes, another target of a link, or another hard link.
    Modified,
    /// The run removed it.
    Deleted,
    /// The host has something of this kind there.
    Replaced(Kind),
    /// Mode, time or attributes only.
    Attributes,
}

/// What differs where the content is equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Differs {
    /// The permission bits.
    pub mode: bool,
    /// The time of the last modification.
    pub modified: bool,
    /// The `user.*` attributes or the ACLs.
    pub user: bool,
}

/// Why the host's side of a path counts as changed since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conflict {
    /// The root of the mount is another directory now.
    Root,
    /// A directory above was replaced, or is gone.
    Ancestor,
    /// The entry was changed or replaced.
    Changed,
    /// The entry appeared.
    Appeared,
    /// The entry appeared, or was replaced: the run put one of its own there, which does not tell whether one was.
    Made,
    /// The entry is gone.
    Vanished,
    /// The database that it belongs to, or what stands beside that, changed.
    Database,
}

impl Conflict {
    /// Returns whether something else than at the start stands at the very place.
    pub(super) fn is_of_entry(self) -> bool {
        matches!(self, Self::Changed | Self::Appeared | Self::Made)
    }
}

/// Why a change is never written back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// A device file.
    Device,
    /// A socket.
    Socket,
    /// A FIFO.
    Fifo,
    /// Set-user-id or set-group-id.
    SetId,
    /// A file capability.
    Capability,
    /// An attribute by which an overlay would be steered.
    OverlayAttribute,
    /// A symbolic link that leads out of the mount.
    LinkOut,
    /// It belongs to another user than the layer.
    ForeignOwner,
    /// A name that write-back uses itself.
    Reserved,
    /// The host's side, or the layer's, can't be read.
    Unreadable,
    /// The directory it stands in is not written back.
    Ancestor,
    /// A file system can't keep it: it is too large, or has attributes that are.
    Beyond,
    /// It would take away what the run moved to where it is not written back.
    Moved,
    /// It would take a git repository away, or change what may be a part of one.
    Repository,
    /// It stands on a mount point of the host.
    MountPoint,
    /// It is in another subvolume of the host's, into which nothing can be renamed.
    Subvolume,
    /// A single file was mounted, and this is none.
    NotFile,
    /// A directory was to be made, and this is none.
    NotDirectory,
}

/// One changed path of a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where, below the root of the mount; empty for the root itself.
    pub path: PathBuf,
    /// What the run did.
    pub kind: ChangeKind,
    /// What differs when `kind` is [`ChangeKind::Attributes`].
    pub differs: Differs,
    /// What stands in the layer; `None` when the run removed it.
    pub upper: Option<Seen>,
    /// What stands on the host; `None` when nothing does.
    pub host: Option<Seen>,
    /// The `user.*` attributes and ACLs of both, where they differ or the entry is new.
    pub user: Attributed,
    /// The layer's inode, when it has several names in the layer.
    pub group: Option<u64>,
    /// Only mode, time or attributes differ, and the host's file has further names, which must not get them.
    pub is_linked: bool,
    /// The run may only have opened the file, or moved it with its directory: it was copied up, and its time is from
    /// before the run.
    pub may_be_untouched: bool,
    /// Set when the host's side changed too.
    pub conflict: Option<Conflict>,
    /// Set when it can't be written back.
    pub refused: Option<Refusal>,
}

/// The `user.*` attributes and ACLs of the two sides of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributed {
    /// Those in the layer.
    pub upper: Vec<(OsString, Vec<u8>)>,
    /// Those on the host.
    pub host: Vec<(OsString, Vec<u8>)>,
}

impl Change {
    /// Returns what kind of file the change leaves, or took away.
    pub fn node(&self) -> Kind {
        self.upper.or(self.host).map_or(Kind::Other, |seen| seen.kind)
    }

    /// Returns whether the host's entry stays, and gets other attributes.
    pub(super) fn is_amended(&self) -> bool {
        self.kind == ChangeKind::Attributes && !self.is_linked
    }

    /// Returns whether the versions of both sides may be merged: two regular files of one name and
    /// the same bits, of which the host's is known. Nothing of a git directory is.
    pub fn is_mergeable(&self) -> bool {
        let is_both =
            self.conflict.is_some_and(Conflict::is_of_entry) && self.kind == ChangeKind::Modified;
        let is_alike = self.upper.zip(self.host).is_some_and(|(upper, host)| {
            upper.kind == Kind::File && host.kind == Kind::File && upper.mode == host.mode
        });
        let in_git_dir = |path: &Path| path.iter().any(|name| name.eq_ignore_ascii_case(".git"));
        let is_alone = self.group.is_none() && self.refused.is_none();
        is_both && is_alike && is_alone && !in_git_dir(&self.path)
    }

    /// Returns whether only the time of a file differs, and the host's stays: git writes its settings anew with
    /// the same bytes.
    pub(super) fn is_time_of_file(&self) -> bool {
        let is_alike = !(self.differs.mode || self.differs.user) && self.refused.is_none();
        self.is_amended() && self.node() == Kind::File && is_alike
    }

    /// Returns whether only the time of a directory differs: a trace of what happened in it,
    /// not worth a line.
    pub fn is_trace(&self) -> bool {
        self.kind == ChangeKind::Attributes
            && self.node() == Kind::Directory
            && self.refused.is_none()
            && !(self.differs.mode || self.differs.user)
    }
}

/// A directory that both sides have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directory {
    /// What stands on the host.
    pub host: Seen,
    /// What stands in the layer.
    pub upper: Seen,
    /// Names came or went on the host since the run began, or its bits changed.
    pub is_changed: bool,
}

/// All that a run changed in one mount, in the order of the paths: directories before what is in
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The changes.
    pub changes: Vec<Change>,
    /// The directories of the host's tree that the layer has too.
    pub directories: BTreeMap<PathBuf, Directory>,
    /// Where git directories are.
    pub(super) git_dirs: GitDirs,
}

impl ChangeSet {
    /// Returns where the changes at a path and below it are: all beside each other.
    pub(super) fn places(&self, path: &Path) -> Range<usize> {
        let start = self.changes.partition_point(|change| *change.path < *path);
        let from = self.changes.get(start..).unwrap_or_default();
        start..start + from.partition_point(|change| change.path.starts_with(path))
    }

    /// Returns the changes at a path and below it.
    pub(super) fn below(&self, path: &Path) -> &[Change] {
        self.changes.get(self.places(path)).unwrap_or_default()
    }

    /// Returns the changes at a path and below it, to be changed.
    pub(super) fn below_mut(&mut self, path: &Path) -> &mut [Change] {
        let places = self.places(path);
        self.changes.get_mut(places).unwrap_or_default()
    }

    /// Leaves the changes at some places out.
    pub(super) fn leave_out(&mut self, places: &HashSet<usize>) {
        let mut at = 0..;
        self.changes.retain(|_| at.next().is_none_or(|at| !places.contains(&at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_may_be_later_than_they_say() {
        let at = |seconds, nanoseconds| Time { seconds, nanoseconds };
        for (time, moment, expected) in [
            (at(5, 1), at(5, 1), true),
            (at(5, 1), at(5, 2), false),
            (at(5, 0), at(5, 2), true),
            (at(5, 0), at(6, 999_999_999), true),
            (at(5, 0), at(7, 0), false),
            (at(8, 0), at(7, 0), true),
            (at(i64::MAX, 0), at(7, 0), true),
        ] {
            assert_eq!(time.may_be_since(moment), expected, "{time:?} {moment:?}");
        }
    }
}
