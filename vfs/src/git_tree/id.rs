//! The name of an object.

use std::fmt;
use std::str::FromStr;

use gix_hash::{Kind, ObjectId};

/// How a repository names its objects.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// SHA-1: 20 bytes.
    #[default]
    Sha1,
    /// SHA-256: 32 bytes.
    Sha256,
}

impl Algorithm {
    /// Returns how many bytes a name has.
    pub fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Sha1 => Kind::Sha1,
            Self::Sha256 => Kind::Sha256,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        })
    }
}

/// The name of an object: the digest of its kind, size and bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    algorithm: Algorithm,
    /// Zero beyond the length of the algorithm.
    bytes: [u8; 32],
}

/// A text is not the name of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an object name: 40 or 64 hexadecimal digits are needed")]
pub struct BadId;

impl Id {
    /// Returns whether this is the tree without entries, which git knows without a repository.
    pub(crate) fn is_of_empty_tree(&self) -> bool {
        self.object() == ObjectId::empty_tree(self.algorithm.kind())
    }

    /// Returns the algorithm that made the name.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.algorithm.length()).unwrap_or_default()
    }

    pub(crate) fn from_bytes(name: &[u8]) -> Option<Self> {
        let algorithm = match name.len() {
            20 => Algorithm::Sha1,
            32 => Algorithm::Sha256,
            _ => return None,
        };
        let mut bytes = [0; 32];
        bytes.get_mut(..name.len())?.copy_from_slice(name);
        Some(Self { algorithm, bytes })
    }

    pub(super) fn from_object(id: &ObjectId) -> Self {
        Self::from_bytes(id.as_slice()).expect("both algorithms are known here")
    }

    /// Reads the digits of a line in a file of git.
    pub(crate) fn from_digits(digits: &[u8]) -> Option<Self> {
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    pub(super) fn object(&self) -> ObjectId {
        ObjectId::try_from(self.as_bytes()).expect("both algorithms are known there")
    }
}

impl FromStr for Id {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let byte = |pair: &[u8]| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        bytes.and_then(|bytes| Self::from_bytes(&bytes)).ok_or(BadId)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 64];
        let pairs = digits.as_chunks_mut::<2>().0.iter_mut();
        for (pair, byte) in pairs.zip(self.as_bytes()) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        let digits = digits.get(..2 * self.algorithm.length()).unwrap_or_default();
        out.write_str(std::str::from_utf8(digits).unwrap_or_default())
    }
}

/// Trees have many names, and all are written: faster than a `write!` for each byte.
fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

impl fmt::Debug for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}
