//! The name of a content: its hash and its size.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::hex;

const PREFIX: &str = "sha256:";

/// SHA-256 of a content, and how many bytes it has. Both together are its identity.
///
/// As text it is `sha256:`, 64 lowercase hexadecimal digits, `/` and the size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    /// The SHA-256 of the bytes.
    pub hash: [u8; 32],
    /// How many bytes.
    pub size: u64,
}

/// Why a text is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// It doesn't begin with the name of the hash function.
    #[error("a digest begins with `{PREFIX}`")]
    Function,
    /// The hash is not 64 lowercase hexadecimal digits.
    #[error("a hash has 64 lowercase hexadecimal digits")]
    Hash,
    /// The size is missing or no plain number.
    #[error("a digest ends with `/` and its size in bytes")]
    Size,
}

impl Digest {
    /// The digest of no bytes at all.
    pub const EMPTY: Self = Self {
        hash: [
            0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f,
            0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b,
            0x78, 0x52, 0xb8, 0x55,
        ],
        size: 0,
    };

    /// Returns the digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { hash: Sha256::digest(bytes).into(), size: bytes.len() as u64 }
    }

    /// Puts a digest together from the digits of its hash and its size.
    ///
    /// # Errors
    /// [`DigestError::Hash`].
    pub fn from_hex(digits: &str, size: u64) -> Result<Self, DigestError> {
        let digits = digits.as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        let mut hash = [0; 32];
        if pairs.len() != hash.len() || !rest.is_empty() {
            return Err(DigestError::Hash);
        }
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            *byte = (value(*high)? << 4) | value(*low)?;
        }
        Ok(Self { hash, size })
    }

    /// Returns the 64 digits of the hash.
    pub fn to_hex(&self) -> String {
        hex::digits(&self.hash)
    }
}

fn value(digit: u8) -> Result<u8, DigestError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(DigestError::Hash),
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{PREFIX}{}/{}", self.to_hex(), self.size)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let rest = text.strip_prefix(PREFIX).ok_or(DigestError::Function)?;
        let (digits, length) = rest.split_once('/').ok_or(DigestError::Size)?;
        let size: u64 = length.parse().map_err(|_| DigestError::Size)?;
        // The parser takes signs and zeros in front, by which one digest would have many texts.
        if size.to_string() != length {
            return Err(DigestError::Size);
        }
        Self::from_hex(digits, size)
    }
}

/// Makes the digest of a content that comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct Hasher {
    hash: Sha256,
    size: u64,
}

impl Hasher {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
    }

    /// Returns how many bytes there were until now.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the digest of all bytes.
    pub fn finish(self) -> Digest {
        Digest { hash: self.hash.finalize().into(), size: self.size }
    }
}

#[cfg(test)]
mod tests;
