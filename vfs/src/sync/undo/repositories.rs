//! What an undo leaves of git directories. Objects stay: whatever names them by now, a branch, the index or a
//! later commit, would be broken without. Where the repository stands is taken back as a whole, or not at all
//! when somebody moved it since.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::fs::{Errno, Fs, Kind};
use crate::git_dir::{Part, part};
use crate::sync::alone::Alone;
use crate::sync::apply::MountPlace;
use crate::sync::index_digest::{INDEXES, index_digest};
use crate::sync::journal::{Act, Ledger};
use crate::sync::repository::GitDirs;
use crate::sync::resettle::look;
use crate::sync::root::{Closed, Root};
use crate::sync::{Done, Seen, SyncError, done};

/// What of a mount's git directories is not taken back.
#[derive(Default)]
pub(super) struct Repositories {
    /// What stays for good, and is no part of the run any more.
    pub(super) objects: BTreeSet<PathBuf>,
    /// What stays because somebody moved the repository since.
    pub(super) moved: BTreeSet<PathBuf>,
    /// What is named of that.
    pub(super) told: BTreeSet<PathBuf>,
    /// Indexes that were written anew and say the same, as they are now.
    pub(super) refreshed: HashMap<PathBuf, Seen>,
}

impl Repositories {
    /// Returns whether a path stays as it is.
    pub(super) fn keep(&self, path: &Path) -> bool {
        self.objects.contains(path) || self.moved.contains(path)
    }

