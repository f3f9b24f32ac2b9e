//! The table `[ssh_agent]`.

use super::{Decoder, Section};
use crate::{SshAgentTable, Stated};

impl Decoder<'_> {
    pub(super) fn ssh_agent(&mut self, top: &Section<'_>) -> SshAgentTable {
        let Some(section) = self.section(top, "ssh_agent", &["keys", "confirm", "agent"]) else {
            return SshAgentTable::default();
        };
        SshAgentTable {
            keys: self.texts(&section, "keys"),
            confirm: self.program(&section, "confirm"),
            agent: self.word(&section, "agent").map(|path| path.with(path.value.into())),
        }
    }

    /// Reads a program with its arguments; an empty list is none.
    fn program(&mut self, section: &Section<'_>, key: &str) -> Option<Stated<Vec<String>>> {
        let found = section.table.get(key)?;
        let words = self.texts(section, key);
        for word in words.iter().filter(|word| word.value.contains('\0')) {
            self.problem(word.span.clone(), "value contains a NUL byte").key =
                Some(section.key(key));
        }
        let words = words.into_iter().map(|word| word.value).collect();
        Some(self.stated(found.span(), words))
    }
}
