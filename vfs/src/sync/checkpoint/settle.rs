//! A checkpoint becomes a batch of the ledger.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::Bound;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::compare::{Became, Difference, Differences, Span, compare};
use super::list::{self, FILES, Kept, Left, Recorded};
use super::originals;
use super::tracked::OBJECTS;
use crate::fs::{At, Attribute, Fs, Kind, write_all};
use crate::git_blob::{self, Name};
use crate::sync::apply::{
    MountPlace, Outcome, RunPlace, blank, clear_undo, make_own, number_name, tell,
};
use crate::sync::collect::{io, is_same_root};
use crate::sync::journal::{Act, Batch, Direction, Ledger, MountBatch, Step, UNDO};
use crate::sync::{Attributes, ChangeKind, Seen, SyncError, SyncReport};
use crate::tree::remove_tree;

/// The directory of a checkpoint, in the run's.
pub const PLACE: &str = "checkpoint";

/// A path that a checkpoint does not bring back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncovered {
    /// Where, below the root of the tree.
    #[serde(with = "crate::json_path")]
    pub path: PathBuf,
    /// Why.
    pub left: Left,
}

/// What became of a tree that was recorded.
#[derive(Clone, Debug, Default)]
pub struct Checkpointed {
    /// What changed and can be taken back.
    pub report: SyncReport,
    /// What changed, or may have, and can't.
    pub uncovered: Vec<Uncovered>,
    /// What was left out on purpose, whatever became of it.
    pub left_out: Vec<Uncovered>,
}

impl Checkpointed {
    /// Whether anything changed, or may have.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.report.applied.is_empty() || !self.uncovered.is_empty()
    }
}

/// A content that git has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// Its name.
    pub name: Name,
    /// Its size in bytes.
    pub size: u64,
}

/// Takes one content that was wanted; it is checked to be that.
pub type Found<'a> = dyn FnMut(&[u8]) -> crate::fs::Result<()> + 'a;

/// Asks git for contents, of the objects in the directory that is handed in, and hands over each
/// that is there.
pub type Bring<'a> =
    dyn Fn(BorrowedFd<'_>, &[Wanted], &mut Found<'_>) -> crate::fs::Result<()> + 'a;

/// Compares the tree with what was recorded of it, and enters what changed into the run's ledger,
/// as changes that were written back.
///
/// Nothing of the tree changes. Done again after a kill it is as done once: the ledger appears as a
/// whole, and only then the record may be removed.
///
/// # Errors
/// A failing call; the record is still there.
pub fn settle(
    fs: &dyn Fs,
    run: &RunPlace<'_>,
    mount: &MountPlace<'_>,
    of_run: &Span<'_>,
    bring: &Bring<'_>,
) -> Result<Checkpointed, SyncError> {
    let root = fs.node(mount.root, OsStr::new("")).map_err(io("look at", Path::new("")))?;
    if !is_same_root(&root, &of_run.root) {
        // What stands in its place holds nothing of the run.
        return Err(SyncError::OtherRoot { mount: mount.number });
    }
    let about = |errno| io("read", Path::new(PLACE))(errno);
    let place = fs.open_dir(run.dir, OsStr::new(PLACE)).map_err(about)?;
    let recorded = list::read(fs, place.as_fd()).map_err(about)?;
    let mut ledger = Ledger::read(fs, run.dir)?;
    if ledger.knows(mount.number) {
        // It was entered, and the record could not be removed.
        return Ok(Checkpointed::default());
    }
    clear_undo(fs, run.dir, mount.number, ledger.next)?;
    let sides = (mount.root, place.as_fd());
    let found = compare(fs, sides, &recorded, of_run);
    let found = found.map_err(io("compare", Path::new("")))?;
    fetch(fs, place.as_fd(), &wanted(&recorded, &found), bring).map_err(about)?;
    let mut batch = Batch::new(Direction::Apply, &ledger);
    let mut entering = Entering {
        fs,
        place: place.as_fd(),
        recorded: &recorded,
        steps: Vec::new(),
        missing: Vec::new(),
    };
    let own = make_own(fs, run.dir, mount.number).map_err(io("make", Path::new(UNDO)))?;
    entering.all(&found, own.as_fd(), &mut batch.next)?;
    let Entering { steps, missing, .. } = entering;
    let mut settled = Checkpointed { left_out: left_out(&recorded), ..Checkpointed::default() };
    let uncovered = found.uncovered.into_iter().chain(missing);
    settled.uncovered.extend(uncovered.map(|(path, left)| Uncovered { path, left }));
    ledger.note_uncovered(mount.number, &settled.uncovered);
    if steps.iter().all(|step| step.change.is_none()) {
        if !settled.uncovered.is_empty() {
            ledger.store(fs, run.dir)?;
        }
        return Ok(settled);
    }
    let part = MountBatch {
        mount: mount.number,
        root: of_run.root,
        is_beside: false,
        root_time: None,
        root_mode: None,
        parents: Vec::new(),
        steps,
    };
    tell(&mut settled.report, &part, &vec![Outcome::Done; part.steps.len()]);
    settled.report.applied.sort_by(|one, other| one.path.cmp(&other.path));
    batch.mounts.push(part);
    (ledger.last, ledger.next) = (batch.serial, batch.next);
    ledger.batches.push(batch);
    ledger.store(fs, run.dir)?;
    Ok(settled)
}

