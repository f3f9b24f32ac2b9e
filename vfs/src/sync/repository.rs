//! A git directory is one unit: objects are only added, and where the repository stands (its
//! references, `HEAD`, index and logs) is written back as a whole or not at all.

mod derived;
mod kept;
mod linked;
mod of_run;
mod refreshed;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

pub use of_run::{set_aside, standing_references};

use super::collect::{Source, io};
use super::{Change, ChangeKind, ChangeSet, Closed, Conflict, Seen, SyncError};
use crate::fs::{Errno, Fs, Kind, Open};
use crate::git_dir::{self, Part};

/// The longest file that is read for references: `packed-refs` of a large repository.
const TEXT_MAX: usize = 64 << 20;
/// The longest file that names one object.
const REFERENCE_MAX: u64 = 4096;
/// What tells where a repository stands, whatever else the run changed in it.
const STANDING: [&str; 2] = ["HEAD", "packed-refs"];
/// The index tells that as well; git writes it anew when it only looks.
const INDEX: &str = "index";
/// What tells a git directory from any other (gitrepository-layout(5)).
const PARTS: [(&str, Kind); 3] =
    [("HEAD", Kind::File), ("objects", Kind::Directory), ("refs", Kind::Directory)];
/// The most references of one run; what is beyond stays in the layer.
const REFERENCES_MAX: usize = 10_000;
/// Where references of runs stand.
const OWN: &str = "refs/endow";

/// A repository that both sides moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The git directory, below the root of the mount.
    pub path: PathBuf,
    /// The run's references, without `refs/`, and the objects they name.
    pub references: BTreeMap<String, String>,
}

/// Makes the changes of each git directory one unit, and returns the repositories that both sides
/// moved: of these nothing but objects is written back as it is.
///
/// # Errors
/// A call that fails on either side.
pub fn unite(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &mut ChangeSet,
) -> Result<Vec<Moved>, SyncError> {
    let mut moved = Vec::new();
    set.git_dirs = GitDirs::below(fs, source.root)?;
    kept::keep(fs, source, set)?;
    derived::leave_out(fs, source, set)?;
    let mut left_out = HashSet::new();
    for path in git_dirs(fs, source, set)? {
        moved.extend(unite_one(fs, source, set, (path.clone(), &mut left_out))?);
        // All others are beside each other, and below this one.
        if path.as_os_str().is_empty() {
            set.leave_out(&std::mem::take(&mut left_out));
        }
    }
    set.leave_out(&left_out);
    Ok(moved)
}

/// Makes the changes of one git directory a unit; returns it where both sides moved it.
fn unite_one(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &mut ChangeSet,
    (path, left_out): (PathBuf, &mut HashSet<usize>),
) -> Result<Option<Moved>, SyncError> {
    if kept::is_removed(set, &path) {
        kept::keep_whole(set, &path, left_out);
        return Ok(None);
    }
    let passed =
        |place: &usize| set.changes.get(*place).is_some_and(|it| is_passed_over(it, &path));
    left_out.extend(set.places(&path).filter(passed));
    keep_objects(set, &path);
    let is_any = set.below(&path).iter().any(|change| is_state(change, &path));
    if !is_any || !is_moved(fs, source, set, &path)? {
        return Ok(None);
    }
    let references = references(fs, source, set, &path)?;
    for change in set.below_mut(&path).iter_mut().filter(|change| is_state(change, &path)) {
        change.conflict.get_or_insert(Conflict::Changed);
    }
    Ok(Some(Moved { path, references }))
}

/// Which git directory a path of a mount lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GitDirs {
    /// The root of the mount is one itself: a bare repository, or one that is mounted alone.
    pub(super) is_root: bool,
}

impl GitDirs {
    /// Looks whether the root of a mount is one.
    pub(super) fn below(fs: &dyn Fs, root: BorrowedFd<'_>) -> Result<Self, SyncError> {
        Ok(Self { is_root: is_git_dir(fs, root, Path::new(""))? })
    }

