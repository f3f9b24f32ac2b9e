//! Copy-on-write mounts of trees when the last process is gone: what the command left is captured as
//! objects, and lands in the repository as one reference, or in the store as a digest.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use endow_policy::GuestPath;
use endow_vfs::fs::OsFs;
use endow_vfs::state::{
    ChangeCounts, Durability, GitRecord, LandedReference, Moment, Record, RunDir, StateError,
    TreeOrigin, TreeRecord,
};
use endow_vfs::working_copy::{
    Captured, ChangedKind, LandError, land_objects, put_reference, reference, take_reference,
};

use crate::apply::half_way;
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
    /// Whose objects it is made of.
    pub(crate) kind: TreeKind,
    /// What the command left; `None` when it changed nothing, or that could not be found out.
    pub(crate) captured: Option<Captured>,
    /// The references that were set.
    pub(crate) landed: Vec<LandedReference>,
    /// The digest of the result, once the store has it.
    pub(crate) stored: Option<String>,
    /// Why the result is not where it was to be.
    pub(crate) error: Option<TreeEndError>,
}

/// Whose objects a tree is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeKind {
    /// Those of a repository.
    Git,
    /// Those of the content-addressed store.
    Cas,
}

/// Why a result is not where it was to be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeEndError {
    /// What the command left can't be taken over; it is kept.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A directory was being made ready to be renamed when the run was killed: its files are in two places.
    #[error("a directory was half-way into the layer when the run was killed: {}", .0.display())]
    HalfWay(PathBuf),
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
    fn new(tree: &TreeRecord) -> Self {
        let (at, kind, landed) = (tree.at.clone(), kind(tree), Vec::new());
        Self { at, kind, captured: None, landed, stored: None, error: None }
    }

    /// Returns whether the command changed anything.
    pub(crate) fn has_changes(&self) -> bool {
        self.captured.is_some()
    }

    /// Returns whether the result is where it was to be, or a part of it.
    pub(crate) fn has_landed(&self) -> bool {
        !self.landed.is_empty() || self.stored.is_some()
    }

    /// Returns whether something is left that waits for the user.
    pub(crate) fn waits(&self) -> bool {
        let is_left = self.captured.as_ref().is_some_and(|it| !it.refused.is_empty());
        self.error.is_some() || is_left || (self.has_changes() && !self.has_landed())
    }

    /// Returns whether something that was to be written back was not.
    pub(crate) fn is_short(&self) -> bool {
        self.error.is_some() || self.captured.as_ref().is_some_and(|it| !it.refused.is_empty())
    }
}

fn kind(tree: &TreeRecord) -> TreeKind {
    match tree.from {
        TreeOrigin::Git(_) => TreeKind::Git,
        TreeOrigin::Cas(_) => TreeKind::Cas,
    }
}

