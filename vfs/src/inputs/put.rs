//! A file of the directory becomes an object.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::InputError;
use crate::cas::{Digest, Publishing, StoreError};
use crate::fs::{Fs, Open};

/// Puts the file at `path` below `root` into the store, when it is what the walk found.
///
/// # Errors
/// [`InputError::Changed`] when it is not, or a failing call.
pub fn put_leaf(
    fs: &dyn Fs,
    root: BorrowedFd<'_>,
    path: &str,
    digest: &Digest,
    publishing: &Publishing<'_>,
) -> Result<(), InputError> {
    let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
    let opened = fs.open_below(root, Path::new(above), Open::Handle);
    let opened = opened.and_then(|dir| fs.open_file(dir.as_fd(), name.as_ref()));
    let file = opened.map_err(|_| InputError::Changed { path: path.into() })?;
    match publishing.put_file(file.as_fd()) {
        Ok(stored) if stored.digest == *digest => Ok(()),
        Ok(_) | Err(StoreError::Source { .. }) => Err(InputError::Changed { path: path.into() }),
        Err(error) => Err(InputError::Store { path: path.into(), error }),
    }
}
