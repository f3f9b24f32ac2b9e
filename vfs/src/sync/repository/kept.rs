//! What makes a directory a repository stays, as far as the host has it: without that, what the next run writes
//! there would be no more than data, until somebody puts it back.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::derived::was_repository;
use super::{GitDirs, Source, exists, is_git, is_repository, open};
use crate::fs::{Errno, Fs, Kind};
use crate::git_dir::{self, Part};
use crate::sync::collect::io;
use crate::sync::{Change, ChangeKind, ChangeSet, Refusal, SyncError};

/// What git looks for in a directory of its own, and what it has to be.
const MAKES_ONE: [(&str, Kind); 4] = [
    ("HEAD", Kind::File),
    ("commondir", Kind::File),
    ("objects", Kind::Directory),
    ("refs", Kind::Directory),
];

/// Refuses what would take repositories away, or apart.
pub(super) fn keep(fs: &dyn Fs, source: &Source<'_>, set: &mut ChangeSet) -> Result<(), SyncError> {
    let mut left_out = HashSet::new();
    for path in taken_apart(fs, source, set)? {
        if is_removed(set, &path) {
            keep_whole(set, &path, &mut left_out);
        } else {
            keep_parts(set, &path);
        }
    }
    set.leave_out(&left_out);
    Ok(())
}

/// Repositories of the host that the run took something of away by which they are ones.
fn taken_apart(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &ChangeSet,
) -> Result<BTreeSet<PathBuf>, SyncError> {
    let taking = set.changes.iter().filter(|change| takes_part(change));
    let dirs: BTreeSet<&Path> = taking.filter_map(|change| change.path.parent()).collect();
    let mut found = BTreeSet::new();
    for dir in dirs {
        if stands(fs, source, (set.git_dirs, dir))? {
            found.insert(dir.to_owned());
        }
    }
    Ok(found)
}

/// Whether a change leaves nothing that git would take for what was there. A link in place of `HEAD` is judged as one.
fn takes_part(change: &Change) -> bool {
    let name = change.path.file_name();
    let Some((_, kind)) = MAKES_ONE.iter().find(|(it, _)| name == Some(OsStr::new(it))) else {
        return false;
    };
    match change.kind {
        ChangeKind::Deleted => true,
        ChangeKind::Replaced(_) => {
            let is_link = change.node() == Kind::Symlink && *kind == Kind::File;
            change.node() != *kind && !is_link
        }
        ChangeKind::Created | ChangeKind::Modified | ChangeKind::Attributes => false,
    }
}

/// Whether the host has a repository at a path, also one that has most of it elsewhere. In the place of a work tree's an
/// earlier run may have left a part of it.
fn stands(
    fs: &dyn Fs,
    source: &Source<'_>,
    (git_dirs, path): (GitDirs, &Path),
) -> Result<bool, SyncError> {
    if is_repository(fs, source, path)? {
        return Ok(true);
    }
    if path.components().next_back().as_ref().is_some_and(is_git) {
        return was_repository(fs, source, (git_dirs, path));
    }
    let Some(dir) = open(fs, source.root, path)? else { return Ok(false) };
    let has = |name: &str| match exists(fs, dir.as_fd(), name) {
        Err(Errno::ACCESS) => Ok(false),
        found => found.map_err(io("look at", path)),
    };
    let is_linked = has("HEAD")? && has("commondir")?;
    Ok(is_linked || path.as_os_str().is_empty() && has("objects")? && has("refs")?)
}

pub(super) fn is_removed(set: &ChangeSet, path: &Path) -> bool {
    let gone = |place: usize| set.changes.get(place).is_some_and(is_replaced);
    at_or_above(set, path).into_iter().any(gone)
}

fn is_replaced(change: &Change) -> bool {
    matches!(change.kind, ChangeKind::Deleted | ChangeKind::Replaced(_))
}

/// Returns where the changes of a path are, and of the directories that it is in.
fn at_or_above(set: &ChangeSet, path: &Path) -> Vec<usize> {
    let all = path.ancestors().filter(|above| !above.as_os_str().is_empty());
    let place =
        |above: &Path| set.changes.binary_search_by(|change| change.path.as_path().cmp(above)).ok();
    all.filter_map(place).collect()
}

/// A repository is never taken away by write-back: whoever wants that does it by hand. Of what is in it nothing is told.
pub(super) fn keep_whole(set: &mut ChangeSet, path: &Path, left_out: &mut HashSet<usize>) {
    for place in at_or_above(set, path) {
        // What only leads there may have another time, or other bits.
        if let Some(change) = set.changes.get_mut(place).filter(|change| is_replaced(change)) {
            change.refused = Some(Refusal::Repository);
        }
    }
    let is_below = |place: &usize| set.changes.get(*place).is_some_and(|it| it.path != *path);
    left_out.extend(set.places(path).filter(is_below));
}

/// What makes it one stays, with all of its state that the run took away as well.
fn keep_parts(set: &mut ChangeSet, git_dir: &Path) {
    for change in set.below_mut(git_dir) {
        let Ok(below) = change.path.strip_prefix(git_dir) else { continue };
        let is_part = below.iter().count() == 1 && takes_part(change);
        let is_gone = change.kind == ChangeKind::Deleted && git_dir::part(below) == Part::State;
        if is_part || is_gone {
            change.refused = Some(Refusal::Repository);
        }
    }
}
