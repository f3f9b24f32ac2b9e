//! What git makes from objects, and takes on trust later, and what takes objects away: both are left out wherever the
//! host has the repository, also of a submodule and of one without a work tree.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use super::{GitDirs, Source, has, is_repository, open};
use crate::fs::{Errno, Fs, Kind, read_all};
use crate::git_config::{MAX, says_repository};
use crate::git_dir::{self, WORKTREES};
use crate::sync::collect::io;
use crate::sync::{Change, ChangeKind, ChangeSet, Refusal, SyncError};

/// Beside a pack: which objects it reaches, their order, and when they were used.
const BESIDE: [&str; 3] = ["bitmap", "mtimes", "rev"];
/// Beside a pack: what is said of it as a whole.
const SAID: [&str; 2] = ["keep", "promisor"];

/// How much of a repository the host has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Parts,
}

/// Leaves out what git makes anew, what is said of a pack that the run did not make, and what would take objects away.
/// Where the host has no more than parts of a repository that is refused: it may be anybody's directory.
pub(super) fn leave_out(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &mut ChangeSet,
) -> Result<(), SyncError> {
    let mut known: HashMap<PathBuf, Option<Extent>> = HashMap::new();
    let mut left_out = HashSet::new();
    for place in places(set) {
        let Some(change) = set.changes.get_mut(place) else { continue };
        let Some(git_dir) = git_dir_of(&change.path).map(Path::to_owned) else { continue };
        let extent = match known.get(&git_dir) {
            Some(extent) => *extent,
            None => extent_of(fs, source, (set.git_dirs, &git_dir))?,
        };
        known.insert(git_dir, extent);
        match extent {
            Some(Extent::Whole) => drop(left_out.insert(place)),
            Some(Extent::Parts) => drop(change.refused.get_or_insert(Refusal::Repository)),
            None => {}
        }
    }
    set.leave_out(&left_out);
    Ok(())
}

/// Returns where the changes are that no repository of the host's gets.
fn places(set: &ChangeSet) -> Vec<usize> {
    let is_one = |change: &Change| {
        let is_there = change.upper.is_some();
        let is_said = || ends_with(&change.path, &SAID) && !has_pack(set, &change.path);
        is_there && (is_derived(&change.path) || is_said()) || takes_objects(change)
    };
    let all = set.changes.iter().enumerate();
    all.filter(|(_, change)| is_one(change)).map(|(place, _)| place).collect()
}

fn extent_of(
    fs: &dyn Fs,
    source: &Source<'_>,
    (git_dirs, path): (GitDirs, &Path),
) -> Result<Option<Extent>, SyncError> {
    if is_repository(fs, source, path)? {
        return Ok(Some(Extent::Whole));
    }
    let is_part = was_repository(fs, source, (git_dirs, path))?;
    Ok(is_part.then_some(Extent::Parts))
}

/// Whether the host has parts of a repository: what an earlier run left of one that it took apart.
pub(super) fn was_repository(
    fs: &dyn Fs,
    source: &Source<'_>,
    (git_dirs, path): (GitDirs, &Path),
) -> Result<bool, SyncError> {
    // A clone has a `HEAD` in `refs/remotes/origin`, and a branch there may be called `objects/x`.
    if git_dirs.split(path).is_some_and(|(_, below)| is_of_references(&below)) {
        return Ok(false);
    }
    let Some(dir) = open(fs, source.root, path)? else { return Ok(false) };
    let has = |name: &str, kind| match has(fs, dir.as_fd(), (name, kind)) {
        Err(Errno::ACCESS) => Ok(true),
        found => found.map_err(io("look at", path)),
    };
    if has("HEAD", Kind::File)? {
        return Ok(true);
    }
    let (has_objects, has_refs) = (has("objects", Kind::Directory)?, has("refs", Kind::Directory)?);
    let place = git_dirs.split(&path.join("objects"));
    let is_place_of_one = || place.is_some_and(|(git_dir, _)| git_dir == path);
    if has_objects && (has_refs || is_place_of_one()) {
        return Ok(true);
    }
    let has_part = has_objects || has_refs || has(WORKTREES, Kind::Directory)?;
    Ok(has_part && says_so(fs, dir.as_fd()))
}

/// Whether settings say that what they stand in is a repository; of those that nobody can read that is assumed.
fn says_so(fs: &dyn Fs, dir: BorrowedFd<'_>) -> bool {
    let name = OsStr::new("config");
    match fs.node(dir, name) {
        Err(errno) => errno == Errno::ACCESS,
        Ok(node) if node.status.kind != Kind::File || node.status.size > MAX => false,
        Ok(_) => match read_all(fs, dir, Path::new(name)) {
            Ok(text) => says_repository(&text),
            Err(errno) => errno == Errno::ACCESS,
        },
    }
}

fn is_of_references(below: &Path) -> bool {
    below.starts_with("refs") || below.starts_with("logs")
}

/// Whether a change would take objects away, or write over them: what the run put in their place may wait, or name
/// fewer. The host collects what is garbage there.
fn takes_objects(change: &Change) -> bool {
    change.kind != ChangeKind::Created && !change.is_trace() && is_gits_own(&change.path)
}

/// Whether git itself gives such a name to what holds objects: it looks at no others there.
fn is_gits_own(path: &Path) -> bool {
    let below = git_dir_of(path).and_then(|git_dir| path.strip_prefix(git_dir).ok());
    below.is_some_and(git_dir::is_place_of_objects)
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
