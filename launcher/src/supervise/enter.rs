//! Entering a running sandbox from outside: a short-lived helper joins its user namespace, takes a
//! copy of a host mount along, and places it in the sandbox's mount namespace.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::apply::Sandbox;
use crate::sys;
use crate::sys::clone::Cloned;
use crate::sys::mount::attribute;

/// What is mounted over a path of the view, read-only.
#[derive(Clone, Copy)]
pub(super) enum Cover<'a> {
    /// A host path.
    With(&'a Path),
    /// The regular file that stands there.
    Itself,
}

/// Mounts `cover` over `at` in a running sandbox.
pub(super) fn cover(sandbox: &Sandbox, cover: Cover<'_>, at: &Path) -> Result<(), Errno> {
    let descriptors = &sandbox.descriptors;
    let (Some(user), Some(mount)) = (&descriptors.user, &descriptors.mount) else {
        return Err(Errno::SRCH);
    };
    match sys::clone::clone(0, None)? {
        Cloned::Child => {
            let code = i32::from(place(user, mount, cover, at).is_err());
            sys::clone::exit_now(code)
        }
        Cloned::Parent { pid, .. } => match sys::wait::until_ended(pid)? {
            Some(waited) if waited.status == 0 => Ok(()),
            _ => Err(Errno::IO),
        },
    }
}

fn place(user: &OwnedFd, mount: &OwnedFd, cover: Cover<'_>, at: &Path) -> Result<(), Errno> {
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    let tree = match cover {
        Cover::With(source) => Some(taken_along(source)?),
        Cover::Itself => None,
    };
    move_into_link_name_space(mount.as_fd(), Some(LinkNameSpaceType::Mount))?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let target = openat2(CWD, at, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let tree = tree.map_or_else(|| itself(&target), Ok)?;
    let place = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&tree, c"", &target, c"", place)
}

/// Clones a mount of the host, for an entry that carries nothing but data.
fn taken_along(source: &Path) -> Result<OwnedFd, Errno> {
    sys::clone::unshare(libc::CLONE_NEWNS)?;
    let tree = open_tree(CWD, source, CLONE)?;
    let data_only = attribute::READONLY | attribute::NOEXEC | attribute::NOSUID | attribute::NODEV;
    sys::mount::set_attributes(tree.as_fd(), data_only, false)?;
    Ok(tree)
}

/// Clones what the guest sees: whatever it has put there, it shows nothing of the host's.
fn itself(target: &OwnedFd) -> Result<OwnedFd, Errno> {
    let mode = fstat(target)?.st_mode;
    if FileType::from_raw_mode(mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let tree = open_tree(target, c"", CLONE | OpenTreeFlags::AT_EMPTY_PATH)?;
    let held = attribute::READONLY | attribute::NOSUID | attribute::NODEV;
    sys::mount::set_attributes(tree.as_fd(), held, false)?;
    Ok(tree)
}

const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);