    /// Returns in which order new content appears: where a repository stands comes after all else,
    /// its objects among that, and the index and logs come last.
    pub(super) fn rank(self, path: &Path) -> u8 {
        let Some((_, below)) = self.split(path) else { return 0 };
        match (git_dir::part(&below), below.iter().next().map(OsStr::as_bytes)) {
            // The way to the objects of a submodule.
            (_, Some(b"modules")) => 0,
            (Part::State, Some(b"index" | b"logs")) => 3,
            (Part::State, Some(b"HEAD")) => 2,
            (Part::State, _) => 1,
            _ => 0,
        }
    }

    /// Returns the git directory whose objects what stands at `path` may name.
    pub(super) fn names_objects_of(self, path: &Path) -> Option<PathBuf> {
        let (git_dir, below) = self.split(path)?;
        (git_dir::part(&below) == Part::State).then_some(git_dir)
    }

    /// Returns the git directory that lacks something when there is nothing at `path`.
    pub(super) fn has_object_at(self, path: &Path) -> Option<PathBuf> {
        let (git_dir, below) = self.split(path)?;
        (git_dir::part(&below) == Part::Object).then_some(git_dir)
    }

    /// Returns the innermost git directory, a submodule's among them, and the path within it.
    pub(super) fn split(self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let names: Vec<_> = path.components().collect();
        let outer = names.iter().rposition(is_git).map(|at| at + 1);
        let outer = outer.or(self.is_root.then_some(0))?;
        let at = outer + submodule(names.get(outer..)?);
        Some((names.get(..at)?.iter().collect(), names.get(at..)?.iter().collect()))
    }
}

