//! A pack and its index as files.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use gix_hash::ObjectId;
use gix_pack::{MMap, data, index};
use rustix::fs::SeekFrom;

use super::walk::Walk;
use super::{CHUNK, Work, finish};
use crate::git_tree::{Algorithm, Id};

/// The largest index: that of some 16 million objects.
const INDEX: u64 = 512 << 20;

pub(super) fn check(
    (data, index): (&OwnedFd, &OwnedFd),
    (digits, algorithm): (&str, Algorithm),
    work: &Work,
) -> Option<()> {
    let kind = algorithm.kind();
    sealed(index, (algorithm, INDEX), work)?;
    let name = sealed(data, (algorithm, u64::MAX), work)?;
    let index = index::File::at(path_of(index), kind).ok()?;
    let data = data::File::at(path_of(data), kind).ok()?;
    let is_one = index.pack_checksum() == name && index.num_objects() == data.num_objects();
    (is_one && is_named(&index, &name, &Id::from_digits(digits.as_bytes())?)).then_some(())?;
    Walk::new(&index, &data, algorithm)?.run(work)
}

/// Returns the checksum at the end of a file, where it is that of all before.
fn sealed(file: &OwnedFd, (algorithm, most): (Algorithm, u64), work: &Work) -> Option<ObjectId> {
    let file = File::from(file.try_clone().ok()?);
    let size = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let end = size.checked_sub(algorithm.length() as u64).filter(|_| size <= most)?;
    (!has_hole(&file, size)).then_some(())?;
    let (mut hash, mut buffer) = (gix_hash::hasher(algorithm.kind()), vec![0; CHUNK]);
    let mut at = 0;
    while at < end {
        let length = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
        work.take(length as u64)?;
        let part = buffer.get_mut(..length)?;
        file.read_exact_at(part, at).ok()?;
        hash.update(part);
        at += length as u64;
    }
    let said = buffer.get_mut(..algorithm.length())?;
    file.read_exact_at(said, end).ok()?;
    finish(hash).filter(|found| found.as_slice() == said)
}

/// Git writes none, and what is in one costs whoever made it nothing (lseek(2)).
fn has_hole(file: &File, size: u64) -> bool {
    let first = rustix::fs::seek(file, SeekFrom::Hole(0));
    // The place is that of all who have the file open.
    let is_back = rustix::fs::seek(file, SeekFrom::Start(0)).is_ok();
    !is_back || first.is_ok_and(|first| first < size)
}

/// A pack is called by its checksum, or by that of the names of its objects as some programs do.
fn is_named(index: &index::File<MMap>, checksum: &ObjectId, name: &Id) -> bool {
    let is_it = |found: &ObjectId| found.as_slice() == name.as_bytes();
    let of_names = || {
        let mut hash = gix_hash::hasher(checksum.kind());
        for at in 0..index.num_objects() {
            hash.update(index.oid_at_index(at).as_bytes());
        }
        finish(hash)
    };
    is_it(checksum) || of_names().is_some_and(|found| is_it(&found))
}

fn path_of(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
