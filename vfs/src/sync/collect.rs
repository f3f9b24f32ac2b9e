//! What a layer says that a run changed.

mod compare;
mod databases;
mod entry;
mod groups;
mod refuse;
mod removed;

use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::made_like;
use super::root::{Closed, Dir, Root};
use super::{
    Absent, Change, ChangeKind, ChangeSet, Conflict, Identity, Refusal, Seen, Settled, SyncError,
    Time,
};
use crate::fs::{Errno, Fs, Kind, Node, Special};
use crate::state::MadeLike;
use crate::traps::Sides;
pub(super) use compare::Buffers;

use entry::HostSide;
use groups::Groups;
pub(super) use refuse::{leads_out, users};

/// The most names of a mount that are compared: each takes memory until the write-back is over, and a
/// layer may have any number of them. Measured: 1 KiB a name to compare, 2.4 KiB to write back.
const MOST_NAMES: usize = 1 << 21;

/// How many bytes of the path to it, and of its attributes, each name may have; it counts once more for as many again. The paths of a
/// chain of directories are together as long as its length squared.
const PATH_BYTES: usize = 256;

/// A layer and the tree it stands on.
pub struct Source<'a> {
    /// The upper layer, whose root was made like the target's.
    pub upper: BorrowedFd<'a>,
    /// The root of the target.
    pub root: BorrowedFd<'a>,
    /// Which directory that was when the run began.
    pub identity: Identity,
    /// When the run began, by the target's own clock.
    pub stamp: Time,
    /// Whether what is older by its times is older than that.
    pub clock: Clock,
    /// What was already written back of this run.
    pub settled: &'a Settled,
    /// The layer is no overlay's, and has only what the command made at a place that did not exist.
    pub absent: Option<Absent<'a>>,
    /// What becomes of directories of the target that are closed to their owner.
    pub closed: Closed,
    /// What the root of the layer was made with, of what the target's has.
    pub made_like: Option<MadeLike>,
}

/// Whether the clock ran on since a run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// It did.
    #[default]
    Steady,
    /// It was set back: an edit of since then may look older than the run. All that both sides have
    /// counts as changed.
    SetBack,
}

impl Source<'_> {
    /// Returns whether an entry of the host's may have changed since the run began.
    pub(super) fn may_have_changed(&self, host: &Seen) -> bool {
        self.clock == Clock::SetBack || host.changed.may_be_since(self.stamp) || self.is_new(host)
    }

    /// Returns whether an entry of the host's may have been made since the run began.
    pub(super) fn is_new(&self, host: &Seen) -> bool {
        host.born.is_some_and(|born| born.may_be_since(self.stamp))
    }
}

/// Walks the layer, never the target, and returns what the run changed.
///
/// Of the target only what the layer has too is looked at, and what the run removed. Files that
/// were copied up and are equal to the host's are no changes. No link is followed, nothing but
/// regular files and directories is opened, and the number of descriptors does not depend on the
/// depth. Directories of the layer that are closed to their owner are opened meanwhile, those of the
/// target where [`Source::closed`] says so.
///
/// # Errors
/// A call that fails on the layer, or one on the target that can't be explained by its contents.
pub fn collect(fs: &dyn Fs, source: &Source<'_>) -> Result<ChangeSet, SyncError> {
    collect_most(fs, source, MOST_NAMES)
}

/// Returns what the run changed, as [`collect`] does, with a bound of names.
pub(super) fn collect_most(
    fs: &dyn Fs,
    source: &Source<'_>,
    most: usize,
) -> Result<ChangeSet, SyncError> {
    let mut collector = Collector { names_left: most, ..Collector::new(fs, source) };
    let collected = collector.run();
    let closed = collector.upper.close().and(collector.host.close());
    collected?;
    closed.map_err(io("close", Path::new("")))?;
    let mut set = collector.set;
    set.changes.sort_by(|one, other| one.path.cmp(&other.path));
    databases::join(fs, source, &mut set);
    Ok(set)
}

/// A directory yet to be looked at.
enum Task {
    /// Of the layer, and the host's where it has one.
    Both(Both),
    /// Of the host's alone: what was in a directory that the run removed.
    Removed { path: PathBuf, conflict: Option<Conflict>, host: Seen },
}

