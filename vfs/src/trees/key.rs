//! What a tree of the cache is known by.

use std::fmt;

/// Longer names get no companions within NAME_MAX.
const LONGEST: usize = 200;

/// The name of a tree: what it is made of, so that two of one name are the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeKey(String);

impl TreeKey {
    /// Makes the key of a kind of source and what names the tree there; other bytes than small
    /// letters, digits and dashes become dashes.
    ///
    /// `None` when it is too long, or nothing.
    pub fn new(kind: &str, name: &str) -> Option<Self> {
        let allowed = |byte: u8| match byte {
            b'a'..=b'z' | b'0'..=b'9' => char::from(byte),
            _ => '-',
        };
        let text: String = format!("{kind}-{name}").bytes().map(allowed).collect();
        let is_key = !kind.is_empty() && !name.is_empty() && text.len() <= LONGEST;
        is_key.then_some(Self(text))
    }

    /// Accepts the name of a directory of the cache.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let (kind, rest) = name.split_once('-')?;
        Self::new(kind, rest).filter(|key| key.0 == name)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TreeKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
