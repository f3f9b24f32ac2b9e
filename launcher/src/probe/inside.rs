//! What an endow inside another one finds: the outer view has hidden and held things already.

use std::collections::{BTreeMap, BTreeSet};

use endow_policy::{BackendSpec, HostPath, Policy};
use rustix::fs::{AtFlags, CWD, Mode, StatVfsMountFlags, StatxFlags, statat, statvfs, statx};

use crate::plan::KERNEL_FILES;
use crate::plan::host::HiddenNames;
use crate::sys;

/// Returns the level that an outer endow tells.
pub(super) fn level() -> Option<String> {
    std::fs::read_to_string("/run/endow/level").ok()
}

/// Returns what is asked about where nothing can be mounted.
pub(super) fn kernel_files() -> impl Iterator<Item = HostPath> {
    KERNEL_FILES.iter().filter_map(|path| HostPath::new(path).ok())
}

/// Returns the places of the small files that endow makes: the outer one has made them.
pub(super) fn small_files(policy: &Policy) -> impl Iterator<Item = HostPath> {
    let made = policy.mounts.iter().filter(|it| matches!(it.backend, BackendSpec::Made { .. }));
    made.map(|spec| spec.at.to_host())
}

/// Leaves out the names that the outer endow covers: nobody can open them.
pub(super) fn leave_out_covered(hidden: &mut BTreeMap<HostPath, HiddenNames>) {
    for (source, found) in hidden.iter_mut() {
        found.names.retain(|name| !source.join(&name.path).is_ok_and(|path| is_covered(&path)));
    }
}

fn is_covered(path: &HostPath) -> bool {
    let found = statat(CWD, path.as_path(), AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| Mode::from_raw_mode(found.st_mode).is_empty()) && is_readonly(path)
}

/// Leaves out the policy files that the outer endow holds.
pub(super) fn leave_out_held(files: &mut BTreeSet<HostPath>) {
    files.retain(|path| !is_held(path));
}

/// Returns the policy files that are still to be held: an outer endow may hold some.
pub(super) fn not_held(files: &[HostPath], is_inside: bool) -> Vec<HostPath> {
    files.iter().filter(|path| !is_inside || !is_held(path)).cloned().collect()
}

/// An outer endow holds a policy file by a read-only mount, or, in a copy-on-write one, its changes
/// at write-back.
fn is_held(path: &HostPath) -> bool {
    is_readonly(path) || is_buffered(path)
}

fn is_readonly(path: &HostPath) -> bool {
    let found = statvfs(path.as_path());
    found.is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Whether the mount of a file is an overlay that an endow made.
fn is_buffered(path: &HostPath) -> bool {
    let Ok(found) = statx(CWD, path.as_path(), AtFlags::empty(), StatxFlags::MNT_ID) else {
        return false;
    };
    let mounts = sys::mountinfo::own().unwrap_or_default();
    let of_file = mounts.iter().find(|mount| mount.number == found.stx_mnt_id);
    of_file.is_some_and(|mount| mount.kind == "overlay" && mount.source == "endow")
}
