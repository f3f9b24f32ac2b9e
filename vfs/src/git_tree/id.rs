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
        let id = ObjectId::from_hex(text.as_bytes()).map_err(|_| BadId)?;
        Ok(Self::from_object(&id))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.object(), out)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_read_in_any_case_and_written_in_lower_case() {
        for (text, algorithm) in [
            ("0a".repeat(20), Algorithm::Sha1),
            ("F9".repeat(20), Algorithm::Sha1),
            ("9f".repeat(32), Algorithm::Sha256),
        ] {
            let id: Id = text.parse().expect("an id");
            assert_eq!(id.algorithm(), algorithm);
            assert_eq!(id.to_string(), text.to_lowercase());
        }
        for wrong in [
            "",
            "0",
            &"0".repeat(39),
            &"0".repeat(41),
            &"0".repeat(48),
            &"g".repeat(40),
            &"+0".repeat(20),
        ] {
            assert_eq!(wrong.parse::<Id>(), Err(BadId), "{wrong}");
        }
        assert_eq!("é".repeat(20).parse::<Id>(), Err(BadId));
    }
}