struct Both {
    path: PathBuf,
    /// The host's directory at this path.
    host: Option<Seen>,
    /// Names came or went there since the run began.
    is_changed: bool,
    /// What the layer does not have is removed.
    is_opaque: bool,
    /// Something was copied up into the layer's.
    is_impure: bool,
    /// Holds for all below.
    conflict: Option<Conflict>,
}

struct Collector<'a> {
    fs: &'a dyn Fs,
    source: &'a Source<'a>,
    upper: Root<'a>,
    host: Root<'a>,
    set: ChangeSet,
    tasks: VecDeque<Task>,
    groups: Groups,
    /// The layer has new entries and edits in place alone: nothing was moved, removed or replaced.
    is_plain: bool,
    /// New files that may be edits of ones that the host removed.
    vanished: Vec<PathBuf>,
    owner: u32,
    device: u64,
    buffers: Buffers,
    /// How many more names are listed.
    names_left: usize,
    sides: Sides<'a>,
}

impl<'a> Collector<'a> {
    fn new(fs: &'a dyn Fs, source: &'a Source<'a>) -> Self {
        Self {
            fs,
            source,
            upper: Root::new(fs, source.upper, Closed::Open),
            host: Root::new(fs, source.root, source.closed),
            set: ChangeSet::default(),
            tasks: VecDeque::new(),
            groups: Groups::default(),
            is_plain: true,
            vanished: Vec::new(),
            owner: 0,
            device: 0,
            buffers: Buffers::default(),
            names_left: MOST_NAMES,
            sides: Sides::new(fs, Some(source.upper), source.root),
        }
    }

    fn run(&mut self) -> Result<(), SyncError> {
        self.begin()?;
        // The last task first: the walk goes down before it goes on, so that the next directory
        // is mostly opened from the one before.
        while let Some(task) = self.tasks.pop_back() {
            match task {
                Task::Both(both) => self.look_at_both(&both)?,
                Task::Removed { path, conflict, host } => {
                    self.look_at_removed(&path, conflict, &host)?;
                }
            }
        }
        self.mark_vanished();
        let groups = std::mem::take(&mut self.groups);
        let mut changes = std::mem::take(&mut self.set.changes);
        let is_done = |host: &Seen| self.source.settled.has_placed(host);
        groups.settle(&mut changes, |host| self.changed(host), is_done);
        know_renamed(&mut changes);
        self.set.changes = changes;
        Ok(())
    }

    /// What was moved into a directory leaves overlayfs' mark there, whatever became of it.
    fn mark_vanished(&mut self) {
        if !self.is_plain {
            return;
        }
        let vanished: HashSet<PathBuf> = std::mem::take(&mut self.vanished).into_iter().collect();
        for change in self.set.changes.iter_mut().filter(|it| vanished.contains(&it.path)) {
            change.conflict.get_or_insert(Conflict::Vanished);
        }
    }

    fn begin(&mut self) -> Result<(), SyncError> {
        let (name, here) = (OsStr::new(""), PathBuf::new());
        let mut upper = self.fs.node(self.source.upper, name).map_err(io("look at", &here))?;
        let root = self.fs.node(self.source.root, name).map_err(io("look at", &here))?;
        if let Some(made) = &self.source.made_like {
            upper.status.mode = made_like::bits(&upper.status, made.mode, &root.status);
        }
        (self.owner, self.device) = (upper.status.uid, root.status.id.dev);
        let is_same = is_same_root(&root, &self.source.identity);
        let inherited = (!is_same).then_some(Conflict::Root);
        let dir = Dir::Root(self.source.upper);
        let found = entry::UpperEntry { name: OsStr::new("."), path: here, node: upper, dir: &dir };
        let host = HostSide::Here(Dir::Root(self.source.root), root);
        let parent = entry::Parent {
            is_changed: false,
            conflict: inherited,
            is_opaque: false,
            may_have_vanished: false,
            refused: None,
        };
        self.compare(&found, &host, &parent)
    }

