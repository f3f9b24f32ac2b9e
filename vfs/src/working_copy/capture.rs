//! What a command did in a working copy, as objects that are staged for the repository.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::commit::{self, New};
use super::diff::{Sides, diff};
use super::guest::Guest;
use super::import::Import;
use super::objects::Objects;
use super::trees::Trees;
use super::work_tree::{self, Below, GIT};
use super::{CopyError, ignore, start};
use crate::fs::{Fs, Kind, Open, read_all};
use crate::git_index;
use crate::git_tree::{Id, Repository};
use crate::json_path;

/// The directory of the command's own patterns.
const INFO: &str = ".git/info";
/// The most paths of one list that are told.
const TOLD: usize = 10_000;

/// Where a command worked, and on what.
pub struct Source<'a> {
    /// The layer that took its changes.
    pub upper: BorrowedFd<'a>,
    /// An empty directory for the objects that the repository lacks, as an object directory has
    /// them.
    pub staging: BorrowedFd<'a>,
    /// The host's repository.
    pub host: &'a Repository,
    /// The command's git directory, where it left one: opened like the host's.
    pub guest: Option<&'a Repository>,
    /// The commit that it began with.
    pub base: Id,
    /// The references that its git directory had at the start.
    pub references: &'a BTreeMap<String, Id>,
    /// Whether what git ignores is taken in.
    pub ignored: Taken,
    /// Who makes a commit of what was not committed: `Name <address>`.
    pub author: &'a str,
    /// When, in seconds since 1970.
    pub time: i64,
    /// What the commit says.
    pub message: &'a str,
}

/// What of a work tree is taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taken {
    /// What git would add.
    #[default]
    Unignored,
    /// Everything.
    All,
}

/// What a command left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// The commit that has all of it.
    pub tip: String,
    /// That commit was made of what was not committed.
    pub is_made: bool,
    /// Other references of the command that lead to something new, by their names there.
    pub references: BTreeMap<String, String>,
    /// What is different from the commit at the start, by path.
    pub changes: Vec<ChangedPath>,
    /// How many paths are different; more than are listed when there are very many.
    pub changed: u64,
    /// What git ignores, and was left.
    #[serde(with = "json_path::list")]
    pub ignored: Vec<PathBuf>,
    /// What no commit can hold, and why.
    pub refused: Vec<RefusedPath>,
    /// What was not asked for, and changed: at most as many paths as of what is refused.
    #[serde(with = "json_path::list", default, skip_serializing_if = "Vec::is_empty")]
    pub unwanted: Vec<PathBuf>,
    /// How many objects the repository lacks.
    pub objects: u64,
}

/// A path that a command changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPath {
    /// Below the root of the tree.
    #[serde(with = "json_path")]
    pub path: PathBuf,
    /// What became of it.
    pub kind: ChangedKind,
}

/// What became of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangedKind {
    /// It is new.
    Created,
    /// It has other bytes, another kind or other bits.
    Modified,
    /// It is gone.
    Deleted,
}

/// A path that can't be committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedPath {
    /// Below the root of the tree.
    #[serde(with = "json_path")]
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// Reads what a command left; nobody may be changing it any more.
///
/// # Errors
/// Something can't be read or written, or the command made an object that no repository may have.
/// What was staged until then is of no use.
pub fn capture(fs: &dyn Fs, source: &Source<'_>) -> Result<Captured, CopyError> {
    let mut objects = Objects::new(fs, source.staging, source.host, source.guest);
    let mut trees = Trees::default();
    let (guest, mut import) = (Guest::read(source)?, Import::default());
    let parent = guest.head;
    import.take(&mut objects, parent)?;
    let others = guest.take_over(&mut objects, &mut import)?;
    let shown = commit::tree(&mut objects, &source.base)?;
    let head = commit::tree(&mut objects, &parent)?;
    let (index, exclude) = (index(fs, source.upper), exclude(fs, source.upper));
    let tracked = index.as_ref().and_then(|index| git_index::tracked(index).ok());
    let skipped = index.and_then(|index| git_index::skipped(&index).ok()).unwrap_or_default();
    let below = Below {
        shown,
        head,
        tracked: tracked.as_ref(),
        skipped: &skipped,
        exclude: &exclude,
        ignored: source.ignored,
    };
    let left = work_tree::look(fs, source.upper, &below, (&mut objects, &mut trees))?;
    let tree = left.edits.apply((&mut objects, &mut trees), &head)?;
    let (author, time, message) = (source.author, source.time, source.message);
    let new = New { tree, parent, author, time, message };
    let is_made = tree != head;
    let tip = if is_made { new.put(&mut objects)? } else { parent };
    objects.write_order()?;
    let changes = diff((&mut objects, &mut trees), Some(shown), Some(tree))?;
    let refused = left.refused.into_iter().map(|(path, why)| RefusedPath { path, why });
    let refused = others.refused.into_iter().chain(refused);
    Ok(Captured {
        tip: tip.to_string(),
        is_made,
        references: others.references,
        changed: changes.len() as u64,
        changes: changes.into_iter().take(TOLD).map(changed).collect(),
        ignored: left.ignored.into_iter().take(TOLD).collect(),
        refused: refused.take(TOLD).collect(),
        unwanted: Vec::new(),
        objects: objects.staged() as u64,
    })
}

fn changed((path, sides): (PathBuf, Sides)) -> ChangedPath {
    let kind = match (sides.old, sides.new) {
        (None, _) => ChangedKind::Created,
        (_, None) => ChangedKind::Deleted,
        _ => ChangedKind::Modified,
    };
    ChangedPath { path, kind }
}

/// Reads the command's index, when it wrote one.
fn index(fs: &dyn Fs, upper: BorrowedFd<'_>) -> Option<Vec<u8>> {
    own_file(fs, upper, (GIT, start::INDEX), start::INDEX_MAX)
}

fn exclude(fs: &dyn Fs, upper: BorrowedFd<'_>) -> Vec<u8> {
    own_file(fs, upper, (INFO, "exclude"), ignore::FILE_MAX).unwrap_or_default()
}

/// Reads a file of the command's git directory, through no link.
fn own_file(
    fs: &dyn Fs,
    upper: BorrowedFd<'_>,
    (directory, name): (&str, &str),
    most: u64,
) -> Option<Vec<u8>> {
    let directory = fs.open_below(upper, Path::new(directory), Open::Handle).ok()?;
    let status = fs.status(directory.as_fd(), name.as_ref()).ok()?;
    let is_fit = status.kind == Kind::File && status.size <= most;
    is_fit.then(|| read_all(fs, directory.as_fd(), Path::new(name)).ok())?
}
