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

/// Looks for those that have no place yet.
pub(super) fn search(away: &mut [Away<'_>]) {
    let mut sought: BTreeMap<&HostPath, BTreeMap<FileId, &mut Away<'_>>> = BTreeMap::new();
    for it in away.iter_mut().filter(|it| it.place.is_none()) {
        sought.entry(&it.renew.source).or_default().insert(it.id, it);
    }
    for (source, mut away) in sought {
        let Ok(root) = OsFs.open_canonical(source.as_path()) else { continue };
        for (path, id) in found(root.as_fd(), &away) {
            let above = path.parent().unwrap_or(Path::new(""));
            let named = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            let opened = OsFs.open_below(root.as_fd(), named, Open::Handle);
            let opened = opened.and_then(|directory| OpenedUp::of(&OsFs, directory));
            if let (Ok(directory), Some(it)) = (opened, away.get_mut(&id)) {
                it.place = Some(Place { directory, path: source.as_path().join(above) });
            }
        }
    }
}

fn found(root: BorrowedFd<'_>, away: &BTreeMap<FileId, &mut Away<'_>>) -> Vec<(PathBuf, FileId)> {
    let names = away.values().filter_map(|it| Some(it.renew.name()?.as_bytes().to_vec()));
    let rules = Sought { root, names: names.collect(), ids: away.keys().copied().collect() };
    let options = WalkOptions { threads: THREADS, ..WalkOptions::default() };
    let Ok(walked) = walk(root, &rules, &options) else { return Vec::new() };
    let known = walked.hidden.into_iter().filter_map(|name| {
        let id = rules.sought(name.path.as_os_str().as_bytes())?;
        Some((name.path, id))
    });
    known.collect()
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
