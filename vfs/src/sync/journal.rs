//! What is on the disk about a write-back: the journal of one under way, and the ledger of those
//! that were done.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::Uncovered;
use super::collect::io;
use super::file::{VERSION, gone, overwrite, read, write};
use super::follow::Restored;
use super::{Attributes, ChangeKind, Identity, Lacking, Seen, Settled, SyncError, Time, stored};
use crate::fs::{Errno, Fs, Kind, Result};
pub(super) use crate::state::{JOURNAL, UNDO};

const JOURNAL_NEW: &str = "journal.new";
pub(super) const LEDGER: &str = "applied.json";
pub(super) const LEDGER_NEW: &str = "applied.json.new";

/// Which way a batch goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A run's changes are written back.
    Apply,
    /// They are taken back.
    Undo,
}

impl Direction {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Apply => "a write-back",
            Self::Undo => "an undo",
        }
    }
}

/// One write-back or undo of a run, in all its mounts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) version: u32,
    pub(super) direction: Direction,
    /// Its place among all batches of the run.
    pub(super) serial: u32,
    /// The first number that this batch does not use.
    pub(super) next: u32,
    pub(super) mounts: Vec<MountBatch>,
}

/// The part of a batch that is done in one mount.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MountBatch {
    pub(super) mount: u32,
    pub(super) root: Identity,
    /// The stage is a directory at the root of the target.
    #[serde(default)]
    pub(super) is_beside: bool,
    /// The root's time before that directory was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) root_time: Option<Time>,
    /// The root's bits, where it was opened up for that directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) root_mode: Option<u32>,
    /// The host's directories in which names come and go.
    #[serde(with = "stored::seen")]
    pub(super) parents: Vec<(PathBuf, Seen)>,
    pub(super) steps: Vec<Step>,
}

/// How a step is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Act {
    /// The staged content goes to where nothing is.
    Put,
    /// The staged content and what is there change places.
    Swap,
    /// What is there goes to the stage.
    Take,
    /// Attributes are set on what stays.
    Amend,
}

/// One effect, with all that is needed to find whether it is done, and to take it back.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing that most steps are not")]
pub(super) struct Step {
    #[serde(with = "crate::json_path")]
    pub(super) path: PathBuf,
    pub(super) act: Act,
    /// The name in the stage.
    pub(super) number: u32,
    /// What is reported; `None` when it only serves other steps.
    pub(super) change: Option<ChangeKind>,
    pub(super) node: Kind,
    /// What the step puts there, or what stays there when attributes are set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) new: Option<Seen>,
    /// What the step displaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) old: Option<Seen>,
    /// The time of change of a displaced file that has other names, as the step left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) displaced: Option<Time>,
    /// All that is in the displaced directory.
    #[serde(with = "stored::seen", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) below: Vec<(PathBuf, Seen)>,
    #[serde(default)]
    pub(super) before: Attributes,
    #[serde(default)]
    pub(super) after: Attributes,
    /// In an undo, or when it is taken back: the time of change of what is displaced counts, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) exact: bool,
    /// Something changed there after the end of the run, too: it may not be the run's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) in_doubt: bool,
    /// An undo that leaves the step in force.
    #[serde(default)]
    pub(super) keeps: bool,
    /// It is done inside of a staged directory, and holds when that is in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_within: bool,
    /// How many names a file has that attributes are set on: a further one must not get them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) links: Option<u32>,
    /// The layer's file, where both sides were merged into what is put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) merged: Option<Seen>,
    /// What it displaces was copied to the run's directory before the journal held.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_kept: bool,
    /// It is not done: what it would displace can't be read, and so not be kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_barred: bool,
    /// It is not done: what it puts in place, or what it would displace, is beyond what a file system can keep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_beyond: bool,
    /// What the copy of what it displaces lacks, by paths below that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) lacks: Vec<Lacking>,
}

impl Step {
    /// Whether something goes from the tree to the stage by it.
    pub(super) fn displaces(&self) -> bool {
        matches!(self.act, Act::Swap | Act::Take)
    }

    /// Returns whether an entry is what the step put there, and nobody wrote to it since.
    pub(super) fn has_left(&self, found: &Seen) -> bool {
        self.new.is_some_and(|new| {
            let modified = self.after.modified.unwrap_or(new.modified);
            let is_as_left = found.size == new.size && found.modified == modified;
            found.is_same_inode(&new) && (found.kind == Kind::Directory || is_as_left)
        })
    }
}

