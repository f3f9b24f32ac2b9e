//! Staged objects become objects of the store.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use crate::cas::store::failed;
use crate::cas::{Digest, Layout, Other, Publishing, StoreError};
use crate::fs::{Fs, Kind, Open};

/// Publishes what [`capture`](super::capture) staged, each object only when it has the hash that it
/// is named by, and looks whether the tree is there then. Returns how many are new.
///
/// # Errors
/// [`StoreError::Damaged`] for an object that is not what its name says, [`StoreError::Missing`]
/// when the message of the tree was not staged, or a failing call. What was published by then stays.
pub fn land_staged(
    fs: &dyn Fs,
    (staging, path): (BorrowedFd<'_>, &Path),
    publishing: &Publishing<'_>,
    tip: &Digest,
) -> Result<u64, StoreError> {
    let objects = fs.open_below(staging, Path::new("."), Open::List);
    let objects = objects.map_err(failed("open", path))?;
    let fans = fs.list(objects.as_fd(), usize::MAX).map_err(failed("list", path))?;
    let staged = Other::of(fs, Layout::Casd, objects, path);
    let mut new = 0;
    for fan in fans.iter().filter(|fan| is_fan(&fan.name)) {
        let path = path.join(&fan.name);
        let dir = fs.open_below(staging, Path::new(&fan.name), Open::List);
        let dir = dir.map_err(failed("open", &path))?;
        for object in fs.list(dir.as_fd(), usize::MAX).map_err(failed("list", &path))? {
            let status = fs.status(dir.as_fd(), &object.name).map_err(failed("look at", &path))?;
            let digits = [fan.name.to_str(), object.name.to_str()].map(Option::unwrap_or_default);
            let Ok(digest) = Digest::from_hex(&digits.concat(), status.size) else { continue };
            if status.kind == Kind::File {
                new += u64::from(publishing.import(&staged, &digest)?.is_new);
            }
        }
    }
    publishing.open_object(tip)?;
    Ok(new)
}

fn is_fan(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.len() == 2)
}
