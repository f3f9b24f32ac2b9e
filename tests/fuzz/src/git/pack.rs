//! Packs, with right checksums around whatever they hold.

use endow_vfs::git_tree::{Algorithm, Id};

use super::delta;
use super::index::{self, Version};
use super::object::{Base, Content, Delta, Kind, Object, Storage, deflated, hash, id_of};

/// Bytes before the first object.
const HEADER: usize = 12;

/// A pack that is being written.
pub(super) struct Pack {
    algorithm: Algorithm,
    body: Vec<u8>,
    /// Each object with its place.
    places: Vec<(Id, u64)>,
    /// The object before.
    last: Option<Last>,
}

struct Last {
    kind: Kind,
    content: Vec<u8>,
    id: Id,
    place: usize,
}

impl Pack {
    pub(super) fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, body: Vec::new(), places: Vec::new(), last: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds an object, and returns its name and what can be read by it.
    pub(super) fn add(&mut self, object: &Object) -> (Id, Option<Content>) {
        let place = HEADER + self.body.len();
        let last = self.last.take();
        let (entry, kind, content) =
            if let (Storage::Packed(Some(how)), Some(last)) = (object.storage, last) {
                let (entry, content) = delta(&object.content, &last, place, how);
                (entry, last.kind, content)
            } else {
                let content = object.content.clone();
                (entry(object.kind.number(), &[], &content), object.kind, Some(content))
            };
        // What can't be read has a name that nothing else has.
        let broken = [b"broken", object.content.as_slice()].concat();
        let id = id_of(self.algorithm, kind, content.as_ref().unwrap_or(&broken));
        // Twice, by name, it could become a delta of itself.
        if self.places.iter().all(|(known, _)| *known != id) {
            self.body.extend(entry);
            self.places.push((id, place as u64));
            self.last = content.clone().map(|content| Last { kind, content, id, place });
        }
        (id, content.map(|content| (kind, content)))
    }

    /// Returns the files of the pack and of its index.
    pub(super) fn files(self) -> [Vec<u8>; 2] {
        let pack = whole(self.algorithm, self.places.len(), &self.body);
        let index = index::of(&pack, self.places, self.algorithm, Version::Two);
        [pack, index]
    }
}

/// Writes a delta to the object before, and returns what comes of it.
fn delta(
    content: &[u8],
    last: &Last,
    place: usize,
    (base, delta): (Base, Delta),
) -> (Vec<u8>, Option<Vec<u8>>) {
    let bytes = match delta {
        Delta::Right => delta::between(&last.content, content),
        Delta::Raw => content.to_vec(),
    };
    let entry = match base {
        Base::Name => entry(7, last.id.as_bytes(), &bytes),
        Base::Place => entry(6, &distance(place - last.place), &bytes),
    };
    (entry, delta::applied(&last.content, &bytes))
}

/// Writes kind and length, what a delta is made to, and the bytes.
fn entry(kind: u8, base: &[u8], bytes: &[u8]) -> Vec<u8> {
    let low =
        |value: usize, bits: u32| u8::try_from(value & ((1 << bits) - 1)).expect("cut to its bits");
    let (mut head, mut rest) = (vec![kind << 4 | low(bytes.len(), 4)], bytes.len() >> 4);
    while rest > 0 {
        if let Some(byte) = head.last_mut() {
            *byte |= 128;
        }
        head.push(low(rest, 7));
        rest >>= 7;
    }
    [head, base.to_vec(), deflated(bytes)].concat()
}

/// Returns a pack around its body.
pub(super) fn whole(algorithm: Algorithm, count: usize, body: &[u8]) -> Vec<u8> {
    let count = u32::try_from(count).expect("few objects");
    let head: &[&[u8]] = &[b"PACK", &2_u32.to_be_bytes(), &count.to_be_bytes(), body];
    let mut pack = head.concat();
    pack.extend(hash(algorithm, &pack));
    pack
}

/// Writes how far before an object the one stands that it is a delta of.
fn distance(mut distance: usize) -> Vec<u8> {
    let low = |value: usize| u8::try_from(value & 127).expect("seven bits");
    let mut bytes = vec![low(distance)];
    distance >>= 7;
    while distance > 0 {
        distance -= 1;
        bytes.push(low(distance) | 128);
        distance >>= 7;
    }
    bytes.reverse();
    bytes
}
