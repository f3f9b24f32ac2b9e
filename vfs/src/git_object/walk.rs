//! All objects of a pack, each made once: from those that are whole to those that are deltas of them.

use gix_hash::Hasher;
use gix_object::Kind;
use gix_pack::data::entry::Header;
use gix_pack::{MMap, data, index};
use gix_zlib::Decompress;

use super::inflate::Stream;
use super::{CHUNK, Work, begin, delta, finish};
use crate::git_tree::Algorithm;

/// The largest object that is a delta or has deltas: git makes none of larger ones (`core.bigFileThreshold`).
const DELTA: u64 = 512 << 20;
/// How many bytes of objects are kept for the deltas of them that are still to be made.
const KEPT: u64 = 1 << 30;
/// No entry.
const NONE: u32 = u32::MAX;

/// One object, in the order of the pack.
struct Entry {
    offset: u64,
    /// Its place in the index.
    place: u32,
    is_delta: bool,
    /// The first entry that is a delta of this one, and the next that has the same base.
    first: u32,
    next: u32,
}

pub(super) struct Walk<'a> {
    index: &'a index::File<MMap>,
    data: &'a data::File<MMap>,
    algorithm: Algorithm,
    entries: Vec<Entry>,
    inflate: Decompress,
}

/// An entry as the pack has it.
struct Packed<'a> {
    place: u32,
    first: u32,
    header: Header,
    /// How many bytes it is inflated.
    size: u64,
    bytes: &'a [u8],
}

/// An object, and which deltas of it are still to be made.
struct Base {
    kind: Kind,
    bytes: Vec<u8>,
    /// The next of them.
    next: u32,
}

impl<'a> Walk<'a> {
    /// Lists the objects; `None` where an index has a name or a place twice, or an entry has no base.
    pub(super) fn new(
        index: &'a index::File<MMap>,
        data: &'a data::File<MMap>,
        algorithm: Algorithm,
    ) -> Option<Self> {
        let is_sorted =
            (1..index.num_objects()).all(|at| index.oid_at_index(at - 1) < index.oid_at_index(at));
        let entry = |place| {
            let offset = index.pack_offset_at_index(place);
            Entry { offset, place, is_delta: false, first: NONE, next: NONE }
        };
        let mut entries: Vec<Entry> = (0..index.num_objects()).map(entry).collect();
        entries.sort_unstable_by_key(|entry| entry.offset);
        let is_once = entries.windows(2).all(|pair| matches!(pair, [a, b] if a.offset < b.offset));
        let mut walk = Self { index, data, algorithm, entries, inflate: Decompress::new() };
        (is_sorted && is_once).then_some(())?;
        (0..index.num_objects()).try_for_each(|at| walk.join(at))?;
        Some(walk)
    }

    /// Puts an entry among the deltas of its base.
    fn join(&mut self, at: u32) -> Option<()> {
        let offset = self.entry(at)?.offset;
        let base = match self.data.entry(offset).ok()?.header {
            Header::OfsDelta { base_distance } => offset.checked_sub(base_distance)?,
            Header::RefDelta { base_id } => {
                self.index.pack_offset_at_index(self.index.lookup(base_id)?)
            }
            _ => return Some(()),
        };
        let base = self.entries.binary_search_by_key(&base, |entry| entry.offset).ok()?;
        let next = std::mem::replace(&mut self.entries.get_mut(base)?.first, at);
        let entry = self.entry_mut(at)?;
        (entry.is_delta, entry.next) = (true, next);
        Some(())
    }

    fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)
    }

    fn entry_mut(&mut self, at: u32) -> Option<&mut Entry> {
        self.entries.get_mut(at as usize)
    }

    /// Makes all of them; those that are deltas of one another in a circle are never reached.
    pub(super) fn run(mut self, work: &Work) -> Option<()> {
        let (mut made, count) = (0, self.index.num_objects());
        for at in 0..count {
            if !self.entry(at)?.is_delta {
                made += self.tree(at, work)?;
            }
        }
        (made == count).then_some(())
    }

    /// Makes an object and all that are made from it; returns how many these are.
    fn tree(&mut self, root: u32, work: &Work) -> Option<u32> {
        let has_more = |base: &Base| base.next != NONE;
        let first = Some(self.whole(root, work)?).filter(has_more);
        let mut bases: Vec<Base> = first.into_iter().collect();
        let (mut made, mut kept) = (1, bases.first().map_or(0, Base::length));
        while let Some(base) = bases.last_mut() {
            let at = base.next;
            base.next = self.entry(at)?.next;
            let new = Some(self.delta(at, base, work)?).filter(has_more);
            made += 1;
            kept -= bases.pop_if(|base| base.next == NONE).as_ref().map_or(0, Base::length);
            kept += new.as_ref().map_or(0, Base::length);
            bases.extend(new);
            (kept <= KEPT).then_some(())?;
        }
        Some(made)
    }

    /// Makes an object that is no delta; of one without deltas no bytes are kept.
    fn whole(&mut self, at: u32, work: &Work) -> Option<Base> {
        let packed = self.packed(at)?;
        let kind = packed.header.as_kind()?;
        if packed.first != NONE {
            let bytes = self.inflated(&packed, work)?;
            return self.named(&packed, kind, bytes);
        }
        let (mut hash, mut left) = (begin(self.algorithm, kind, packed.size), packed.size);
        let most = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
        let (mut stream, mut buffer) =
            (Stream::new(packed.bytes, &mut self.inflate), vec![0; most]);
        while left > 0 {
            let length = usize::try_from(left).map_or(most, |left| left.min(most));
            let part = buffer.get_mut(..length)?;
            work.take(length as u64)?;
            (stream.fill(part)? == length).then_some(())?;
            hash.update(part);
            left -= length as u64;
        }
        let base = || Base { kind, bytes: Vec::new(), next: NONE };
        (stream.is_at_end() && self.is_name(&packed, hash)).then(base)
    }

    /// Makes an object from its base.
    fn delta(&mut self, at: u32, base: &Base, work: &Work) -> Option<Base> {
        let packed = self.packed(at)?;
        let delta = self.inflated(&packed, work)?;
        let (of, size, instructions) = delta::sizes(&delta)?;
        (of == base.length() && size <= DELTA).then_some(())?;
        work.take(size)?;
        let bytes = delta::apply(&base.bytes, instructions, usize::try_from(size).ok()?)?;
        self.named(&packed, base.kind, bytes)
    }

    fn inflated(&mut self, packed: &Packed<'_>, work: &Work) -> Option<Vec<u8>> {
        (packed.size <= DELTA).then_some(())?;
        work.take(packed.size)?;
        let mut bytes = vec![0; usize::try_from(packed.size).ok()?];
        let mut stream = Stream::new(packed.bytes, &mut self.inflate);
        (stream.fill(&mut bytes)? == bytes.len() && stream.is_at_end()).then_some(bytes)
    }

    /// Compares an object with its name.
    fn named(&self, packed: &Packed<'_>, kind: Kind, bytes: Vec<u8>) -> Option<Base> {
        let mut hash = begin(self.algorithm, kind, bytes.len() as u64);
        hash.update(&bytes);
        let base = || Base { kind, bytes, next: packed.first };
        self.is_name(packed, hash).then(base)
    }

    fn is_name(&self, packed: &Packed<'_>, hash: Hasher) -> bool {
        finish(hash).is_some_and(|found| *found == *self.index.oid_at_index(packed.place))
    }

    /// Returns what a pack has of an entry, which is all up to the next one.
    fn packed(&self, at: u32) -> Option<Packed<'a>> {
        let entry = self.entry(at)?;
        let next = at.checked_add(1).and_then(|next| self.entry(next));
        let end = next.map_or(self.data.pack_end() as u64, |next| next.offset);
        let length = self.data.entry_slice(entry.offset..end)?.len();
        let said = self.index.crc32_at_index(entry.place);
        let is_it = said.is_none_or(|said| said == self.data.entry_crc32(entry.offset, length));
        let found = self.data.entry(entry.offset).ok().filter(|_| is_it)?;
        // git reads none of another length.
        let is_shortest = found.data_offset == entry.offset + found.header_size() as u64;
        is_shortest.then_some(())?;
        let bytes = self.data.entry_slice(found.data_offset..end)?;
        let (place, first) = (entry.place, entry.first);
        Some(Packed { place, first, header: found.header, size: found.decompressed_size, bytes })
    }
}

impl Base {
    fn length(&self) -> u64 {
        self.bytes.len() as u64
    }
}
