//! One tree of a repository, read from where git keeps it and believed by its name only.

use std::fs::File;
use std::io::BufReader;
use std::os::fd::OwnedFd;

use gix_object::Kind;
use gix_zlib::Decompress;

use super::counted::Counted;
use super::inflate::Stream;
use super::packed::{self, Packed};
use super::{Work, begin, delta, finish, loose};
use crate::git_tree::Id;

/// The largest tree, and what it is made from may have in all.
const TREE: u64 = 64 << 20;
const ALL: u64 = 256 << 20;
/// The most deltas on the way to a tree: git makes no more.
const DELTAS: usize = 4095;
/// How much of a file is read at once.
const ROOM: usize = 8 << 10;

/// Reads a tree that has a file of its own.
pub(crate) fn loose_tree(file: &OwnedFd, id: &Id, work: &Work) -> Option<Vec<u8>> {
    let file = Counted::new(File::from(file.try_clone().ok()?), work);
    let mut state = Decompress::new();
    let mut stream = Stream::new(BufReader::with_capacity(ROOM, file), &mut state);
    let mut bytes = vec![0; ROOM];
    stream.hold_up_to(ROOM as u64);
    let length = stream.fill(&mut bytes)?;
    let size = loose::size(bytes.get(..length)?).filter(|size| *size <= TREE)?;
    work.take(size)?;
    stream.hold_up_to(size);
    let size = usize::try_from(size).ok().filter(|size| length <= *size)?;
    bytes.resize(size, 0);
    let is_whole = stream.fill(bytes.get_mut(length..)?)? == size - length && stream.is_at_end();
    let mut hash = gix_hash::hasher(id.algorithm().kind());
    hash.update(&bytes);
    (is_whole && finish(hash)?.as_slice() == id.as_bytes()).then_some(())?;
    let start = bytes.iter().position(|byte| *byte == 0)? + 1;
    bytes.starts_with(b"tree ").then(|| bytes.split_off(start))
}

/// Reads a tree from a pack, by its index.
pub(crate) fn packed_tree(
    (data, index): (&OwnedFd, &OwnedFd),
    id: &Id,
    work: &Work,
) -> Option<Vec<u8>> {
    let place = packed::find(index, id)?;
    let (mut tree, deltas) = chain((data, index), (id, place), work)?;
    for delta in deltas.iter().rev() {
        let (of, size, instructions) = delta::sizes(delta)?;
        (of == tree.len() as u64 && size <= TREE).then_some(())?;
        work.take(size)?;
        tree = delta::apply(&tree, instructions, usize::try_from(size).ok()?)?;
    }
    let mut hash = begin(id.algorithm(), Kind::Tree, tree.len() as u64);
    hash.update(&tree);
    (finish(hash)?.as_slice() == id.as_bytes()).then_some(tree)
}

/// Returns the tree that one is made from, and the deltas, the last first.
fn chain(
    (data, index): (&OwnedFd, &OwnedFd),
    (id, mut place): (&Id, u64),
    work: &Work,
) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let (mut deltas, mut left) = (Vec::new(), ALL);
    while deltas.len() <= DELTAS {
        let entry = packed::entry(data, place, id.algorithm())?;
        left = left.checked_sub(entry.size).filter(|_| entry.size <= TREE)?;
        work.take(entry.size + ROOM as u64)?;
        let bytes = packed::inflated(data, &entry, work)?;
        place = match entry.packed {
            Packed::Tree => return Some((bytes, deltas)),
            Packed::DeltaAt { place } => place,
            Packed::DeltaOf { id } => packed::find(index, &id)?,
        };
        deltas.push(bytes);
    }
    None
}