/// Returns how much the command changed in trees.
pub(crate) fn counts(ends: &[TreeEnd]) -> ChangeCounts {
    let mut counts = ChangeCounts::default();
    for end in ends {
        let Some(captured) = &end.captured else { continue };
        counts.left += captured.refused.len() as u64;
        if !end.has_landed() {
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
    let mut end = TreeEnd::new(&tree);
    end.error = ready(run, record, &mut tree, landing).err();
    end.captured = tree
        .captured
        .clone()
        .filter(|captured| tree.has_result(captured) || !captured.refused.is_empty());
    let lands = landing == Landing::Now && end.error.is_none();
    if let Some(captured) = end.captured.as_ref().filter(|_| lands) {
        let intended = intend(run, &tree, captured);
        end.error = intended.error;
        (tree.landed, tree.stored) = (intended.references, intended.digest);
        *record.trees.get_mut(number)? = tree.clone();
        let landed = note(run, record, &tree).and_then(|()| land(run, &mut tree));
        end.error = end.error.or(landed.err());
        (end.landed, end.stored) = (tree.landed.clone(), tree.stored.clone());
    }
    *record.trees.get_mut(number)? = tree;
    Some(end)
}

/// Captures what the command left, once more if what was staged of it can't land any more.
fn ready(
    run: &RunDir,
    record: &Record,
    tree: &mut TreeRecord,
    landing: Landing,
) -> Result<(), TreeEndError> {
    let staged = tree.captured.as_ref().filter(|_| landing == Landing::Now);
    if let Some(captured) = staged.filter(|it| tree.has_result(it))
        && !trees::is_whole(&layer(run, tree), &tree.from, captured)?
    {
        tree.captured = None;
        forget_unset(tree)?;
    }
    if tree.captured.is_none() {
        tree.captured = Some(capture(run, record, tree)?);
    }
    Ok(())
}

/// Takes back what was noted of references and not set: they would name what is not there.
fn forget_unset(tree: &mut TreeRecord) -> Result<(), TreeEndError> {
    let TreeOrigin::Git(git) = &tree.from else { return Ok(()) };
    let [_, common] = &git.places;
    let dir = trees::open(common)?;
    let mut set = Vec::new();
    for noted in &tree.landed {
        if reference(&OsFs, dir.as_fd(), &noted.name)?.as_ref() == Some(&noted.new) {
            set.push(noted.clone());
        }
    }
    tree.landed = set;
    Ok(())
}

/// Writes down what is going to be set, so that it can be taken back whatever happens meanwhile.
fn note(run: &RunDir, record: &Record, tree: &TreeRecord) -> Result<(), TreeEndError> {
    let is_branch = tree.landed.iter().any(|it| it.old.is_some());
    let durability = if is_branch { Durability::Durable } else { Durability::Cached };
    run.write_record(&OsFs, record, durability).map_err(TreeEndError::Record)
}

fn capture(run: &RunDir, record: &Record, tree: &TreeRecord) -> Result<Captured, TreeEndError> {
    if let Some(path) = half_way(run.as_fd()) {
        return Err(TreeEndError::HalfWay(path));
    }
    let git = match &tree.from {
        TreeOrigin::Git(git) => git,
        TreeOrigin::Cas(cas) => return Ok(trees::capture_cas(&layer(run, tree), cas)?),
    };
    let command = record.command.to_string_lossy().replace(char::is_control, "?");
    let message = format!("endow run {}: {command}", record.id);
    // One that is made again is the same commit.
    let time = record.ended.unwrap_or_else(|| Moment::from(SystemTime::now())).seconds;
    Ok(trees::capture(&layer(run, tree), git, &Signed { time, message: &message })?)
}

fn layer(run: &RunDir, tree: &TreeRecord) -> PathBuf {
    run.path().join(&tree.layer)
}

/// What is to be set.
struct Intended {
    references: Vec<LandedReference>,
    /// What the store gets.
    digest: Option<String>,
    /// Why the result can't go where it was to go: then it gets a reference of its own.
    error: Option<TreeEndError>,
}

fn intend(run: &RunDir, tree: &TreeRecord, captured: &Captured) -> Intended {
    let mut intended = Intended { references: Vec::new(), digest: None, error: None };
    let (id, is_new) = (run.id(), captured.tip != tree.from.base());
    let TreeOrigin::Git(git) = &tree.from else {
        intended.digest = is_new.then(|| captured.tip.clone());
        return intended;
    };
    // What was noted by one that was killed on the way, or by a run of which not all could be set then.
    intended.references.clone_from(&tree.landed);
    let name = format!("{OWN}/{id}");
    let own = || LandedReference { name: name.clone(), old: None, new: captured.tip.clone() };
    let mut wanted = Vec::new();
    match git.branch.as_ref().filter(|_| is_new) {
        Some(branch) if has_branch(tree, branch) => {}
        Some(branch) => {
            let reference = to_branch(run, tree, (git, branch), captured);
            wanted.push(reference.unwrap_or_else(|error| {
                intended.error = Some(error);
                own()
            }));
        }
        None => wanted.extend(is_new.then(own)),
    }
    wanted.extend(captured.references.iter().map(|(reference, new)| {
        let reference = reference.strip_prefix("refs/").unwrap_or(reference);
        let name = format!("{name}.refs/{reference}");
        LandedReference { name, old: None, new: new.clone() }
    }));
    let is_noted = |it: &LandedReference| tree.landed.iter().any(|noted| noted.name == it.name);
    wanted.retain(|it| !is_noted(it));
    intended.references.extend(wanted);
    intended
}

/// Whether what is set, or noted, has a branch.
fn has_branch(tree: &TreeRecord, branch: &str) -> bool {
    let is_it = |name: &str| name.strip_prefix(BRANCHES) == Some(&format!("/{branch}"));
    tree.landed.iter().any(|reference| is_it(&reference.name))
}

/// Returns what a branch is to be set to, when it may go forward.
fn to_branch(
    run: &RunDir,
    tree: &TreeRecord,
    (git, branch): (&GitRecord, &str),
    captured: &Captured,
) -> Result<LandedReference, TreeEndError> {
    let old = forward(&layer(run, tree), git, branch, &captured.tip)?;
    Ok(LandedReference { name: format!("{BRANCHES}/{branch}"), old, new: captured.tip.clone() })
}

/// Gives the repository the objects, and then the references that name them; those that can't be
/// set are not noted any more.
fn land(run: &RunDir, tree: &mut TreeRecord) -> Result<(), TreeEndError> {
    let git = match &tree.from {
        TreeOrigin::Git(git) => git,
        TreeOrigin::Cas(cas) => {
            let Some(digest) = tree.stored.take() else { return Ok(()) };
            trees::land_cas(&layer(run, tree), cas, &digest)?;
            tree.stored = Some(digest);
            return Ok(());
        }
    };
    let wanted = std::mem::take(&mut tree.landed);
    if wanted.is_empty() {
        return Ok(());
    }
    let [_, common] = &git.places;
    let dir = trees::open(common)?;
    give_objects(&layer(run, tree), git)?;
    let mut first = Ok(());
    for reference in wanted {
        let LandedReference { name, old, new } = &reference;
        match put_reference(&OsFs, dir.as_fd(), name, (old.as_deref(), new)) {
            Ok(_) => tree.landed.push(reference),
            // What can be set is set, and the next time tries the others again.
            Err(error) => first = first.and(Err(error.into())),
        }
    }
    first
}

fn give_objects(layer: &Path, git: &GitRecord) -> Result<(), TreeEndError> {
    let Some(objects) = git.objects.first() else { return Ok(()) };
    let to = trees::open(objects)?;
    let staged = layer.join(STAGED);
    let from = endow_vfs::fs::Fs::open_canonical(&OsFs, &staged);
    let from = from.map_err(|errno| LandError::Io { action: "open", path: staged, errno })?;
    land_objects(&OsFs, from.as_fd(), to.as_fd())?;
    Ok(())
}

/// Returns what a branch names, when it may go forward to a commit.
fn forward(
    layer: &Path,
    repository: &GitRecord,
    branch: &str,
    tip: &str,
) -> Result<Option<String>, TreeEndError> {
    let [_, common] = &repository.places;
    if trees::checked_out(common.path.as_path()).iter().any(|it| it == branch) {
        return Err(TreeEndError::CheckedOut(branch.to_owned()));
    }
    let git = trees::open(common)?;
    let Some(old) = reference(&OsFs, git.as_fd(), &format!("{BRANCHES}/{branch}"))? else {
        return Ok(None);
    };
    if old == tip || trees::descends(layer, repository, (tip, &old))? {
        return Ok(Some(old));
    }
    Err(TreeEndError::NotForward(branch.to_owned()))
}

/// What was taken back of a tree.
pub(crate) type TakenBack = (GuestPath, TreeKind, Result<(), TreeEndError>);

/// Takes references back that were set; objects stay until the repository collects them. Of the store
/// nothing goes: it keeps a result no longer.
pub(crate) fn take_back_trees(record: &mut Record) -> Vec<TakenBack> {
    let back = |tree: &mut TreeRecord| {
        let result = take_back(tree);
        (tree.at.clone(), kind(tree), result)
    };
    let landed = record.trees.iter_mut().filter(|tree| tree.has_landed());
    landed.map(back).collect()
}

fn take_back(tree: &mut TreeRecord) -> Result<(), TreeEndError> {
    let TreeOrigin::Git(git) = &tree.from else {
        (tree.stored, tree.undone) = (None, true);
        return Ok(());
    };
    let [_, common] = &git.places;
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
