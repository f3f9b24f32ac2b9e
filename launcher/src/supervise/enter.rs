//! Entering a running sandbox from outside: a short-lived helper joins its user namespace, takes a
//! copy of a host mount along, and places it in the sandbox's mount namespace.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, fstat,
    openat2, statx,
};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::apply::Sandbox;
use crate::plan::step::FileId;
use crate::sys;
use crate::sys::clone::Cloned;
use crate::sys::mount::attribute;

/// What is mounted over a path of the view, read-only.
#[derive(Clone, Copy)]
pub(super) enum Cover<'a> {
    /// A host path.
    With(&'a Path),
    /// The regular file or directory that stands there.
    Itself,
}

/// A name of the view.
pub(super) struct Target<'a> {
    /// Where it is.
    pub(super) at: &'a Path,
    /// What it must lead to.
    pub(super) expect: FileId,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covered {
    /// The name is covered now.
    Now,
    /// It was covered already.
    Already,
    /// It leads to something else, or to nothing.
    Other,
}

impl Covered {
    const ALL: [Self; 3] = [Self::Now, Self::Already, Self::Other];
}

/// The exit code of a helper that failed; the others are numbers of [`Covered::ALL`].
const FAILED: i32 = 255;

/// The exit code of a helper that had no room for a descriptor.
const SHORT: i32 = 254;
/// How often a helper is tried where there is no room for a process, and how long after the last try.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Mounts `cover` over `target` in a running sandbox.
pub(super) fn cover(
    sandbox: &Sandbox,
    cover: Cover<'_>,
    target: &Target<'_>,
) -> Result<Covered, Errno> {
    let descriptors = &sandbox.descriptors;
    let (Some(user), Some(mount)) = (&descriptors.user, &descriptors.mount) else {
        return Err(Errno::SRCH);
    };
    match helper()? {
        Cloned::Child => {
            let covered = place(user, mount, cover, target);
            sys::clone::exit_now(covered.map_or_else(code_of, |covered| covered as i32))
        }
        Cloned::Parent { pid, pidfd } => {
            let status =
                sys::wait::within(pid, &pidfd, sys::wait::PATIENCE)?.map(|waited| waited.status);
            let exited = status.filter(|status| libc::WIFEXITED(*status));
            let code = exited.map(|it| libc::WEXITSTATUS(it));
            if code == Some(SHORT) {
                return Err(Errno::MFILE);
            }
            let number = code.and_then(|code| usize::try_from(code).ok());
            number.and_then(|number| Covered::ALL.get(number)).copied().ok_or(Errno::IO)
        }
    }
}

/// Makes the helper. The command may have used up all processes for a moment.
fn helper() -> Result<Cloned, Errno> {
    for _ in 0..TRIES {
        match sys::clone::clone(0, None) {
            Err(Errno::AGAIN | Errno::NOMEM) => std::thread::sleep(PAUSE),
            made => return made,
        }
    }
    Err(Errno::MFILE)
}

fn code_of(errno: Errno) -> i32 {
    if matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM) { SHORT } else { FAILED }
}

fn place(
    user: &OwnedFd,
    mount: &OwnedFd,
    cover: Cover<'_>,
    target: &Target<'_>,
) -> Result<Covered, Errno> {
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    let tree = match cover {
        Cover::With(source) => Some(taken_along(source)?),
        Cover::Itself => None,
    };
    move_into_link_name_space(mount.as_fd(), Some(LinkNameSpaceType::Mount))?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat2(CWD, target.at, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let opened = match opened {
        Err(Errno::MFILE) => return Err(Errno::MFILE),
        Err(_) => return Ok(Covered::Other),
        Ok(opened) => opened,
    };
    if is_mounted(&opened)? {
        return Ok(Covered::Already);
    }
    if FileId::from(sys::identity::of(&opened)?.parts()) != target.expect {
        return Ok(Covered::Other);
    }
    let tree = tree.map_or_else(|| itself(&opened), Ok)?;
    let place = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(&tree, c"", &opened, c"", place).map(|()| Covered::Now)
}

/// Returns whether a mount stands on the name that was opened.
fn is_mounted(opened: &OwnedFd) -> Result<bool, Errno> {
    let found = statx(opened, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
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
    let kind = FileType::from_raw_mode(fstat(target)?.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::Directory) {
        return Err(Errno::INVAL);
    }
    let tree = open_tree(target, c"", CLONE | OpenTreeFlags::AT_EMPTY_PATH)?;
    let held = attribute::READONLY | attribute::NOSUID | attribute::NODEV;
    sys::mount::set_attributes(tree.as_fd(), held, false)?;
    Ok(tree)
}

const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);
