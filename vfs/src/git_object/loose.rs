//! An object that has a file of its own.

use std::fs::File;
use std::io::BufReader;
use std::os::fd::OwnedFd;

use gix_object::Kind;
use gix_zlib::Decompress;

use super::counted::Counted;
use super::inflate::Stream;
use super::{CHUNK, Work, finish};
use crate::git_tree::Id;

/// The longest header: a word and a number.
const HEADER: usize = 64;

pub(super) fn check(file: &OwnedFd, id: &Id, work: &Work) -> Option<()> {
    let file = Counted::new(File::from(file.try_clone().ok()?), work);
    let (mut state, mut buffer) = (Decompress::new(), vec![0; CHUNK]);
    let mut stream = Stream::new(BufReader::with_capacity(CHUNK, file), &mut state);
    let mut length = stream.fill(&mut buffer)?;
    let size = size(buffer.get(..length)?)?;
    let mut hash = gix_hash::hasher(id.algorithm().kind());
    let mut left = size;
    while length > 0 {
        left = left.checked_sub(length as u64)?;
        work.take(length as u64)?;
        hash.update(buffer.get(..length)?);
        length = stream.fill(&mut buffer)?;
    }
    let is_whole = left == 0 && stream.is_at_end();
    (is_whole && finish(hash)?.as_slice() == id.as_bytes()).then_some(())
}

/// Returns how many bytes there are with the header, which says it.
pub(super) fn size(begin: &[u8]) -> Option<u64> {
    let length = begin.iter().take(HEADER).position(|byte| *byte == 0)?;
    let (kind, size) = std::str::from_utf8(begin.get(..length)?).ok()?.split_once(' ')?;
    Kind::from_bytes(kind.as_bytes()).ok()?;
    let said: u64 = size.parse().ok()?;
    // git takes no other form of a number.
    let is_plain = said.to_string() == size;
    is_plain.then(|| said.checked_add(length as u64 + 1)).flatten()
}
