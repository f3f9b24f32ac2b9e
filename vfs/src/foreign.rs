//! Names that overlayfs can't copy up: of another owner or group, and yet the user's to change.
//!
//! In a user namespace with one user and one group such a copy-up fails with EOVERFLOW
//! (`ovl_copy_up` may not make an inode whose owner has no number there).

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Access, AtFlags, FileType, accessat, statat};

use crate::fs::{Fs, OsFs};

/// The most names of one directory that are looked at.
const NAMES_MAX: usize = 4096;

/// Returns the names of an open directory that overlayfs can't copy up, in order. What can't be looked at is not
/// among them.
pub fn foreign_names(directory: BorrowedFd<'_>, user: (u32, u32)) -> Vec<OsString> {
    let entries = OsFs.list(directory.as_fd(), NAMES_MAX).unwrap_or_default();
    let names = entries.into_iter().map(|entry| entry.name);
    let mut names: Vec<OsString> = names.filter(|name| is_foreign(directory, name, user)).collect();
    names.sort();
    names
}

/// What the user may not change outside, a command may not change inside: nothing to explain.
fn is_foreign(at: BorrowedFd<'_>, name: &OsStr, user: (u32, u32)) -> bool {
    let Ok(status) = statat(at, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let is_link = FileType::from_raw_mode(status.st_mode).is_symlink();
    let may_write = || accessat(at, name, Access::WRITE_OK, AtFlags::EACCESS).is_ok();
    (status.st_uid, status.st_gid) != user && !is_link && may_write()
}
