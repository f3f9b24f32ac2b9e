//! What git makes from objects, and takes on trust later, and what takes objects away: both are left out wherever the
//! host has the repository, also of a submodule and of one without a work tree.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use super::{GitDirs, Source, exists, is_repository, open};
use crate::fs::{Errno, Fs};
use crate::sync::collect::io;
use crate::sync::{Change, ChangeKind, ChangeSet, SyncError};

/// Beside a pack: which objects it reaches, their order, and when they were used.
const BESIDE: [&str; 3] = ["bitmap", "mtimes", "rev"];
/// Beside a pack: what is said of it as a whole.
const SAID: [&str; 2] = ["keep", "promisor"];

/// Leaves out what git makes anew, what is said of a pack that the run did not make, and what would take objects away.
pub(super) fn leave_out(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &mut ChangeSet,
) -> Result<(), SyncError> {
    let is_derived = |change: &&Change| change.upper.is_some() && is_derived(&change.path);
    let derived = set.changes.iter().filter(is_derived);
    let mut left_out: HashSet<PathBuf> = derived.map(|change| change.path.clone()).collect();
    let said = set.changes.iter().filter(|change| ends_with(&change.path, &SAID));
    let of_others = said.filter(|change| change.upper.is_some() && !has_pack(set, &change.path));
    left_out.extend(of_others.map(|change| change.path.clone()));
    left_out.extend(set.changes.iter().filter(|it| takes_objects(it)).map(|it| it.path.clone()));
    let mut known: HashMap<&Path, bool> = HashMap::new();
    for path in &left_out {
        let git_dir = git_dir_of(path).unwrap_or(Path::new(""));
        if !known.contains_key(git_dir) {
            known.insert(git_dir, was_repository(fs, source, (set.git_dirs, git_dir))?);
        }
    }
    let is_left_out = |path: &Path| {
        let is_known = |git_dir: &Path| known.get(git_dir).copied().unwrap_or_default();
        left_out.contains(path) && git_dir_of(path).is_some_and(is_known)
    };
    let changes = std::mem::take(&mut set.changes);
    set.changes = changes.into_iter().filter(|change| !is_left_out(&change.path)).collect();
    Ok(())
}

/// Whether the host has a repository, or one that an earlier run took apart.
pub(super) fn was_repository(
    fs: &dyn Fs,
    source: &Source<'_>,
    (git_dirs, path): (GitDirs, &Path),
) -> Result<bool, SyncError> {
    if is_repository(fs, source, path)? {
        return Ok(true);
    }
    // A clone has a `HEAD` in `refs/remotes/origin`, and a branch there may be called `objects/x`.
    if git_dirs.split(path).is_some_and(|(_, below)| is_of_references(&below)) {
        return Ok(false);
    }
    let Some(dir) = open(fs, source.root, path)? else { return Ok(false) };
    let has = |name: &&str| {
        exists(fs, dir.as_fd(), name).or_else(|errno| match errno {
            Errno::ACCESS => Ok(true),
            errno => Err(io("look at", path)(errno)),
        })
    };
    if has(&"HEAD")? || has(&"config")? && has(&"refs")? {
        return Ok(true);
    }
    let is_named = path.file_name() == Some(OsStr::new(".git"));
    Ok(has(&"objects")? && (is_named || has(&"config")? || has(&"refs")? || has(&"index")?))
}

fn is_of_references(below: &Path) -> bool {
    below.starts_with("refs") || below.starts_with("logs")
}

/// Whether a change would take objects away, or write over them: what the run put in their place may wait, or name
/// fewer. The host collects what is garbage there.
fn takes_objects(change: &Change) -> bool {
    change.kind != ChangeKind::Created && !change.is_trace() && git_dir_of(&change.path).is_some()
}

/// Returns the directory whose objects a path is, or is one of.
fn git_dir_of(path: &Path) -> Option<&Path> {
    let is_all = path.file_name() == Some(OsStr::new("objects"));
    let objects = if is_all { Some(path) } else { objects_above(path) };
    objects.and_then(Path::parent)
}

fn is_derived(path: &Path) -> bool {
    let Some(below) = objects_above(path).and_then(|it| path.strip_prefix(it).ok()) else {
        return false;
    };
    let mut names = below.iter();
    let begins = |name: Option<&OsStr>, with: &str| {
        name.is_some_and(|name| name.as_encoded_bytes().starts_with(with.as_bytes()))
    };
    match names.next().and_then(OsStr::to_str) {
        Some("info") => begins(names.next(), "commit-graph"),
        Some("pack") => ends_with(path, &BESIDE) || begins(names.next(), "multi-pack-index"),
        _ => false,
    }
}

/// Returns the innermost directory of objects that a path is in.
fn objects_above(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|above| above.file_name() == Some(OsStr::new("objects")))
}

/// Whether a file beside packs has one of these endings.
fn ends_with(path: &Path, endings: &[&str]) -> bool {
    let is_beside = path.parent().is_some_and(|above| above.ends_with("objects/pack"));
    is_beside && endings.iter().any(|ending| path.extension() == Some(OsStr::new(ending)))
}

/// Whether the run made the pack that a file stands beside.
fn has_pack(set: &ChangeSet, path: &Path) -> bool {
    let pack = path.with_extension("pack");
    let place = set.changes.binary_search_by(|change| change.path.cmp(&pack)).ok();
    place
        .and_then(|at| set.changes.get(at))
        .is_some_and(|change| change.kind == ChangeKind::Created)
}
