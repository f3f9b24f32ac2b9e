//! Keys that are part of the file's language but whose feature this version doesn't have: they
//! are checked like all others and kept by name, so that resolving refuses them.

use toml::de::DeValue;

use super::{Decoder, Section};
use crate::{PolicyFile, Stated};

/// What the value of a key must be.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Text,
    Texts,
    /// A string or a table.
    Source,
    Word(&'static [&'static str]),
}

/// The keys of one table with their shapes.
type Shapes = &'static [(&'static str, Shape)];

const REMOTE: Shapes = &[
    ("url", Shape::Text),
    ("instance", Shape::Text),
    ("mode", Shape::Word(&["read", "read-write"])),
    ("token", Shape::Source),
    ("ca", Shape::Text),
    ("cert", Shape::Text),
    ("key", Shape::Text),
];

impl Decoder<'_> {
    /// Checks the tables of missing features and notes in `file` that they are there.
    pub(super) fn missing_features(&mut self, top: &Section<'_>, file: &mut PolicyFile) {
        self.missing_table(top, "remote", REMOTE, &mut file.unavailable);
    }

    /// Checks the type of a key of a mount and notes that its feature is missing.
    pub(super) fn later(
        &mut self,
        section: &Section<'_>,
        key: &'static str,
        unavailable: &mut Vec<Stated<String>>,
    ) {
        let Some(found) = section.table.get(key) else { return };
        self.shape(section, key, Shape::Texts);
        unavailable.push(self.stated(found.span(), section.key(key)));
    }

    fn missing_table(
        &mut self,
        top: &Section<'_>,
        key: &'static str,
        shapes: Shapes,
        unavailable: &mut Vec<Stated<String>>,
    ) {
        let known: Vec<&str> = shapes.iter().map(|(key, _)| *key).collect();
        let Some(section) = self.section(top, key, &known) else { return };
        for (name, shape) in shapes {
            self.shape(&section, name, *shape);
        }
        let first = section.table.iter().min_by_key(|(key, _)| key.span().start);
        if let Some((name, _)) = first {
            let name: &str = name.get_ref();
            let Some((at, _)) = section.table.get_key_value(name) else { return };
            unavailable.push(self.stated(at.span(), section.key(name)));
        } else if let Some((at, _)) = top.table.get_key_value(key) {
            unavailable.push(self.stated(at.span(), key.to_owned()));
        }
    }

    fn shape(&mut self, section: &Section<'_>, key: &str, shape: Shape) {
        match shape {
            Shape::Text => drop(self.word(section, key)),
            Shape::Texts => drop(self.texts(section, key)),
            Shape::Source => self.table_or_text(section, key),
            Shape::Word(words) => {
                let words: Vec<(&str, ())> = words.iter().map(|word| (*word, ())).collect();
                drop(self.choice(section, key, &words));
            }
        }
    }

    fn table_or_text(&mut self, section: &Section<'_>, key: &str) {
        let Some(found) = section.table.get(key) else { return };
        if !matches!(found.get_ref(), DeValue::Table(_) | DeValue::String(_)) {
            self.wrong_type(section, key, "a string or a table");
        }
    }
}
