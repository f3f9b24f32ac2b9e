//! Where names are of which nobody knows it: their mounts are looked through.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::HostPath;
use endow_vfs::fs::{Fs, Open, OsFs};
use endow_vfs::names::{Foreign, NameRules, WalkOptions, walk};
use endow_vfs::opening::OpenedUp;

use super::{Away, Place, identity_at};
use crate::plan::step::FileId;

/// Threads of a search.
const THREADS: usize = 2;

/// How often a mount is walked in which the command has closed directories to their owner.
const WALKS: usize = 8;
/// The most of these that are open at once.
const OPEN_MAX: usize = 256;

/// Looks for those that have no place yet. One that is not found is gone, unless there is where nobody can look.
pub(super) fn search(away: &mut [Away<'_>]) {
    let mut sought: BTreeMap<&HostPath, SoughtBy<'_, '_>> = BTreeMap::new();
    for it in away.iter_mut().filter(|it| it.place.is_none()) {
        sought.entry(&it.renew.source).or_default().entry(it.id).or_default().push(it);
    }
    for (source, away) in sought {
        let found = OsFs.open_canonical(source.as_path()).map(|root| found(root.as_fd(), &away));
        let (found, is_whole) = found.unwrap_or_default();
        place((found, is_whole), away, Place::Found);
    }
}

/// Looks for all in what was taken out of the mounts, as [`search`] does.
pub(super) fn search_taken(away: &mut [Away<'_>], run: &Path) {
    let mut sought: SoughtBy<'_, '_> = BTreeMap::new();
    for it in away.iter_mut() {
        sought.entry(it.id).or_default().push(it);
    }
    if let (false, Ok(root)) = (sought.is_empty(), OsFs.open_canonical(run)) {
        place(found(root.as_fd(), &sought), sought, Place::Taken);
    }
}

fn place(
    (found, is_whole): (Vec<(PathBuf, FileId)>, bool),
    mut sought: SoughtBy<'_, '_>,
    place: fn(PathBuf) -> Place,
) {
    for (path, id) in found {
        // Each of several names of one file has a place of its own.
        let all = sought.get_mut(&id).into_iter().flatten();
        let mut same = all.filter(|it| it.place.is_none() && it.renew.name() == path.file_name());
        if let Some(it) = same.next() {
            it.place = Some(place(path.parent().unwrap_or(Path::new("")).to_owned()));
        }
    }
    let left = sought.into_values().flatten().filter(|it| it.place.is_none() && !is_whole);
    left.for_each(|it| it.place = Some(Place::Unknown));
}

type SoughtBy<'s, 'a> = BTreeMap<FileId, Vec<&'s mut Away<'a>>>;

/// Returns also whether all could be looked at.
fn found(root: BorrowedFd<'_>, away: &SoughtBy<'_, '_>) -> (Vec<(PathBuf, FileId)>, bool) {
    let names = away.values().flatten();
    let names = names.filter_map(|it| Some(it.renew.name()?.as_bytes().to_vec()));
    let rules = Sought { root, names: names.collect(), ids: away.keys().copied().collect() };
    let options = WalkOptions { threads: THREADS, ..WalkOptions::default() };
    let (mut opened, mut last) = (Vec::new(), None);
    for _ in 0..WALKS {
        let Ok(walked) = walk(root, &rules, &options) else { break };
        let before = opened.len();
        let room = OPEN_MAX.saturating_sub(before);
        opened.extend(walked.errors.iter().take(room).filter_map(|it| open_up(root, &it.path)));
        last = Some(walked);
        if opened.len() == before {
            break;
        }
    }
    let Some(walked) = last else { return (Vec::new(), false) };
    let is_whole = walked.errors.is_empty();
    let known = walked.hidden.into_iter().filter_map(|name| {
        let id = rules.sought(name.path.as_os_str().as_bytes())?;
        Some((name.path, id))
    });
    (known.collect(), is_whole)
}

/// Opens up a directory that the command has closed to its owner.
fn open_up(root: BorrowedFd<'_>, path: &Path) -> Option<OpenedUp<'static>> {
    let directory = OsFs.open_below(root, path, Open::Handle).ok()?;
    OpenedUp::of(&OsFs, directory).ok().filter(OpenedUp::was_closed)
}

/// Finds files by what they are; their last names are as they were.
struct Sought<'a> {
    root: BorrowedFd<'a>,
    names: BTreeSet<Vec<u8>>,
    ids: BTreeSet<FileId>,
}

impl Sought<'_> {
    fn sought(&self, path: &[u8]) -> Option<FileId> {
        identity_at(self.root, OsStr::from_bytes(path)).filter(|id| self.ids.contains(id))
    }
}

impl NameRules for Sought<'_> {
    fn may_match_name(&self, _above: &[u8], name: &[u8]) -> bool {
        self.names.contains(name)
    }

    fn decide(&self, relative: &[u8], _is_dir: bool) -> Option<bool> {
        self.sought(relative).map(|_| true)
    }

    fn decide_foreign(&self, _foreign: Foreign, relative: &[u8]) -> Option<bool> {
        self.sought(relative).map(|_| true)
    }

    fn enters_foreign(&self, _foreign: Foreign, _relative: &[u8]) -> bool {
        true
    }

    fn needs_walk(&self) -> bool {
        true
    }
}