/// What was written back of a run and not undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ledger {
    pub(super) version: u32,
    /// The first number that no undo data has.
    pub(super) next: u32,
    /// The last batch that is entered here, undone ones included.
    pub(super) last: u32,
    /// In the order in which they were done.
    pub(super) batches: Vec<Batch>,
    /// What write-back left in the trees, by mount.
    pub(super) settled: Vec<(u32, Seen)>,
    /// What of the layers is part of files of the tree now, by mount. It stays so after an undo:
    /// put in place by itself, it would take away what the host had changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) merged: Vec<Merged>,
    /// What changed in live mounts and can't be taken back, by mount.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) uncovered: Vec<(u32, Uncovered)>,
}

/// A file of a layer that was merged with the host's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Merged {
    pub(super) mount: u32,
    #[serde(with = "crate::json_path")]
    pub(super) path: PathBuf,
    pub(super) upper: Seen,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            version: VERSION,
            next: 1,
            last: 0,
            batches: Vec::new(),
            settled: Vec::new(),
            merged: Vec::new(),
            uncovered: Vec::new(),
        }
    }
}

impl Ledger {
    /// Reads what was written back; nothing was when there is no such file.
    ///
    /// # Errors
    /// A failing call, or a file that is not ours or too new.
    pub fn read(fs: &dyn Fs, run: BorrowedFd<'_>) -> std::result::Result<Self, SyncError> {
        let name = Path::new(UNDO).join(LEDGER);
        Ok(read(fs, run, &name)?.unwrap_or_default())
    }

    /// Returns what a later [`super::collect()`] of a mount must not take for the host's changes.
    pub fn settled(&self, mount: u32) -> Settled {
        let mut settled = Settled::default();
        self.settled.iter().filter(|(known, _)| *known == mount).for_each(|(_, seen)| {
            settled.add(seen);
        });
        let displaced = self.steps(mount).filter_map(|step| step.old.zip(step.displaced));
        displaced.for_each(|(was, now)| settled.add_displaced(&was, now));
        let placed = self.last_left(mount).filter_map(|(_, seen)| seen);
        placed.filter(|it| it.kind != Kind::Directory).for_each(|it| settled.add_placed(it));
        for known in self.merged.iter().filter(|known| known.mount == mount) {
            settled.add_merged(&known.path, &known.upper);
        }
        settled
    }

    /// Returns what changed in a live mount and can't be taken back.
    pub fn uncovered(&self, mount: u32) -> impl Iterator<Item = &Uncovered> {
        self.uncovered.iter().filter(move |(of, _)| *of == mount).map(|(_, uncovered)| uncovered)
    }

    pub(super) fn note_uncovered(&mut self, mount: u32, uncovered: &[Uncovered]) {
        self.uncovered.retain(|(of, _)| *of != mount);
        self.uncovered.extend(uncovered.iter().map(|it| (mount, it.clone())));
    }

    /// Gives a new run that goes on from an earlier one's layers what write-back of that one left
    /// in the trees; `numbers` are those of the mounts in both.
    ///
    /// # Errors
    /// A failing call, or a ledger that is not ours or too new.
    pub fn hand_on(
        fs: &dyn Fs,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        numbers: &[(u32, u32)],
    ) -> std::result::Result<(), SyncError> {
        let earlier = Self::read(fs, from)?;
        let renumbered = |(mount, seen): &(u32, Seen)| {
            let (_, now) = numbers.iter().find(|(was, _)| was == mount)?;
            Some((*now, *seen))
        };
        let settled: Vec<_> = earlier.settled.iter().filter_map(renumbered).collect();
        if settled.is_empty() {
            return Ok(());
        }
        Self { settled, ..Self::default() }.store(fs, to)
    }

    /// Notes what the last write-back of a path left there.
    pub(super) fn left_at(&mut self, mount: u32, path: &Path, seen: Seen) {
        let parts = self.batches.iter_mut().rev().flat_map(|batch| &mut batch.mounts);
        let mut steps = parts.filter(|part| part.mount == mount).flat_map(|part| &mut part.steps);
        let step = steps.find(|step| step.path == path && step.act != Act::Amend);
        if let Some(step) = step.filter(|step| step.new.is_some_and(|new| seen.is_still(&new))) {
            step.new = Some(seen);
        }
    }

