//! The two versions of a file, read as the look at them found them.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use endow_vfs::fs::{At, Fs, Open, OsFs};
use endow_vfs::sync::{Change, Seen};

use super::NotMerged;
use crate::finish::Target;

/// Reads the run's version.
pub(super) fn upper(target: &Target, change: &Change) -> Option<Vec<u8>> {
    let (root, seen) = (target.upper.as_ref()?, change.upper?);
    let (dir, name) = above(root.as_fd(), &change.path)?;
    read(dir.as_fd(), name, seen.size, |found| found.is_still(&seen))
}

/// Reads the host's version, if it has the attributes of the run's. What write-back compares later
/// is exactly what is compared here.
pub(super) fn host(target: &Target, change: &Change) -> Result<Vec<u8>, NotMerged> {
    let seen = change.host.ok_or(NotMerged::NoFile)?;
    let (dir, name) = above(target.root.as_fd(), &change.path).ok_or(NotMerged::Moving)?;
    let attributes = OsFs.attributes(At { dir: dir.as_fd(), name });
    let mut attributes = attributes.map_err(|_| NotMerged::Moving)?;
    let mut of_run = change.user.upper.clone();
    attributes.sort();
    of_run.sort();
    if attributes != of_run {
        return Err(NotMerged::Attributes);
    }
    read(dir.as_fd(), name, seen.size, |found| *found == seen).ok_or(NotMerged::Moving)
}

fn above<'p>(root: BorrowedFd<'_>, path: &'p Path) -> Option<(OwnedFd, &'p OsStr)> {
    let above = path.parent().unwrap_or(Path::new(""));
    let dir = OsFs.open_below(root, above, Open::Handle).ok()?;
    Some((dir, path.file_name()?))
}

/// Reads a file of a size that is the expected one before and after.
fn read(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    size: u64,
    is_expected: impl Fn(&Seen) -> bool,
) -> Option<Vec<u8>> {
    let file = OsFs.open_file(dir, name).ok()?;
    let look = || OsFs.node(file.as_fd(), OsStr::new("")).ok().map(|node| Seen::from(&node));
    look().filter(&is_expected)?;
    let bytes = read_all(file.as_fd(), usize::try_from(size).ok()?)?;
    look().filter(&is_expected)?;
    Some(bytes)
}

fn read_all(file: BorrowedFd<'_>, size: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match OsFs.read(file, rest).ok()? {
            0 => return None,
            length => filled += length,
        }
    }
    Some(bytes)
}
