//! Copy-on-write mounts of trees when the last process is gone: what the command left is captured as
//! objects, and lands in the repository as one reference.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::SystemTime;

use endow_policy::GuestPath;
use endow_vfs::fs::OsFs;
use endow_vfs::state::{
    ChangeCounts, Durability, LandedReference, Moment, Record, RunDir, StateError, TreeRecord,
};
use endow_vfs::working_copy::{
    Captured, ChangedKind, LandError, land_objects, put_reference, reference, take_reference,
};

use crate::trees::{self, CaptureError, STAGED, Signed};

/// Where what a run left is named in a repository.
const OWN: &str = "refs/endow";
/// Where branches are.
const BRANCHES: &str = "refs/heads";

/// What became of a copy-on-write mount of a tree.
#[derive(Debug)]
pub(crate) struct TreeEnd {
    /// Its place in the view.
    pub(crate) at: GuestPath,
    /// What the command left; `None` when it changed nothing, or that could not be found out.
    pub(crate) captured: Option<Captured>,
    /// The references that were set.
    pub(crate) landed: Vec<LandedReference>,
    /// Why the result is not where it was to be.
    pub(crate) error: Option<TreeEndError>,
}

/// Why a result is not where it was to be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeEndError {
    /// What the command left can't be taken over; it is kept.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The repository can't be changed.
    #[error(transparent)]
    Land(#[from] LandError),
    /// What is going to be set can't be noted.
    #[error("can't note what is going to be set")]
    Record(#[source] StateError),
    /// The branch has commits that the result does not have.
    #[error("branch {0} can't go forward to the result: it has commits of its own")]
    NotForward(String),
    /// A work tree of the host stands on the branch.
    #[error("branch {0} is checked out by now")]
    CheckedOut(String),
}

impl TreeEnd {
    /// Returns whether the command changed anything.
    pub(crate) fn has_changes(&self) -> bool {
        self.captured.is_some()
    }

    /// Returns whether something is left that waits for the user.
    pub(crate) fn waits(&self) -> bool {
        let is_left = self.captured.as_ref().is_some_and(|it| !it.refused.is_empty());
        self.error.is_some() || is_left || (self.has_changes() && self.landed.is_empty())
    }

    /// Returns whether something that was to be written back was not.
    pub(crate) fn is_short(&self) -> bool {
        self.error.is_some() || self.captured.as_ref().is_some_and(|it| !it.refused.is_empty())
    }
}

/// Returns how much the command changed in trees.
pub(crate) fn counts(ends: &[TreeEnd]) -> ChangeCounts {
    let mut counts = ChangeCounts::default();
    for end in ends {
        let Some(captured) = &end.captured else { continue };
        counts.left += captured.refused.len() as u64;
        if end.landed.is_empty() {
            counts.left += captured.changed;
            continue;
        }
        for change in &captured.changes {
            match change.kind {
                ChangedKind::Created => counts.created += 1,
                ChangedKind::Modified => counts.modified += 1,
                ChangedKind::Deleted => counts.deleted += 1,
            }
        }
    }
    counts
}

/// What is to become of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    /// They go to the repository.
    Now,
    /// They are captured and wait.
    Later,
}

/// Captures what was not yet, lets it land, and notes both in the record.
pub(crate) fn end_trees(run: &RunDir, record: &mut Record, landing: Landing) -> Vec<TreeEnd> {
    (0..record.trees.len()).filter_map(|number| end_tree(run, record, number, landing)).collect()
}

fn end_tree(run: &RunDir, record: &mut Record, number: usize, landing: Landing) -> Option<TreeEnd> {
    let mut tree = record.trees.get(number).filter(|tree| !tree.undone)?.clone();
    let mut end = TreeEnd { at: tree.at.clone(), captured: None, landed: Vec::new(), error: None };
    if tree.captured.is_none() {
        match capture(run, record, &tree) {
            Ok(captured) => tree.captured = Some(captured),
            Err(error) => end.error = Some(error.into()),
        }
    }
    end.captured = tree.captured.clone().filter(|captured| has_result(&tree, captured));
    if let Some(captured) = end.captured.as_ref().filter(|_| landing == Landing::Now) {
        let intended = intend(run, &tree, captured);
        end.error = intended.error;
        tree.landed = intended.references;
        *record.trees.get_mut(number)? = tree.clone();
        let landed = note(run, record, &tree).and_then(|()| land(run, &mut tree));
        end.error = end.error.or(landed.err());
        end.landed.clone_from(&tree.landed);
    }
    *record.trees.get_mut(number)? = tree;
    Some(end)
}

fn has_result(tree: &TreeRecord, captured: &Captured) -> bool {
    let is_same = captured.tip == tree.git.commit && captured.references.is_empty();
    !is_same || !captured.refused.is_empty()
}

/// Writes down what is going to be set, so that it can be taken back whatever happens meanwhile.
fn note(run: &RunDir, record: &Record, tree: &TreeRecord) -> Result<(), TreeEndError> {
    let is_branch = tree.landed.iter().any(|it| it.old.is_some());
    let durability = if is_branch { Durability::Durable } else { Durability::Cached };
    run.write_record(&OsFs, record, durability).map_err(TreeEndError::Record)
}

