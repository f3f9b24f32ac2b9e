//! Keys that are part of the file's language but whose feature this version doesn't have: they
//! are checked like all others and kept by name, so that resolving refuses them.

use super::{Decoder, Section};
use crate::Stated;

impl Decoder<'_> {
    /// Checks the type of a key of a mount, a list, and notes that its feature is missing.
    pub(super) fn later(
        &mut self,
        section: &Section<'_>,
        key: &'static str,
        unavailable: &mut Vec<Stated<String>>,
    ) {
        let Some(found) = section.table.get(key) else { return };
        drop(self.texts(section, key));
        unavailable.push(self.stated(found.span(), section.key(key)));
    }
}