    fn look_at_both(&mut self, both: &Both) -> Result<(), SyncError> {
        let failed = |action| io(action, &both.path);
        let listed = self.upper.list(&both.path).map_err(failed("open"))?;
        let mut names = self.names(listed.as_fd(), &both.path)?;
        names.sort();
        drop(listed);
        let (above, closed) = self.host_dir(both)?;
        let dir = self.upper.dir(&both.path).map_err(failed("open"))?;
        let is_apart = above.as_ref().map_or(Ok(false), |it| self.is_apart(it, &both.path))?;
        let parent = entry::Parent {
            is_changed: both.is_changed,
            conflict: both.conflict,
            is_opaque: both.is_opaque,
            may_have_vanished: self.may_have_vanished(
                (both, &dir),
                (above.as_ref(), closed),
                &names,
            )?,
            refused: is_apart.then_some(Refusal::Subvolume),
        };
        for name in &names {
            let found = self.found(&both.path, &dir, name)?;
            let host = self.host_entry(above.as_ref(), closed, &found)?;
            self.compare(&found, &host, &parent)?;
        }
        match above {
            Some(above) if both.is_opaque => self.remove_others(both, &above, &names),
            _ => Ok(()),
        }
    }

    fn found<'d>(
        &self,
        above: &Path,
        dir: &'d Dir<'a>,
        name: &'d OsStr,
    ) -> Result<entry::UpperEntry<'d, 'a>, SyncError> {
        let path = above.join(name);
        let node = self.fs.node(dir.as_fd(), name).map_err(io("look at", &path))?;
        Ok(entry::UpperEntry { name, path, node, dir })
    }

    /// Returns whether a file may have been copied up that the host had removed before. overlayfs
    /// marks the directory as ever, but not the file: it has no name any more (`ovl_do_copy_up`).
    /// When the host changed the directory, and no entry explains the mark, it is one of the new
    /// files. Once something was written back, what left the layer with that may explain it.
    fn may_have_vanished(
        &mut self,
        (both, dir): (&Both, &Dir<'a>),
        host: (Option<&Dir<'a>>, Option<Refusal>),
        names: &[OsString],
    ) -> Result<bool, SyncError> {
        if !(both.is_impure && both.is_changed && self.source.settled.is_empty()) {
            return Ok(false);
        }
        for name in names {
            let found = self.found(&both.path, dir, name)?;
            let is_on_host = !matches!(self.host_entry(host.0, host.1, &found)?, HostSide::Absent);
            if is_on_host || !matches!(found.node.status.kind, Kind::File | Kind::Directory) {
                return Ok(false);
            }
            if self.told(&found)?.has_origin {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens the host's directory; one that is gone meanwhile is a conflict when it is applied.
    fn host_dir(&mut self, both: &Both) -> Result<(Option<Dir<'a>>, Option<Refusal>), SyncError> {
        if both.host.is_none() {
            return Ok((None, None));
        }
        let found = self.host.dir(&both.path);
        if self.source.closed == Closed::Open && found.is_ok() {
            // What stays closed is refused.
            let _ = self.host.open_up(&both.path);
        }
        match found {
            Ok(dir) => Ok((Some(dir), None)),
            Err(Errno::ACCESS) => Ok((None, Some(Refusal::Unreadable))),
            Err(Errno::XDEV) => Ok((None, Some(Refusal::MountPoint))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok((None, None)),
            Err(errno) => Err(io("open", &both.path)(errno)),
        }
    }

    /// Nothing can be renamed into another subvolume of btrfs, which has a device of its own.
    fn is_apart(&self, dir: &Dir<'a>, path: &Path) -> Result<bool, SyncError> {
        let status = self.fs.status_of(dir.as_fd()).map_err(io("look at", path))?;
        Ok(status.id.dev != self.device)
    }

    fn host_entry(
        &self,
        above: Option<&Dir<'a>>,
        closed: Option<Refusal>,
        found: &entry::UpperEntry<'_, '_>,
    ) -> Result<HostSide<'a>, SyncError> {
        if let Some(refusal) = closed {
            return Ok(HostSide::Closed(refusal));
        }
        let Some(dir) = above else { return Ok(HostSide::Absent) };
        match self.fs.node(dir.as_fd(), found.name) {
            Ok(node) => Ok(HostSide::Here(dir.clone(), node)),
            Err(Errno::NOENT | Errno::NAMETOOLONG) => Ok(HostSide::Absent),
            Err(Errno::ACCESS) => Ok(HostSide::Closed(Refusal::Unreadable)),
            Err(errno) => Err(io("look at", &found.path)(errno)),
        }
    }

    fn push(&mut self, change: Change) {
        self.set.changes.push(change);
    }

    fn names(&mut self, dir: BorrowedFd<'_>, path: &Path) -> Result<Vec<OsString>, SyncError> {
        let each = 1 + path.as_os_str().len() / PATH_BYTES;
        let most = self.names_left / each;
        let entries = self.fs.list(dir, most.saturating_add(1)).map_err(io("list", path))?;
        self.count(entries.len().saturating_mul(each), path)?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    /// Takes what has to be remembered from what may be: names, and as much again for each [`PATH_BYTES`].
    fn count(&mut self, names: usize, path: &Path) -> Result<(), SyncError> {
        let too_many = || SyncError::TooMany { path: path.to_owned() };
        self.names_left = self.names_left.checked_sub(names).ok_or_else(too_many)?;
        Ok(())
    }

    /// Returns a conflict when the host's entry is not what it was when the run began.
    fn changed(&self, host: &Seen) -> Option<Conflict> {
        let is_ours = || {
            let before = self.source.settled.before_displaced(host);
            self.source.settled.has(host) || before.is_some_and(|it| self.changed(&it).is_none())
        };
        (self.source.may_have_changed(host) && !is_ours()).then_some(Conflict::Changed)
    }

    /// Returns a conflict when the host's directory is another than when the run began, for all
    /// that can be told: one that is renamed into place, or whose bits change, keeps its time of
    /// modification. Renamed into place it changes the directory above, too.
    fn replaced(&self, host: &Seen, is_parent_changed: bool) -> Option<Conflict> {
        let stamp = self.source.stamp;
        let is_new = self.source.is_new(host);
        // To open and close one is a change of our own.
        let is_opened = self.source.closed == Closed::Open && host.mode & 0o700 != 0o700;
        let is_moved =
            is_parent_changed && host.changed.may_be_since(stamp) && host.modified < stamp;
        let is_moved = is_moved && !is_opened;
        let is_ours =
            if is_new { self.source.settled.knows(host) } else { self.source.settled.has(host) };
        ((is_new || is_moved) && !is_ours).then_some(Conflict::Changed)
    }

    /// The same of one that the run removed. Where names came or went in it last, both of its times are of then: one
    /// that was moved here later, into a directory that goes, has another time of change.
    fn replaced_below_removed(&self, host: &Seen, is_parent_changed: bool) -> Option<Conflict> {
        let is_since = host.changed.may_be_since(self.source.stamp);
        let is_moved = is_parent_changed && is_since && host.modified != host.changed;
        let is_moved = is_moved && !self.source.settled.has(host);
        let replaced = self.replaced(host, is_parent_changed);
        replaced.or(is_moved.then_some(Conflict::Changed))
    }
}

/// Takes back the conflict of files that look as if the host had removed them, where the run
/// removed a file of the same size and time: it renamed that one.
fn know_renamed(changes: &mut [Change]) {
    let key = |seen: &Seen| (seen.kind, seen.size, seen.modified);
    let vanished = |change: &Change| change.conflict == Some(Conflict::Vanished);
    if !changes.iter().any(vanished) {
        return;
    }
    let removed = changes.iter().filter(|change| change.kind == ChangeKind::Deleted);
    let removed: HashSet<_> = removed.filter_map(|change| change.host.as_ref().map(key)).collect();
    for change in changes.iter_mut().filter(|change| vanished(change)) {
        let is_file = change.node() == Kind::File;
        if is_file && change.upper.as_ref().is_some_and(|upper| removed.contains(&key(upper))) {
            change.conflict = None;
        }
    }
}

/// Returns whether a root is still the directory that it was.
pub(super) fn is_same_root(root: &Node, expected: &Identity) -> bool {
    Identity::from(root).is_same(expected)
}

fn is_whiteout(node: &Node) -> bool {
    node.special == Some(Special::Whiteout)
}

pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(Errno) -> SyncError + use<> {
    let path = path.to_owned();
    move |errno| SyncError::Io { action, path, errno }
}
