//! Entering a running sandbox from outside: a short-lived helper joins its user namespace, takes a
//! copy of a host mount along, and places it in the sandbox's mount namespace.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::apply::Sandbox;
use crate::sys;
use crate::sys::clone::Cloned;
use crate::sys::mount::attribute;

/// A host path that is mounted over a path of the view.
pub(super) struct Cover<'a> {
    /// What is mounted, read-only.
    pub(super) source: &'a Path,
    /// Where.
    pub(super) at: &'a Path,
}

/// Mounts `cover` in a running sandbox.
pub(super) fn cover(sandbox: &Sandbox, cover: &Cover<'_>) -> Result<(), Errno> {
    let descriptors = &sandbox.descriptors;
    let (Some(user), Some(mount)) = (&descriptors.user, &descriptors.mount) else {
        return Err(Errno::SRCH);
    };
    match sys::clone::clone(0, None)? {
        Cloned::Child => {
            let code = i32::from(place(user, mount, cover).is_err());
            sys::clone::exit_now(code)
        }
        Cloned::Parent { pid, .. } => match sys::wait::until_ended(pid)? {
            Some(waited) if waited.status == 0 => Ok(()),
            _ => Err(Errno::IO),
        },
    }
}

fn place(user: &OwnedFd, mount: &OwnedFd, cover: &Cover<'_>) -> Result<(), Errno> {
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    sys::clone::unshare(libc::CLONE_NEWNS)?;
    let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let tree = open_tree(CWD, cover.source, clone)?;
    let data_only = attribute::READONLY | attribute::NOEXEC | attribute::NOSUID | attribute::NODEV;
    sys::mount::set_attributes(tree.as_fd(), data_only, false)?;
    move_into_link_name_space(mount.as_fd(), Some(LinkNameSpaceType::Mount))?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let target = openat2(CWD, cover.at, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let place = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&tree, c"", &target, c"", place)
}
