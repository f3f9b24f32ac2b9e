//! Where the changes of a mount go.

use super::{Decoder, Section};
use crate::landing::{LandsAt, is_author, is_discard};
use crate::{Access, Create, Landing, MountOptions};

/// The keys that need changes to be possible.
const KEYS: &[&str] = &["sync", "sync_ignored", "author"];

impl Decoder<'_> {
    pub(super) fn landing(&mut self, section: &Section<'_>) -> Landing {
        self.only_with_changes(section);
        let ignored = self.flag(section, "sync_ignored").is_some_and(|flag| flag.value);
        Landing { to: self.lands_at(section), ignored, author: self.author(section) }
    }

    /// Reads whether what is changed in a directory of the host is dropped. What becomes of changes
    /// otherwise is said for all mounts together.
    pub(super) fn discards(&mut self, section: &Section<'_>) -> bool {
        self.only_with_changes(section);
        let Some(word) = self.word(section, "sync") else { return false };
        if !is_discard(word.value) {
            self.problem(word.span, "changes of a host path can only be discarded apart").explain(
                &section.key("sync"),
                "write `discard`, or leave it out: `[sync]` is for all mounts".to_owned(),
            );
        }
        true
    }

    /// Reads what a command may make where a path of the host does not exist yet.
    pub(super) fn creates(
        &mut self,
        section: &Section<'_>,
        access: Access,
        options: MountOptions,
    ) -> Option<Create> {
        let known = [Create::File, Create::Directory].map(|it| (it.word(), it));
        let word = self.choice(section, "create", &known)?;
        let (problem, hint) = match access {
            Access::Ro => ("nothing can be made in what is read-only", "add `access = \"rw\"`"),
            _ if options.discard => {
                ("what is dropped is not made on the host", "leave `sync` or `create` out")
            }
            Access::Rw | Access::Cow => return Some(word.value),
        };
        self.problem(word.span, problem).explain(&section.key("create"), hint.to_owned());
        None
    }

    fn only_with_changes(&mut self, section: &Section<'_>) {
        let access = section.table.get("access").and_then(|it| it.get_ref().as_str());
        if access == Some("cow") {
            return;
        }
        let found = KEYS.iter().find_map(|key| Some((key, section.table.get(*key)?)));
        if let Some((key, value)) = found {
            self.problem(value.span(), format!("`{key}` is for changes, and there can be none"))
                .explain(&section.key(key), "add `access = \"cow\"`".to_owned());
        }
    }

    fn lands_at(&mut self, section: &Section<'_>) -> LandsAt {
        let Some(word) = self.word(section, "sync") else { return LandsAt::default() };
        LandsAt::parse(word.value).unwrap_or_else(|| {
            self.problem(word.span, "neither `ref` nor a branch")
                .explain(&section.key("sync"), "write `ref` or `branch:NAME`".to_owned());
            LandsAt::default()
        })
    }

    fn author(&mut self, section: &Section<'_>) -> Option<String> {
        let word = self.word(section, "author")?;
        if !is_author(word.value) {
            self.problem(word.span, "not an author")
                .explain(&section.key("author"), "write `Name <address>`".to_owned());
        }
        Some(word.value.to_owned())
    }
}
