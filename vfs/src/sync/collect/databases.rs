//! Databases of SQLite. What stands beside one is replayed into it when it is opened next (sqlite.org, "Temporary Files
//! Used By SQLite"), so that it is written back with the database or not at all: beside another one it would take that
//! one's place.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Source;
use crate::fs::{Fs, Kind, Open};
use crate::sync::{Change, ChangeKind, ChangeSet, Conflict, Seen};

/// How the names of what stands beside one end.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Makes a conflict of a database, or of what stands beside it, one of all of these.
pub(super) fn join(fs: &dyn Fs, source: &Source<'_>, set: &mut ChangeSet) {
    let is_file = |it: &&Change| it.host.is_some_and(|host| host.kind == Kind::File);
    let edited = set.changes.iter().filter(is_file);
    let beside = set.changes.iter().filter_map(|it| database(&it.path));
    let found: BTreeSet<PathBuf> = edited.map(|it| it.path.clone()).chain(beside).collect();
    let mut torn = Vec::new();
    for database in found {
        let members: Vec<PathBuf> = members(&database).collect();
        if members.iter().any(|member| is_of_host(fs, source, set, member)) {
            torn.extend(members);
        }
    }
    for path in torn {
        conflict(set, &path);
    }
}

fn conflict(set: &mut ChangeSet, path: &Path) {
    let places = set.places(path);
    for change in set.changes.get_mut(places).unwrap_or_default() {
        change.conflict.get_or_insert(Conflict::Database);
    }
}

/// Returns the database that a file stands beside.
fn database(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes();
    let database = BESIDE.iter().find_map(|end| name.strip_suffix(end.as_bytes()))?;
    (!database.is_empty()).then(|| path.with_file_name(OsStr::from_bytes(database)))
}

fn members(database: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    ["", BESIDE[0], BESIDE[1], BESIDE[2]].into_iter().map(|end| {
        let mut name = database.as_os_str().to_owned();
        name.push::<OsString>(end.into());
        PathBuf::from(name)
    })
}

/// Whether the host changed a file, be it one that the run left alone.
fn is_of_host(fs: &dyn Fs, source: &Source<'_>, set: &ChangeSet, path: &Path) -> bool {
    if let Some(change) = set.changes.get(set.places(path)).and_then(<[_]>::first) {
        return change.conflict.is_some();
    }
    let above = path.parent().unwrap_or(Path::new(""));
    // Of a directory that the run removed, all that the host has is a change.
    let above_it = set.changes.get(set.places(above)).and_then(<[_]>::first);
    if above_it.is_some_and(|it| it.path == above && it.kind == ChangeKind::Deleted) {
        return false;
    }
    let above = fs.open_below(source.root, above, Open::Handle);
    let name = path.file_name().unwrap_or_default();
    let found = above.and_then(|above| fs.node(above.as_fd(), name));
    found.is_ok_and(|node| {
        let seen = Seen::from(&node);
        source.may_have_changed(&seen) && !source.settled.knows(&seen)
    })
}