fn capture(run: &RunDir, record: &Record, tree: &TreeRecord) -> Result<Captured, CaptureError> {
    let command = record.command.to_string_lossy().replace(char::is_control, "?");
    let message = format!("endow run {}: {command}", record.id);
    let time = Moment::from(SystemTime::now()).seconds;
    trees::capture(&layer(run, tree), &tree.git, &Signed { time, message: &message })
}

fn layer(run: &RunDir, tree: &TreeRecord) -> PathBuf {
    run.path().join(&tree.layer)
}

/// What is to be set.
struct Intended {
    references: Vec<LandedReference>,
    /// Why the result can't go where it was to go: then it gets a reference of its own.
    error: Option<TreeEndError>,
}

fn intend(run: &RunDir, tree: &TreeRecord, captured: &Captured) -> Intended {
    let (id, mut intended) = (run.id(), Intended { references: Vec::new(), error: None });
    // What was noted by one that was killed on the way.
    if !tree.landed.is_empty() {
        intended.references.clone_from(&tree.landed);
        return intended;
    }
    if captured.tip != tree.git.commit {
        let mut reference =
            LandedReference { name: format!("{OWN}/{id}"), old: None, new: captured.tip.clone() };
        if let Some(branch) = &tree.git.branch {
            match forward(run, tree, branch, &captured.tip) {
                Ok(old) => {
                    reference.name = format!("{BRANCHES}/{branch}");
                    reference.old = old;
                }
                Err(error) => intended.error = Some(error),
            }
        }
        intended.references.push(reference);
    }
    for (name, new) in &captured.references {
        let name = name.strip_prefix("refs/").unwrap_or(name);
        let name = format!("{OWN}/{id}.refs/{name}");
        intended.references.push(LandedReference { name, old: None, new: new.clone() });
    }
    intended
}

/// Gives the repository the objects, and then the references that name them; those that can't be
/// set are not noted any more.
fn land(run: &RunDir, tree: &mut TreeRecord) -> Result<(), TreeEndError> {
    let wanted = std::mem::take(&mut tree.landed);
    if wanted.is_empty() {
        return Ok(());
    }
    let [_, common] = &tree.git.places;
    let git = trees::open(common)?;
    give_objects(run, tree)?;
    for reference in wanted {
        let LandedReference { name, old, new } = &reference;
        put_reference(&OsFs, git.as_fd(), name, (old.as_deref(), new))?;
        tree.landed.push(reference);
    }
    Ok(())
}

fn give_objects(run: &RunDir, tree: &TreeRecord) -> Result<(), TreeEndError> {
    let Some(objects) = tree.git.objects.first() else { return Ok(()) };
    let to = trees::open(objects)?;
    let staged = layer(run, tree).join(STAGED);
    let from = endow_vfs::fs::Fs::open_canonical(&OsFs, &staged);
    let from = from.map_err(|errno| LandError::Io { action: "open", path: staged, errno })?;
    land_objects(&OsFs, from.as_fd(), to.as_fd())?;
    Ok(())
}

/// Returns what a branch names, when it may go forward to a commit.
fn forward(
    run: &RunDir,
    tree: &TreeRecord,
    branch: &str,
    tip: &str,
) -> Result<Option<String>, TreeEndError> {
    let [_, common] = &tree.git.places;
    if trees::checked_out(common.path.as_path()).iter().any(|it| it == branch) {
        return Err(TreeEndError::CheckedOut(branch.to_owned()));
    }
    let git = trees::open(common)?;
    let Some(old) = reference(&OsFs, git.as_fd(), &format!("{BRANCHES}/{branch}"))? else {
        return Ok(None);
    };
    if old == tip || trees::descends(&layer(run, tree), &tree.git, (tip, &old))? {
        return Ok(Some(old));
    }
    Err(TreeEndError::NotForward(branch.to_owned()))
}

/// Takes references back that were set; objects stay until the repository collects them.
pub(crate) fn take_back_trees(record: &mut Record) -> Vec<(GuestPath, Result<(), TreeEndError>)> {
    let back = |tree: &mut TreeRecord| {
        let result = take_back(tree);
        (tree.at.clone(), result)
    };
    let landed = record.trees.iter_mut().filter(|tree| !tree.landed.is_empty());
    landed.map(back).collect()
}

fn take_back(tree: &mut TreeRecord) -> Result<(), TreeEndError> {
    let [_, common] = &tree.git.places;
    let git = trees::open(common)?;
    while let Some(LandedReference { name, old, new }) = tree.landed.last() {
        match old {
            None => take_reference(&OsFs, git.as_fd(), name, new)?,
            Some(old) => drop(put_reference(&OsFs, git.as_fd(), name, (Some(new), old))?),
        }
        tree.landed.pop();
    }
    tree.undone = true;
    Ok(())
}
