//! Why an ordinary user is refused a user namespace: asked only when one was refused.

use std::path::Path;

use super::kernel::{is_confined, is_filtered, read_word};
use crate::plan::host::UsernsRefusal;
use crate::sys::mountinfo::{self, Mount};

/// Finds out whether an endow inside another, which runs at level `outer`, is refused them.
pub(super) fn refused_inside(outer: &str) -> Option<UsernsRefusal> {
    let count = read_word("/proc/sys/user/max_user_namespaces");
    match (outer.trim(), count.as_deref()) {
        (_, Some("0")) => Some(UsernsRefusal::Count),
        ("namespaces", _) => None,
        _ => Some(UsernsRefusal::Seccomp),
    }
}

/// Finds the most likely reason. Where no switch of the host speaks against user namespaces, a
/// filter in front does, as container engines install.
pub(crate) fn refusal() -> UsernsRefusal {
    let is = |path: &str, word: &str| read_word(path).as_deref() == Some(word);
    // A profile of AppArmor's may keep the link from being followed.
    if std::fs::symlink_metadata("/proc/self/ns/user").is_err() {
        UsernsRefusal::Absent
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        UsernsRefusal::DebianSysctl
    } else if is("/proc/sys/user/max_user_namespaces", "0") {
        UsernsRefusal::Count
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")
        || (is_confined() && !is_filtered())
    {
        UsernsRefusal::AppArmor
    } else if is_filtered() {
        UsernsRefusal::Seccomp
    } else {
        unfiltered()
    }
}

/// The kernel's own reasons: who has no number in the user namespace it is in gets none, nor who is in a chroot
/// (`create_user_ns`, kernel/user_namespace.c).
fn unfiltered() -> UsernsRefusal {
    let is_root = |mount: &Mount| mount.place == Path::new("/");
    if std::fs::read("/proc/self/uid_map").is_ok_and(|map| map.is_empty()) {
        UsernsRefusal::Unmapped
    } else if mountinfo::own().is_some_and(|mounts| !mounts.iter().any(is_root)) {
        UsernsRefusal::Chroot
    } else {
        UsernsRefusal::Seccomp
    }
}