/// Returns what an undo needs of git: what changed or is gone, and what was in directories that are.
fn wanted(recorded: &Recorded, found: &Differences) -> BTreeSet<Wanted> {
    let lost = found.changes.iter().filter_map(|Difference { path, became, .. }| match became {
        Became::Changed { then, .. } | Became::Deleted(then) => Some((path, then)),
        Became::Created(_) | Became::Amended { .. } => None,
    });
    let mut wanted = BTreeSet::new();
    for (path, then) in lost {
        let below = recorded.entries.range::<Path, _>((Bound::Included(&**path), Bound::Unbounded));
        let below = below.take_while(|(below, _)| {
            *below == path || (then.kind == Kind::Directory && below.starts_with(path))
        });
        wanted.extend(below.filter_map(|(_, (seen, kept))| match kept {
            Kept::Git(name) => Some(Wanted { name: *name, size: seen.size }),
            _ => None,
        }));
    }
    wanted
}

/// Writes what git gives beside the copies; what is not what its name says is as missing.
fn fetch(
    fs: &dyn Fs,
    place: BorrowedFd<'_>,
    wanted: &BTreeSet<Wanted>,
    bring: &Bring<'_>,
) -> crate::fs::Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let names: BTreeSet<Name> = wanted.iter().map(|wanted| wanted.name).collect();
    let files = fs.open_dir(place, OsStr::new(FILES))?;
    let objects = fs.open_dir(place, OsStr::new(OBJECTS))?;
    let wanted: Vec<Wanted> = wanted.iter().copied().collect();
    bring(objects.as_fd(), &wanted, &mut |content| {
        let name = git_blob::name(content);
        if !names.contains(&name) {
            return Ok(());
        }
        let name = originals::brought(&name);
        remove_tree(fs, files.as_fd(), &name).map_err(|left| left.errno)?;
        let file = fs.create_file(files.as_fd(), &name)?;
        write_all(fs, file.as_fd(), content)?;
        Ok(())
    })
}

/// Returns what was not recorded on purpose.
fn left_out(recorded: &Recorded) -> Vec<Uncovered> {
    let left = recorded.entries.iter().filter_map(|(path, (_, kept))| match kept {
        Kept::Left(left) if *left != Left::Changed => {
            Some(Uncovered { path: path.clone(), left: *left })
        }
        _ => None,
    });
    left.collect()
}

struct Entering<'e> {
    fs: &'e dyn Fs,
    place: BorrowedFd<'e>,
    recorded: &'e Recorded,
    steps: Vec<Step>,
    missing: Vec<(PathBuf, Left)>,
}

