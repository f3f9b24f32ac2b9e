//! What the command wrote into a home of its own, which goes with the run.

use std::fs::{DirEntry, read_dir};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{BackendSpec, HostPath, MountSpec};

use crate::apply::Prepared;
use crate::plan::Plan;
use crate::plan::step::{InitStep, Source};

/// The most names of one directory that are looked at.
const NAMES_MAX: usize = 256;

/// Returns the files that somebody may look for: those in the home and in the directories of it. Names
/// that begin with a dot are left out, and whatever lies deeper: settings and caches.
pub(crate) fn left_at_home(
    plan: &Plan,
    prepared: &Prepared,
    home: &HostPath,
    mounts: &[MountSpec],
) -> Vec<PathBuf> {
    let Some(own) = own_home(plan, home) else { return Vec::new() };
    let own = prepared.directory().join(own);
    let (mut found, directories) = listed(&own);
    found.extend(directories.iter().flat_map(|directory| listed(directory).0));
    let places = found.iter().filter_map(|path| path.strip_prefix(&own).ok());
    let places = places.map(|path| home.as_path().join(path));
    let mut left: Vec<PathBuf> = places.filter(|place| !is_given(place, mounts)).collect();
    left.sort();
    left
}

/// Returns where the run keeps the home, if it has one of its own.
fn own_home<'a>(plan: &'a Plan, home: &HostPath) -> Option<&'a Path> {
    plan.init.iter().find_map(|step| match step {
        InitStep::Bind { source: Source::Run(own), at, .. } if at.as_path() == home.as_path() => {
            Some(own.0.as_path())
        }
        _ => None,
    })
}

/// Returns files and directories whose names begin with no dot; no link is followed.
fn listed(directory: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let entries = read_dir(directory).into_iter().flatten().take(NAMES_MAX).flatten();
    let shown = entries.filter(|entry| !entry.file_name().as_bytes().starts_with(b"."));
    let kind = |entry: &DirEntry| entry.file_type().ok();
    let known = shown.filter(|entry| kind(entry).is_some_and(|it| it.is_file() || it.is_dir()));
    let (files, directories): (Vec<DirEntry>, Vec<DirEntry>) =
        known.partition(|entry| kind(entry).is_some_and(|it| it.is_file()));
    let paths = |entries: Vec<DirEntry>| entries.iter().map(DirEntry::path).collect();
    (paths(files), paths(directories))
}

/// Returns whether a file was there before the command: a place of a mount, or a copy of the host's.
fn is_given(place: &Path, mounts: &[MountSpec]) -> bool {
    let is_copied = |mount: &MountSpec| match &mount.backend {
        BackendSpec::Private { seed, write_back, .. } => {
            seed.iter().any(|it| place.starts_with(it.as_path()))
                || write_back.iter().any(|it| it.as_path() == place)
        }
        _ => false,
    };
    mounts.iter().any(|mount| mount.at.as_path() == place || is_copied(mount))
}
