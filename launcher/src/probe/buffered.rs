//! What overlayfs can't do with the directories that are mounted copy-on-write.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use endow_policy::{Access, BackendSpec, HostPath, Policy};
use endow_vfs::foreign::foreign_names;
use endow_vfs::fs::{Fs, OsFs};

use crate::plan::host::{BufferedFact, Found, Paths};
use crate::sys;

/// Looks at each directory that is mounted copy-on-write; those that nothing is wrong with are
/// left out.
pub(super) fn look(
    policy: &Policy,
    paths: &Paths,
    user: (u32, u32),
) -> BTreeMap<HostPath, BufferedFact> {
    let sources = policy.mounts.iter().filter(|spec| spec.access == Access::Cow);
    let sources: Vec<&HostPath> = sources
        .filter_map(|spec| match &spec.backend {
            BackendSpec::Physical { host } => paths.get(host),
            _ => None,
        })
        .filter(|fact| matches!(fact.found, Found::Directory(_)))
        .map(|fact| &fact.resolved)
        .collect();
    if sources.is_empty() {
        return BTreeMap::new();
    }
    let mounts = mount_points();
    let facts = sources.into_iter().map(|source| (source.clone(), fact(source, &mounts, user)));
    facts.filter(|(_, fact)| *fact != BufferedFact::default()).collect()
}

fn fact(source: &HostPath, mounts: &[HostPath], user: (u32, u32)) -> BufferedFact {
    let is_below = |point: &&HostPath| *point != source && point.is_within(source);
    let owner = rustix::fs::lstat(source.as_path()).map(|it| (it.st_uid, it.st_gid)).ok();
    BufferedFact {
        mounts: mounts.iter().filter(is_below).cloned().collect(),
        owner: owner.filter(|owner| *owner != user),
        foreign: foreign(source.as_path(), user),
    }
}

/// Deeper ones are explained when the run is over, for no tree is scanned.
fn foreign(directory: &Path, user: (u32, u32)) -> Vec<PathBuf> {
    let opened = OsFs.open_canonical(directory);
    let opened = opened.and_then(|handle| OsFs.open_dir(handle.as_fd(), OsStr::new(".")));
    let Ok(opened) = opened else { return Vec::new() };
    foreign_names(opened.as_fd(), user).into_iter().map(PathBuf::from).collect()
}

/// Returns where the host's mounts stand, as this process sees them.
pub(super) fn mount_points() -> Vec<HostPath> {
    let mounts = sys::mountinfo::own().unwrap_or_default();
    mounts.into_iter().filter_map(|mount| HostPath::new(mount.place).ok()).collect()
}
