//! The table `[bridges]`.

use super::{Decoder, Section};
use crate::{Bridge, BridgesTable};

impl Decoder<'_> {
    pub(super) fn bridges(&mut self, top: &Section<'_>) -> BridgesTable {
        let Some(section) = self.section(top, "bridges", &["open"]) else {
            return BridgesTable::default();
        };
        let open = self.texts(&section, "open");
        for entry in &open {
            let word = entry.value.strip_prefix('!').unwrap_or(&entry.value);
            let Err(fault) = Bridge::parse(word) else { continue };
            let hint = fault.hint(word);
            let problem = self.problem(entry.span.clone(), format!("{fault}: {word}"));
            problem.key = Some(section.key("open"));
            problem.hint = Some(hint);
        }
        BridgesTable { open }
    }
}