    /// Notes that what the run left at a path is there again, as another one; `false` where it left no such thing.
    pub(super) fn left_again(&mut self, mount: u32, restored: &Restored) -> bool {
        let parts = self.batches.iter_mut().flat_map(|batch| &mut batch.mounts);
        let steps = parts.filter(|part| part.mount == mount).flat_map(|part| &mut part.steps);
        let left = steps.filter(|step| step.path == restored.path);
        let mut has_any = false;
        for (new, is_exact) in left.filter_map(|step| Some((step.new.as_mut()?, step.exact))) {
            let is_untouched = !is_exact || restored.was.changed == new.changed;
            if restored.was.is_still(new) && is_untouched {
                *new = restored.now;
                has_any = true;
            }
        }
        if has_any {
            self.settle_all(mount, [restored.now]);
        }
        has_any
    }

    /// Notes that what the host has is known to the run, and no change against it.
    pub(super) fn adopt(
        fs: &dyn Fs,
        run: BorrowedFd<'_>,
        mount: u32,
        seen: Seen,
    ) -> std::result::Result<(), SyncError> {
        let mut ledger = Self::read(fs, run)?;
        ledger.settle_all(mount, [seen]);
        ledger.forget_earlier();
        ledger.store(fs, run)
    }

    /// Makes it hold, durably.
    pub(super) fn store(
        &self,
        fs: &dyn Fs,
        run: BorrowedFd<'_>,
    ) -> std::result::Result<(), SyncError> {
        match fs.make_dir(run, OsStr::new(UNDO), 0o700) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(io("make", Path::new(UNDO))(errno)),
        }
        let undo = fs.open_dir(run, OsStr::new(UNDO)).map_err(io("open", Path::new(UNDO)))?;
        self.write(fs, undo.as_fd())?;
        fs.sync_all(undo.as_fd()).map_err(io("write", Path::new(LEDGER)))?;
        Self::publish(fs, undo.as_fd()).map_err(io("write", Path::new(LEDGER)))
    }

    /// Returns a ledger with what was written back to a mount below the roots that are meant.
    pub(super) fn below_roots(&self, mount: u32, is_meant: &dyn Fn(&Identity) -> bool) -> Self {
        let of_batch = |batch: &Batch| {
            let parts = batch.mounts.iter().filter(|it| it.mount == mount && is_meant(&it.root));
            Batch { mounts: parts.cloned().collect(), ..*batch }
        };
        let batches = self.batches.iter().map(of_batch).collect();
        let (settled, merged) = (self.settled.clone(), self.merged.clone());
        Self { batches, settled, merged, uncovered: Vec::new(), ..*self }
    }

    /// Returns what of a mount can be undone, in the order in which it was done.
    pub fn applied(&self, mount: u32) -> impl Iterator<Item = (&Path, ChangeKind)> {
        self.steps(mount).filter_map(|step| step.change.map(|kind| (step.path.as_path(), kind)))
    }

    pub(super) fn steps(&self, mount: u32) -> impl Iterator<Item = &Step> {
        let mounts = self.batches.iter().flat_map(|batch| &batch.mounts);
        mounts.filter(move |part| part.mount == mount).flat_map(|part| &part.steps)
    }

    /// Returns the files of a mount that write-back put or touched.
    pub(super) fn left(&self, mount: u32) -> impl Iterator<Item = &Path> {
        let has_file = |step: &&Step| step.new.is_some() && step.node == Kind::File;
        let files = self.steps(mount).filter(has_file);
        files.map(|step| step.path.as_path())
    }

    /// Returns what write-back put at the paths of a mount, the last of several of a path last.
    pub(super) fn last_left(&self, mount: u32) -> impl Iterator<Item = (&Path, Option<&Seen>)> {
        let steps = self.steps(mount).filter(|step| step.act != Act::Amend);
        let left = |step: &'_ Step| step.act != Act::Take;
        steps.map(move |step| (step.path.as_path(), step.new.as_ref().filter(|_| left(step))))
    }

    /// Returns whether anything of a mount is entered.
    pub(super) fn knows(&self, mount: u32) -> bool {
        self.batches.iter().flat_map(|batch| &batch.mounts).any(|part| part.mount == mount)
    }

    pub(super) fn settle_all(&mut self, mount: u32, seen: impl IntoIterator<Item = Seen>) {
        self.settled.extend(seen.into_iter().map(|seen| (mount, seen)));
    }

    /// Gives up what was put at some paths of mounts: it stays, and is no part of the run any more.
    pub(super) fn forget(&mut self, paths: &[(u32, BTreeSet<PathBuf>)]) -> bool {
        let mut has_any = false;
        for part in self.batches.iter_mut().flat_map(|batch| &mut batch.mounts) {
            let of_mount = paths.iter().filter(|(mount, _)| *mount == part.mount);
            let of_mount: Vec<_> = of_mount.map(|(_, paths)| paths).collect();
            let is_kept = |step: &Step| {
                let is_named = of_mount.iter().any(|paths| paths.contains(&step.path));
                step.act != Act::Put || step.change.is_none() || !is_named
            };
            has_any |= !part.steps.iter().all(is_kept);
            part.steps.retain(is_kept);
        }
        has_any
    }

    /// Keeps the last of what is known of each inode.
    pub(super) fn forget_earlier(&mut self) {
        let mut known = HashSet::new();
        let mut kept: Vec<_> = std::mem::take(&mut self.settled);
        kept.reverse();
        kept.retain(|(mount, seen)| known.insert((*mount, seen.ino)));
        kept.reverse();
        self.settled = kept;
    }

    /// Writes it beside the one that holds; once its file system is synced, [`Self::publish`] makes
    /// it hold.
    pub(super) fn write(
        &self,
        fs: &dyn Fs,
        undo: BorrowedFd<'_>,
    ) -> std::result::Result<(), SyncError> {
        overwrite(fs, undo, LEDGER_NEW, self)
    }

    pub(super) fn publish(fs: &dyn Fs, undo: BorrowedFd<'_>) -> Result<()> {
        fs.rename(undo, OsStr::new(LEDGER_NEW), OsStr::new(LEDGER))?;
        fs.sync_file(undo)
    }
}

