//! Objects in a text of their own, which mutations keep whole: names of objects follow from their
//! bytes, so no input could hold one.

use std::collections::HashMap;

use endow_vfs::git_tree::{Algorithm, Id};
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

/// Stands between two objects.
const END: u8 = 0xfd;
/// The digits of the object whose number follows.
const DIGITS: u8 = 0xfe;
/// The name of the object whose number follows, in bytes.
const NAME: u8 = 0xff;
/// The most objects.
const MOST: usize = 24;

/// What a tree names it as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Blob,
    Tree,
    Commit,
    Tag,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
            Self::Tag => "tag",
        }
    }

    /// The number of the kind in a pack.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Commit => 1,
            Self::Tree => 2,
            Self::Blob => 3,
            Self::Tag => 4,
        }
    }

    fn of(byte: u8) -> Self {
        [Self::Blob, Self::Tree, Self::Commit, Self::Tag][usize::from(byte & 3)]
    }
}

/// How an object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    Loose,
    /// Loose, with a header of its own in front.
    Headed,
    /// Whole, or as a delta to the packed object before.
    Packed(Option<(Base, Delta)>),
}

/// How a delta says what it is made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Place,
    Name,
}

/// Whether a delta is one, or any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delta {
    Right,
    Raw,
}

impl Storage {
    fn of(byte: u8) -> Self {
        match byte >> 2 & 7 {
            0 | 1 => Self::Loose,
            2 => Self::Packed(None),
            3 => Self::Packed(Some((Base::Place, Delta::Right))),
            4 => Self::Packed(Some((Base::Name, Delta::Right))),
            5 => Self::Packed(Some((Base::Place, Delta::Raw))),
            6 => Self::Packed(Some((Base::Name, Delta::Raw))),
            _ => Self::Headed,
        }
    }
}

/// One object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) storage: Storage,
    /// What it holds; for any bytes as a delta, these.
    pub(super) content: Vec<u8>,
    pub(super) id: Id,
}

/// What can be read by a name.
pub(super) type Content = (Kind, Vec<u8>);

/// What names stand for.
pub(super) type Known = HashMap<Id, Content>;

/// Reads the objects of an input.
pub(super) fn objects(input: &[u8], algorithm: Algorithm) -> Vec<Object> {
    let mut found: Vec<Object> = Vec::new();
    for part in input.split(|byte| *byte == END).take(MOST) {
        let Some((first, rest)) = part.split_first() else { continue };
        let ids: Vec<Id> = found.iter().map(|object| object.id).collect();
        let (kind, storage) = (Kind::of(*first), Storage::of(*first));
        let content = expanded(rest, &ids);
        let id = match storage {
            Storage::Headed => named(algorithm, &content),
            _ => id_of(algorithm, kind, &content),
        };
        found.push(Object { kind, storage, content, id });
    }
    found
}

/// Puts names in where the input asks for them.
pub(super) fn expanded(text: &[u8], ids: &[Id]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (&NAME | &DIGITS, [number, after @ ..]) if !ids.is_empty() => {
                let id = ids[usize::from(*number) % ids.len()];
                match *first {
                    NAME => content.extend_from_slice(id.as_bytes()),
                    _ => content.extend_from_slice(id.to_string().as_bytes()),
                }
                rest = after;
            }
            _ => content.push(*first),
        }
    }
    content
}

/// Returns the name of an object.
pub(super) fn id_of(algorithm: Algorithm, kind: Kind, content: &[u8]) -> Id {
    named(algorithm, &headed(kind, content))
}

/// Returns an object as its name is made of it.
pub(super) fn headed(kind: Kind, content: &[u8]) -> Vec<u8> {
    [format!("{} {}\0", kind.word(), content.len()).as_bytes(), content].concat()
}

/// Takes the header off an object; `None` when it is another one than belongs there.
pub(super) fn whole(bytes: &[u8]) -> Option<Content> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let content = &bytes[end + 1..];
    let kinds = [Kind::Blob, Kind::Tree, Kind::Commit, Kind::Tag];
    let kind = kinds.into_iter().find(|kind| headed(*kind, content) == bytes)?;
    Some((kind, content.to_vec()))
}

fn named(algorithm: Algorithm, bytes: &[u8]) -> Id {
    let digits: String = hash(algorithm, bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    digits.parse().expect("the digits of a name")
}

/// Returns the hash of bytes.
pub(super) fn hash(algorithm: Algorithm, bytes: &[u8]) -> Vec<u8> {
    match algorithm {
        Algorithm::Sha1 => Sha1::digest(bytes).to_vec(),
        Algorithm::Sha256 => Sha256::digest(bytes).to_vec(),
    }
}

/// Returns where an object's file stands in a git directory.
pub(super) fn path(id: &Id) -> String {
    let digits = id.to_string();
    format!("objects/{}/{}", &digits[..2], &digits[2..])
}

/// Returns bytes as a stream of zlib, without compressing them.
pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(0xffff).peekable();
    if blocks.peek().is_none() {
        stream.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).expect("a block fits");
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    stream.extend_from_slice(&(high << 16 | low).to_be_bytes());
    stream
}