impl Entering<'_> {
    /// Makes steps in the order in which they would have been done: what an undo takes back last
    /// comes first.
    fn all(
        &mut self,
        found: &Differences,
        own: BorrowedFd<'_>,
        next: &mut u32,
    ) -> Result<(), SyncError> {
        let rank = |became: &Became| match became {
            Became::Created(_) | Became::Changed { .. } => 0,
            Became::Deleted(_) => 1,
            Became::Amended { now, .. } if now.kind != Kind::Directory => 2,
            Became::Amended { .. } => 3,
        };
        for wanted in 0..4 {
            let some = found.changes.iter().filter(|it| rank(&it.became) == wanted);
            let mut some: Vec<_> = some.collect();
            if wanted == 3 {
                some.reverse();
            }
            for difference in some {
                let step = self.step(difference, own, *next)?;
                let user = found.users.get(&difference.path);
                self.steps.extend(step.map(|step| with_user(step, user)));
                *next += 1;
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        difference: &Difference,
        own: BorrowedFd<'_>,
        number: u32,
    ) -> Result<Option<Step>, SyncError> {
        let (path, is_later) = (&difference.path, difference.is_later);
        let mut step = blank(path, number);
        match difference.became {
            Became::Created(now) => {
                (step.act, step.change, step.new) =
                    (Act::Put, Some(ChangeKind::Created), Some(now));
                step.node = now.kind;
            }
            Became::Changed { then, now } => {
                let is_kind = then.kind == now.kind;
                let change =
                    if is_kind { ChangeKind::Modified } else { ChangeKind::Replaced(then.kind) };
                (step.act, step.change, step.node) = (Act::Swap, Some(change), now.kind);
                (step.new, step.old) = (Some(now), Some(then));
                let Some(below) = self.original(path, own, number)? else { return Ok(None) };
                step.below = below;
            }
            Became::Deleted(then) => {
                (step.act, step.change) = (Act::Take, Some(ChangeKind::Deleted));
                (step.node, step.old) = (then.kind, Some(then));
                let Some(below) = self.original(path, own, number)? else { return Ok(None) };
                step.below = below;
            }
            Became::Amended { then, now } => amended(&mut step, then, now, is_later),
        }
        step.exact = difference.is_alone || (is_later && step.act == Act::Swap);
        step.in_doubt = is_later && step.act != Act::Swap;
        Ok(Some(step))
    }

    /// Makes what an undo puts back; `None` when that is lost.
    fn original(
        &mut self,
        path: &Path,
        own: BorrowedFd<'_>,
        number: u32,
    ) -> Result<Option<Vec<(PathBuf, Seen)>>, SyncError> {
        let to = At { dir: own, name: &number_name(number) };
        let made = originals::make(self.fs, self.place, self.recorded, path, to);
        let made = made.map_err(io("keep", path))?;
        self.missing.extend(made.missing);
        Ok((!made.is_lost).then_some(made.below))
    }
}

/// Has an undo give a directory the attributes again that it had.
fn with_user(mut step: Step, user: Option<&[Vec<Attribute>; 2]>) -> Step {
    if let Some([then, now]) = user {
        step.change = Some(ChangeKind::Attributes);
        (step.before.user, step.after.user) = (Some(then.clone()), Some(now.clone()));
    }
    step
}

/// The time of a directory alone is no change: it is what names that came and went leave. One that
/// changed after the end keeps it.
fn amended(step: &mut Step, then: Seen, now: Seen, is_later: bool) {
    let is_trace = now.kind == Kind::Directory && then.mode == now.mode;
    let side = |seen: Seen| Attributes {
        mode: (then.mode != now.mode).then_some(seen.mode),
        modified: (!is_later).then_some(seen.modified),
        user: None,
    };
    step.change = (!is_trace).then_some(ChangeKind::Attributes);
    (step.node, step.new, step.old) = (now.kind, Some(now), Some(then));
    (step.before, step.after) = (side(then), side(now));
}
