//! The header that carries a secret.

use std::fmt;

use serde::{Serialize, Serializer};

/// A header with a place for the secret, written `NAME: TEXT {} TEXT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// What stands before the secret.
    pub before: String,
    /// What stands behind it.
    pub behind: String,
}

/// Why a text is no header with a place for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// There is no name and colon.
    #[error("header has no name")]
    NoName,
    /// A character can't be in a header's name.
    #[error("header's name has a character that can't be in one")]
    Name,
    /// The header belongs to the connection, and not to the request.
    #[error("header is the broker's own")]
    Own,
    /// There is no place for the secret, or there are several.
    #[error("header needs `{{}}` once, in the secret's place")]
    Place,
    /// A character can't be in a header.
    #[error("header has a character that can't be in one")]
    Value,
}

/// Headers that say how a message is carried and for whom, or that the broker sets itself.
pub const CARRYING: [&str; 6] = [
    "accept-encoding",
    "content-length",
    "expect",
    "host",
    "sec-websocket-extensions",
    "sec-websocket-key",
];

/// Headers that are about one connection and never go beyond it (RFC 9110, 7.6.1).
const HOP_BY_HOP: [&str; 6] =
    ["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/// Returns whether a header is about one connection. Its name has small letters, and `-` for every mark.
pub fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.contains(&name) || name.starts_with("proxy-")
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, HeaderError> {
        let (name, value) = text.split_once(':').ok_or(HeaderError::NoName)?;
        let name = name.trim();
        match name {
            "" => return Err(HeaderError::NoName),
            name if !name.bytes().all(is_token) => return Err(HeaderError::Name),
            name if is_own(name) => return Err(HeaderError::Own),
            _ => {}
        }
        let value = value.trim();
        if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            return Err(HeaderError::Value);
        }
        match value.split("{}").collect::<Vec<_>>().as_slice() {
            [before, behind] => Ok(Self {
                name: name.to_owned(),
                before: (*before).to_owned(),
                behind: (*behind).to_owned(),
            }),
            _ => Err(HeaderError::Place),
        }
    }

    /// Returns the header's value with the secret in its place.
    pub fn with(&self, secret: &str) -> String {
        [&self.before, secret, &self.behind].concat()
    }
}

/// Servers may read every mark as the same, so `_` is no other name.
fn is_own(name: &str) -> bool {
    let fold = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(fold).collect();
    CARRYING.contains(&name.as_str()) || is_hop_by_hop(&name)
}

/// Returns whether a byte may be in a header's name (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{{}}{}", self.name, self.before, self.behind)
    }
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
