//! What a tree of the cache is known by.

use std::fmt;

/// Between a tree and the one it is a layer over.
const ON: &str = "-on-";
/// The kind of trees of the content-addressed store with stubs in them.
const STUBS: &str = "sha256-stubs";
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

    /// Makes the key of a tree with stubs of what `name` tells: it is never shown as if the files were
    /// whole.
    pub fn of_stubs(name: &str) -> Option<Self> {
        Self::new(STUBS, name)
    }

    /// Returns whether files of the tree may be stubs.
    pub fn has_stubs(&self) -> bool {
        self.0.strip_prefix(STUBS).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Returns the key of the layer that makes this tree of another one of its kind.
    pub fn on(&self, base: &Self) -> Option<Self> {
        let (kind, _) = self.0.rsplit_once('-')?;
        let (base_kind, name) = base.0.rsplit_once('-')?;
        let text = format!("{}{ON}{name}", self.0);
        let is_key = kind == base_kind && self.base().is_none() && base.base().is_none();
        (is_key && text.len() <= LONGEST).then_some(Self(text))
    }

    /// Returns the tree that this one is a layer over, when it is a layer.
    pub fn base(&self) -> Option<Self> {
        let (tree, name) = self.0.split_once(ON)?;
        let (kind, _) = tree.rsplit_once('-')?;
        Some(Self(format!("{kind}-{name}")))
    }

    /// Returns what names the tree among those of its kind.
    pub fn name(&self) -> Option<&str> {
        self.0.rsplit_once('-').map(|(_, name)| name)
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
