//! Lists of patterns of paths, one by one and in all.

use super::{Decoder, Section};
use crate::pattern::{FEWER, Reach, check};
use crate::{FileKind, PatternTable, Stated};

impl Decoder<'_> {
    /// Decodes a table with a list of patterns.
    pub(super) fn patterns(
        &mut self,
        top: &Section<'_>,
        (key, list): (&'static str, &str),
        reach: Reach,
    ) -> PatternTable {
        let Some(section) = self.section(top, key, &[list, "defaults"]) else {
            return PatternTable::default();
        };
        let patterns = self.globs(&section, list, reach);
        PatternTable { patterns, defaults: self.flag(&section, "defaults") }
    }

    /// Decodes a list of patterns.
    pub(super) fn globs(
        &mut self,
        section: &Section<'_>,
        key: &str,
        reach: Reach,
    ) -> Vec<Stated<String>> {
        let patterns = self.texts(section, key);
        for pattern in &patterns {
            // To look at the others would cost what the bound is for.
            if self.load.is_too_much() {
                break;
            }
            self.glob(&section.key(key), pattern, reach);
        }
        patterns
    }

    fn glob(&mut self, key: &str, pattern: &Stated<String>, reach: Reach) {
        if let Err(fault) = check(&pattern.value) {
            self.problem(pattern.span.clone(), fault.to_string()).key = Some(key.to_owned());
        }
        if self.kind == FileKind::Builtin {
            return;
        }
        if let Err(fault) = self.load.add(&pattern.value, reach) {
            self.problem(pattern.span.clone(), fault.to_string()).explain(key, FEWER.to_owned());
        }
    }
}
