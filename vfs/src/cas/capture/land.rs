//! Staged objects become objects of the store.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use crate::cas::store::failed;
use crate::cas::{Digest, Hasher, Layout, Other, Publishing, Store, StoreError};
use crate::fs::{Errno, Fs, Kind, Open};

const CHUNK: usize = 128 << 10;

/// Publishes what [`capture`](super::capture) staged, each object only when it has the hash that it
/// is named by, and looks whether the tree is there then. Returns how many are new.
///
/// # Errors
/// [`StoreError::Damaged`] for an object that is not what its name says, [`StoreError::Missing`]
/// when the message of the tree was not staged, or a failing call. What was published by then stays.
pub fn land_staged(
    fs: &dyn Fs,
    staging: (BorrowedFd<'_>, &Path),
    publishing: &Publishing<'_>,
    tip: &Digest,
) -> Result<u64, StoreError> {
    let mut new = 0;
    each_staged(fs, staging, &mut |staged, digest| {
        new += u64::from(publishing.import(staged, digest)?.is_new);
        Ok(())
    })?;
    publishing.open_object(tip)?;
    Ok(new)
}

/// Returns whether all that was staged some time ago is what its name says, and the tree is staged or in the
/// store: a loss of power may have damaged it.
pub fn is_sound(
    fs: &dyn Fs,
    staging: (BorrowedFd<'_>, &Path),
    store: &Store<'_>,
    tip: &Digest,
) -> bool {
    let (mut has_tip, mut buffer) = (store.has(tip).unwrap_or(false), vec![0; CHUNK]);
    let looked = each_staged(fs, staging, &mut |staged, digest| {
        has_tip |= digest == tip;
        let file = staged.open_object(digest)?;
        let found = hash(fs, file.as_fd(), &mut buffer);
        let is_it = found.is_ok_and(|found| found == *digest);
        is_it.then_some(()).ok_or(StoreError::Missing { digest: *digest })
    });
    looked.is_ok() && has_tip
}

fn hash(fs: &dyn Fs, file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Digest, Errno> {
    let mut hasher = Hasher::default();
    loop {
        match fs.read(file, buffer)? {
            0 => return Ok(hasher.finish()),
            length => hasher.update(buffer.get(..length).unwrap_or_default()),
        }
    }
}

fn each_staged(
    fs: &dyn Fs,
    (staging, path): (BorrowedFd<'_>, &Path),
    take: &mut dyn FnMut(&Other<'_>, &Digest) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let objects = fs.open_below(staging, Path::new("."), Open::List);
    let objects = objects.map_err(failed("open", path))?;
    let fans = fs.list(objects.as_fd(), usize::MAX).map_err(failed("list", path))?;
    let staged = Other::of(fs, Layout::Casd, objects, path);
    for fan in fans.iter().filter(|fan| is_fan(&fan.name)) {
        let path = path.join(&fan.name);
        let dir = fs.open_below(staging, Path::new(&fan.name), Open::List);
        let dir = dir.map_err(failed("open", &path))?;
        for object in fs.list(dir.as_fd(), usize::MAX).map_err(failed("list", &path))? {
            let status = fs.status(dir.as_fd(), &object.name).map_err(failed("look at", &path))?;
            let digits = [fan.name.to_str(), object.name.to_str()].map(Option::unwrap_or_default);
            let Ok(digest) = Digest::from_hex(&digits.concat(), status.size) else { continue };
            if status.kind == Kind::File {
                take(&staged, &digest)?;
            }
        }
    }
    Ok(())
}

fn is_fan(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.len() == 2)
}