impl Batch {
    pub(super) fn new(direction: Direction, ledger: &Ledger) -> Self {
        let (serial, next) = (ledger.last + 1, ledger.next);
        Self { version: VERSION, direction, serial, next, mounts: Vec::new() }
    }

    /// Reads the journal of a run, if one is there.
    pub(super) fn read_journal(
        fs: &dyn Fs,
        run: BorrowedFd<'_>,
    ) -> std::result::Result<Option<Self>, SyncError> {
        read(fs, run, Path::new(JOURNAL))
    }

    /// Returns how many bytes it has.
    pub(super) fn write_journal(
        &self,
        fs: &dyn Fs,
        run: BorrowedFd<'_>,
    ) -> std::result::Result<u64, SyncError> {
        write(fs, run, JOURNAL_NEW, self)
    }
}

/// Makes the journal that was written hold: from here on the batch goes forward.
pub(super) fn publish_journal(fs: &dyn Fs, run: BorrowedFd<'_>) -> Result<()> {
    fs.rename(run, OsStr::new(JOURNAL_NEW), OsStr::new(JOURNAL))?;
    fs.sync_file(run)
}

pub(super) fn has_journal(
    fs: &dyn Fs,
    run: BorrowedFd<'_>,
) -> std::result::Result<bool, SyncError> {
    match fs.node(run, OsStr::new(JOURNAL)) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(io("look for", Path::new(JOURNAL))(errno)),
    }
}

pub(super) fn remove_journal(fs: &dyn Fs, run: BorrowedFd<'_>) -> Result<()> {
    gone(fs.unlink(run, OsStr::new(JOURNAL)))
}

pub(super) fn remove_unfinished(fs: &dyn Fs, run: BorrowedFd<'_>) -> Result<()> {
    gone(fs.unlink(run, OsStr::new(JOURNAL_NEW)))?;
    match fs.unlink(run, Path::new(UNDO).join(LEDGER_NEW).as_os_str()) {
        Err(Errno::NOTDIR) => Ok(()),
        result => gone(result),
    }
}