/// Returns how many names of a path within a git directory lead to the one of a submodule:
/// `modules/NAME`, where NAME may have slashes, up to the first name that git itself gives.
fn submodule(below: &[Component<'_>]) -> usize {
    let is = |name: &Component<'_>, known: &[&str]| known.iter().any(|it| name.as_os_str() == *it);
    if !below.first().is_some_and(|name| is(name, &["modules"])) {
        return 0;
    }
    let own = ["HEAD", "index", "logs", "objects", "packed-refs", "refs"];
    below.iter().skip(2).position(|name| is(name, &own)).map_or(0, |at| at + 2)
}

/// Git directories of the host in which something changed.
fn git_dirs(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &ChangeSet,
) -> Result<BTreeSet<PathBuf>, SyncError> {
    let named = set.changes.iter().filter_map(|change| {
        let names: PathBuf = change.path.components().take_while(|it| !is_git(it)).collect();
        (names != change.path).then(|| names.join(".git"))
    });
    let mut dirs: BTreeSet<PathBuf> = named.collect();
    if !set.changes.is_empty() {
        dirs.insert(PathBuf::new());
    }
    let mut found = BTreeSet::new();
    for dir in dirs {
        if is_repository(fs, source, &dir)? {
            found.insert(dir);
        }
    }
    Ok(found)
}

fn is_repository(fs: &dyn Fs, source: &Source<'_>, path: &Path) -> Result<bool, SyncError> {
    match is_git_dir(fs, source.root, path) {
        // A closed one: of what is held there each name is for itself.
        Err(SyncError::Io { errno: Errno::ACCESS, .. }) if source.closed == Closed::Open => {
            Ok(false)
        }
        found => found,
    }
}

fn is_git(name: &Component<'_>) -> bool {
    name.as_os_str() == ".git"
}

fn is_git_dir(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> Result<bool, SyncError> {
    let Some(dir) = open(fs, root, path)? else { return Ok(false) };
    for part in PARTS {
        if !has(fs, dir.as_fd(), part).map_err(io("look at", path))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether there is something of a kind, or a link, which may lead to such a thing.
fn has(fs: &dyn Fs, dir: BorrowedFd<'_>, (name, kind): (&str, Kind)) -> Result<bool, Errno> {
    match fs.node(dir, OsStr::new(name)) {
        Ok(node) => Ok([kind, Kind::Symlink].contains(&node.status.kind)),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn exists(fs: &dyn Fs, dir: BorrowedFd<'_>, name: &str) -> Result<bool, Errno> {
    match fs.node(dir, OsStr::new(name)) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory on the way to which no link lies; `None` when there is none.
fn open(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> Result<Option<OwnedFd>, SyncError> {
    match fs.open_below(root, path, Open::Handle) {
        Ok(dir) => Ok(Some(dir)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::XDEV) => Ok(None),
        Err(errno) => Err(io("open", path)(errno)),
    }
}

/// What a collection of garbage removes, what is made from the rest, and what a process that was
/// ended left half-done.
fn is_passed_over(change: &Change, git_dir: &Path) -> bool {
    let Ok(below) = change.path.strip_prefix(git_dir) else { return false };
    match git_dir::part(below) {
        Part::Derived | Part::Passing => true,
        // The run gave it a new time; the host put what was in it elsewhere.
        Part::Object if git_dir::is_pack(below) && is_vanished(change) => true,
        Part::Object => {
            let is_taken = change.kind != ChangeKind::Created && !change.is_trace();
            is_taken && git_dir::is_place_of_objects(below)
        }
        Part::State | Part::Other => false,
    }
}

/// Takes back the conflict of loose objects whose directory, or whose file, a collection of
/// garbage on the host took away: they are written again.
fn keep_objects(set: &mut ChangeSet, git_dir: &Path) {
    for change in set.below_mut(git_dir).iter_mut().filter(|change| is_vanished(change)) {
        let below = change.path.strip_prefix(git_dir);
        if below.is_ok_and(|below| git_dir::part(below) == Part::Object) {
            change.conflict = None;
        }
    }
}

fn is_vanished(change: &Change) -> bool {
    change.kind == ChangeKind::Created && change.conflict == Some(Conflict::Vanished)
}

fn is_state(change: &Change, git_dir: &Path) -> bool {
    let Ok(below) = change.path.strip_prefix(git_dir) else { return false };
    let own = below.starts_with(OWN) || Path::new(OWN).starts_with(below);
    git_dir::part(below) == Part::State && !own && !change.is_trace()
}

/// Returns whether the host moved too: what the run changed, or where the repository stands.
fn is_moved(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &mut ChangeSet,
    git_dir: &Path,
) -> Result<bool, SyncError> {
    let is_same_index = refreshed::forgive(fs, source, set, git_dir);
    let mut of_run = set.below(git_dir).iter().filter(|change| is_state(change, git_dir));
    if of_run.any(|change| change.conflict.is_some()) {
        return Ok(true);
    }
    if linked::are_all(set, git_dir) {
        return Ok(false);
    }
    let Some(dir) = open(fs, source.root, git_dir)? else { return Ok(true) };
    let index = (!is_same_index).then_some(INDEX);
    for name in STANDING.into_iter().chain(index) {
        let found = match fs.node(dir.as_fd(), OsStr::new(name)) {
            Ok(node) => Seen::from(&node),
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(io("look at", &git_dir.join(name))(errno)),
        };
        if source.may_have_changed(&found) && !source.settled.has(&found) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the references that the run left, those in `packed-refs` first.
fn references(
    fs: &dyn Fs,
    source: &Source<'_>,
    set: &ChangeSet,
    git_dir: &Path,
) -> Result<BTreeMap<String, String>, SyncError> {
    let mut found = BTreeMap::new();
    let packed = git_dir.join("packed-refs");
    if set.below(&packed).iter().any(|it| it.path == packed && it.upper.is_some()) {
        let known = text(fs, source.root, &packed)?;
        let known: BTreeSet<_> = git_dir::packed_refs(&known).collect();
        let ours = text(fs, source.upper, &packed).unwrap_or_default();
        let new = git_dir::packed_refs(&ours).filter(|line| !known.contains(line));
        found.extend(new.filter_map(|(name, object)| reference(name, object)));
    }
    for change in set.below(git_dir).iter().filter(|change| is_state(change, git_dir)) {
        let Ok(below) = change.path.strip_prefix(git_dir) else { continue };
        let names_object = below.starts_with("refs") || below == Path::new("HEAD");
        let is_short = |upper: Seen| upper.kind == Kind::File && upper.size <= REFERENCE_MAX;
        if found.len() > REFERENCES_MAX {
            break;
        }
        if names_object && change.upper.is_some_and(is_short) {
            // The run may have closed it: then it stays in the layer alone.
            let object = text(fs, source.upper, &change.path).unwrap_or_default();
            found.extend(reference(below.as_os_str().as_bytes(), object.trim_ascii_end()));
        }
    }
    if found.len() > REFERENCES_MAX {
        found = found.into_iter().take(REFERENCES_MAX).collect();
    }
    Ok(found)
}

/// A reference by its name below `refs/`; one that names another reference is none of its own.
fn reference(name: &[u8], object: &[u8]) -> Option<(String, String)> {
    let name = str::from_utf8(name.strip_prefix(b"refs/").unwrap_or(name)).ok()?;
    if !git_dir::is_object_name(object) || !git_dir::is_reference(name) {
        return None;
    }
    Some((name.to_owned(), String::from_utf8(object.to_vec()).ok()?))
}

fn text(fs: &dyn Fs, root: BorrowedFd<'_>, path: &Path) -> Result<Vec<u8>, SyncError> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Vec::new());
    };
    let Some(dir) = open(fs, root, above)? else { return Ok(Vec::new()) };
    let file = match fs.open_file(dir.as_fd(), name) {
        Err(Errno::NOENT | Errno::LOOP) => return Ok(Vec::new()),
        file => file.map_err(io("open", path))?,
    };
    let mut text = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while text.len() < TEXT_MAX {
        match fs.read(file.as_fd(), &mut buffer) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(io("read", path)(errno)),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_before_what_names_them() {
        let ranks = [
            ("src/main.rs", 0),
            (".git", 0),
            ("HEAD", 0),
            (".git/objects/ab/cd", 0),
            (".git/config", 0),
            (".git/refs/heads/main", 1),
            (".git/HEAD", 2),
            (".git/index", 3),
            (".git/logs/HEAD", 3),
            ("vendor/x/.git/index", 3),
            (".git/modules/a/objects/ab/cd", 0),
            (".git/modules", 0),
            (".git/modules/a", 0),
            (".git/modules/a/b/HEAD", 2),
            (".git/modules/HEAD/refs/heads/x", 1),
            (".git/modules/a/modules/b/index", 3),
        ];
        for (path, expected) in ranks {
            assert_eq!(GitDirs::default().rank(Path::new(path)), expected, "{path}");
        }
        let bare = GitDirs { is_root: true };
        for (path, expected) in [("objects/ab/cd", 0), ("refs/heads/x", 1), ("x/.git/HEAD", 2)] {
            assert_eq!(bare.rank(Path::new(path)), expected, "{path}");
        }
        assert_eq!(bare.names_objects_of(Path::new("refs/heads/x")), Some(PathBuf::new()));
        let submodule = GitDirs::default().has_object_at(Path::new(".git/modules/a/b/objects/x"));
        assert_eq!(submodule, Some(".git/modules/a/b".into()));
    }

    #[test]
    fn hostile_references_are_none() {
        let object = b"0123456789abcdef0123456789abcdef01234567";
        let known = reference(b"refs/heads/main", object).expect("a reference");
        assert_eq!(known.0, "heads/main");
        for name in ["refs/../x", "refs/heads/.hidden", "refs//x", "refs/x.lock", "refs/a b"] {
            assert_eq!(reference(name.as_bytes(), object), None, "{name}");
        }
        assert_eq!(reference(b"refs/heads/main", b"ref: refs/heads/other"), None);
    }
}
