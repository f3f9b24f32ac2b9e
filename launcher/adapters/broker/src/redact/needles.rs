//! What is searched for, with a table that tells where to go on after a byte that does not fit.

use std::collections::BTreeSet;

use zeroize::Zeroizing;

/// Shorter ones stand in every other text by chance.
pub(super) const SHORTEST: usize = 4;

/// What is searched for. It is not shown.
pub(crate) struct Needles(Vec<Needle>);

/// One text, for the search of Knuth, Morris and Pratt: each byte that is searched is looked at
/// once, wherever a chunk ends.
pub(super) struct Needle {
    bytes: Zeroizing<Vec<u8>>,
    /// For each length of a beginning, the longest shorter beginning that is its end, too.
    shorter: Vec<usize>,
}

impl Needles {
    /// Takes those texts that are long enough, each once.
    pub(crate) fn new(texts: &[&str]) -> Self {
        let long = texts.iter().copied().filter(|text| text.len() >= SHORTEST);
        let texts: BTreeSet<&str> = long.collect();
        Self(texts.into_iter().map(|text| Needle::new(text.as_bytes())).collect())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Each of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Needle> {
        self.0.iter()
    }
}

impl Needle {
    fn new(bytes: &[u8]) -> Self {
        let mut needle = Self { bytes: Zeroizing::new(bytes.to_vec()), shorter: vec![0; 2] };
        for length in 2..=bytes.len() {
            let shorter = needle.after(needle.shorter[length - 1], bytes[length - 1]);
            needle.shorter.push(shorter);
        }
        needle
    }

    /// Its length.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How many of its bytes are matched after another byte, when `matched` were, but not all.
    pub(super) fn after(&self, mut matched: usize, byte: u8) -> usize {
        while matched > 0 && self.bytes[matched] != byte {
            matched = self.shorter[matched];
        }
        matched + usize::from(self.bytes[matched] == byte)
    }

    /// How many are matched after a whole match: the next one may overlap.
    pub(super) fn after_all(&self) -> usize {
        self.shorter[self.len()]
    }

    /// Where a match could begin.
    pub(super) fn begins_in(&self, text: &[u8]) -> Option<usize> {
        let first = self.bytes[0];
        text.iter().position(|byte| *byte == first)
    }
}