    /// Looks at the git directories in which something chosen was written back.
    pub(super) fn look(
        fs: &dyn Fs,
        mount: &MountPlace<'_>,
        (ledger, alone): (&Ledger, &Alone),
        chosen: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, SyncError> {
        let git = GitDirs::below(fs, mount.root)?;
        let steps = || ledger.steps(mount.number).filter(|step| chosen(&step.path));
        let mut dirs: BTreeMap<PathBuf, OfDir> = BTreeMap::new();
        for step in steps() {
            let Some((git_dir, _)) = git.split(&step.path) else { continue };
            let of_dir = dirs.entry(git_dir).or_default();
            of_dir.paths.insert(step.path.clone());
            if matches!(step.act, Act::Swap | Act::Take) {
                of_dir.displaced.insert(step.path.clone());
            }
        }
        for step in steps().filter(|step| matches!(step.act, Act::Put | Act::Swap)) {
            // That of a submodule is itself part of the one above.
            let is_directory = step.new.is_some_and(|new| new.kind == Kind::Directory);
            if let Some(of_dir) = dirs.get_mut(&step.path).filter(|_| is_directory) {
                of_dir.is_made = true;
            }
        }
        let mut found = Self::default();
        if dirs.is_empty() {
            return Ok(found);
        }
        let all = done(fs, ledger, mount.number, mount.root);
        let mut root = Root::new(fs, mount.root, Closed::Stay);
        found.refreshed = refreshed(fs, &mut root, (&all, alone, mount.number));
        let known: HashSet<&Path> = steps().map(|step| step.path.as_path()).collect();
        let mut within: HashMap<PathBuf, Vec<&Done>> = HashMap::new();
        for done in &all {
            if let Some((git_dir, _)) = git.split(&done.path) {
                within.entry(git_dir).or_default().push(done);
            }
        }
        for (git_dir, of_dir) in &dirs {
            let has_more = of_dir.is_made && has_more(fs, &mut root, (git_dir, of_dir), &known);
            let mut within = within.remove(git_dir).unwrap_or_default();
            within.retain(|it| of_dir.paths.contains(&it.path) && is_in_sight(fs, &mut root, it));
            found.decide((git_dir, of_dir), &within, has_more);
        }
        Ok(found)
    }

    fn decide(&mut self, (git_dir, of_dir): (&Path, &OfDir), within: &[&Done], has_more: bool) {
        let decides = |done: &&&Done| of_dir.is_made || part_of(&done.path, git_dir) == Part::State;
        let is_moved = |done: &&Done| {
            let is_directory = done.new.is_some_and(|new| new.kind == Kind::Directory);
            done.is_changed_since && !is_directory && !self.refreshed.contains_key(&done.path)
        };
        let state: Vec<_> = within.iter().filter(decides).copied().collect();
        let is_moved = has_more || state.iter().any(is_moved);
        let paths = || of_dir.paths.iter();
        match (of_dir.is_made, is_moved) {
            (true, false) => {}
            (true, true) => {
                self.moved.extend(paths().cloned());
                self.told.insert(git_dir.to_owned());
            }
            (false, _) => {
                let is = |path: &&PathBuf, known: &[Part]| known.contains(&part_of(path, git_dir));
                let objects = paths().filter(|path| is(path, &[Part::Object, Part::Derived]));
                let objects = objects.filter(|path| !of_dir.displaced.contains(*path));
                self.objects.extend(objects.cloned());
                let state = paths().filter(|path| is_moved && is(path, &[Part::State]));
                self.moved.extend(state.cloned());
                let files = within.iter().filter(|done| self.moved.contains(&done.path));
                self.told.extend(files.map(|done| done.path.clone()));
            }
        }
    }
}

/// What was written back in one git directory.
#[derive(Default)]
struct OfDir {
    /// The run made it: all that is in it can go, unless there is more by now.
    is_made: bool,
    /// Where something of the host's was, which is to come back.
    displaced: BTreeSet<PathBuf>,
    paths: BTreeSet<PathBuf>,
}

/// Returns whether somebody added names to what the run made, apart from objects.
fn has_more(
    fs: &dyn Fs,
    root: &mut Root<'_>,
    (git_dir, of_dir): (&Path, &OfDir),
    known: &HashSet<&Path>,
) -> bool {
    let mut listed = of_dir
        .paths
        .iter()
        .filter(|path| !matches!(part_of(path, git_dir), Part::Object | Part::Derived));
    listed.any(|path| match names(fs, root, path) {
        Ok(names) => names.iter().any(|name| !known.contains(path.join(name).as_path())),
        // Nobody wrote into one that the run closed.
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => false,
        // What can't be looked into may hold anything.
        Err(_) => true,
    })
}

/// Whether anybody could have changed it since: what lies in a directory that the run closed is opened and
/// compared when its turn comes.
fn is_in_sight(fs: &dyn Fs, root: &mut Root<'_>, done: &Done) -> bool {
    let found = root.above(&done.path).and_then(|(dir, leaf)| fs.node(dir.as_fd(), leaf));
    !matches!(found, Err(Errno::ACCESS))
}

fn names(fs: &dyn Fs, root: &mut Root<'_>, path: &Path) -> Result<Vec<OsString>, Errno> {
    let listed = root.list(path)?;
    let entries = fs.list(listed.as_fd(), usize::MAX)?;
    Ok(entries.into_iter().map(|entry| entry.name).collect())
}

fn part_of(path: &Path, git_dir: &Path) -> Part {
    part(path.strip_prefix(git_dir).unwrap_or(path))
}

/// Returns the indexes that changed since and say of their paths what they said when they were written back.
fn refreshed(
    fs: &dyn Fs,
    root: &mut Root<'_>,
    (all, alone, mount): (&[Done], &Alone, u32),
) -> HashMap<PathBuf, Seen> {
    let (known, mut left) = (alone.indexes(mount), INDEXES);
    let changed = all.iter().filter(|done| done.is_changed_since && done.new.is_some());
    let same = changed.filter_map(|done| {
        let digest = known.get(done.path.as_path())?;
        let (before, _) = look(fs, root, &done.path)?;
        let is_same = index_digest(fs, root, &done.path, &mut left).as_ref() == Some(*digest);
        let (now, _) = look(fs, root, &done.path)?;
        let is_file = now.kind == Kind::File && now == before;
        (is_same && is_file).then(|| (done.path.clone(), now))
    });
    same.collect()
}
