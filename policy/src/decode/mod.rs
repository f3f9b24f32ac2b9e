//! TOML values to a [`PolicyFile`](crate::PolicyFile), collecting every problem on the way.

mod actions;
mod bridges;
mod build;
mod landing;
mod mounts;
mod network;
mod patterns;
mod project;
mod remote;
mod secrets;
mod sparse;
mod ssh_agent;
mod tables;
mod unavailable;

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::LineIndex;
use crate::nearest::did_you_mean;
use crate::pattern::Load;
use crate::unit::UnitError;
use crate::{Diagnostic, FileKind, Origin, Stated};

pub(crate) use mounts::{DEFAULT_MEMORY_MODE, DEFAULT_MEMORY_SIZE, is_digest, parse_mode};
pub(crate) use tables::{LEVELS, TOP_KEYS, is_hostname};

/// What decoding needs to know of the text, and the problems found so far.
#[derive(Debug)]
pub(crate) struct Decoder<'t> {
    pub(crate) text: &'t [u8],
    pub(crate) file: Arc<str>,
    pub(crate) kind: FileKind,
    pub(crate) lines: LineIndex,
    pub(crate) problems: Vec<Diagnostic>,
    /// What the patterns of the file stand for so far.
    load: Load,
}

/// A table with what leads to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'d> {
    table: &'d DeTable<'d>,
    above: Above<'d>,
}

/// What leads to a table.
#[derive(Clone, Copy, Debug)]
enum Above<'d> {
    Nothing,
    Key(&'d str),
    /// The path of an entry of `[mounts]`.
    Mount(&'d str),
}

impl Above<'_> {
    /// Returns the name of the table, when it has one.
    fn key(self) -> Option<String> {
        match self {
            Above::Nothing => None,
            Above::Key(key) => Some(key.to_owned()),
            Above::Mount(path) => Some(format!("mounts.\"{path}\"")),
        }
    }
}

impl Section<'_> {
    /// Returns the full name of one of its keys.
    fn key(&self, key: &str) -> String {
        match self.above {
            Above::Nothing => key.to_owned(),
            Above::Key(above) => format!("{above}.{key}"),
            Above::Mount(path) => format!("mounts.\"{path}\".{key}"),
        }
    }
}

impl<'t> Decoder<'t> {
    pub(crate) fn new(text: &'t [u8], file: Arc<str>, kind: FileKind) -> Self {
        let (lines, problems) = (LineIndex::new(text), Vec::new());
        Self { text, file, kind, lines, problems, load: Load::default() }
    }

    /// Notes what is wrong with the bytes of `span`.
    pub(crate) fn problem(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let at = span.start.min(self.text.len());
        self.problems.push(Diagnostic {
            file: self.file.to_string(),
            line: self.lines.line(at),
            column: self.lines.column(self.text, at),
            span,
            message: message.into(),
            hint: None,
            key: None,
        });
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    /// Returns the origin of the entry at a byte.
    fn origin(&self, at: usize) -> Origin {
        if self.kind == FileKind::Builtin {
            return Origin::Profile { name: Arc::clone(&self.file) };
        }
        Origin::File { name: Arc::clone(&self.file), line: self.lines.line(at) }
    }

    fn stated<T>(&self, span: Range<usize>, value: T) -> Stated<T> {
        Stated { value, origin: self.origin(span.start), span }
    }

    /// Notes each key of the section that is not among `known`.
    fn only_known(&mut self, section: &Section<'_>, known: &[&str]) {
        for key in section.table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let full = section.key(name);
                self.problem(key.span(), format!("unknown key `{name}`"))
                    .explain(&full, did_you_mean(name, known));
            }
        }
    }

    fn wrong_type(&mut self, section: &Section<'_>, key: &str, expected: &str) {
        let Some(found) = section.table.get(key) else { return };
        let message = format!("expected {expected}, found {}", type_word(found.get_ref()));
        self.problem(found.span(), message).key = Some(section.key(key));
    }

    fn text<'d>(&mut self, section: &Section<'d>, key: &str) -> Option<Stated<&'d str>> {
        let found = section.table.get(key)?;
        let Some(text) = found.get_ref().as_str() else {
            self.wrong_type(section, key, "a string");
            return None;
        };
        Some(self.stated(found.span(), text))
    }

    /// Like `text`, for words that must not be empty.
    fn word<'d>(&mut self, section: &Section<'d>, key: &str) -> Option<Stated<&'d str>> {
        let text = self.text(section, key)?;
        if text.value.is_empty() {
            self.problem(text.span, "empty string").key = Some(section.key(key));
            return None;
        }
        Some(text)
    }

    fn flag(&mut self, section: &Section<'_>, key: &str) -> Option<Stated<bool>> {
        let found = section.table.get(key)?;
        let Some(flag) = found.get_ref().as_bool() else {
            self.wrong_type(section, key, "true or false");
            return None;
        };
        Some(self.stated(found.span(), flag))
    }

    fn count(&mut self, section: &Section<'_>, key: &str) -> Option<Stated<u64>> {
        let found = section.table.get(key)?;
        let number = found.get_ref().as_integer();
        let count = number.and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        if count.is_none() {
            self.wrong_type(section, key, "a whole number from 0");
        }
        count.map(|count| self.stated(found.span(), count))
    }

    /// Reads a size or a duration: a string with a unit, or a plain number.
    fn unit<T>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        read: fn(&str) -> Result<T, UnitError>,
    ) -> Option<Stated<T>> {
        let found = section.table.get(key)?;
        let text = match found.get_ref() {
            DeValue::String(text) => text.as_ref(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => {
                self.wrong_type(section, key, "a number or a string with a unit");
                return None;
            }
        };
        match read(text) {
            Ok(value) => Some(self.stated(found.span(), value)),
            Err(error) => {
                let hint = "write a number and a unit, such as \"256M\" or \"10m\"";
                self.problem(found.span(), error.to_string())
                    .explain(&section.key(key), hint.to_owned());
                None
            }
        }
    }

    /// Reads one of the words of a table.
    fn choice<T: Copy>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        words: &[(&str, T)],
    ) -> Option<Stated<T>> {
        let text = self.text(section, key)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text.value) {
            return Some(text.with(*value));
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.problem(text.span, format!("unknown word `{}`", text.value))
            .explain(&section.key(key), did_you_mean(text.value, &known));
        None
    }

    /// Reads a list of strings, none of them empty.
    fn texts(&mut self, section: &Section<'_>, key: &str) -> Vec<Stated<String>> {
        let Some(found) = section.table.get(key) else { return Vec::new() };
        let Some(items) = found.get_ref().as_array() else {
            self.wrong_type(section, key, "a list of strings");
            let problem = self.problems.last_mut().filter(|_| found.get_ref().is_str());
            if let Some(problem) = problem {
                problem.hint = Some(format!("put it in brackets: `{key} = [\"...\"]`"));
            }
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item.get_ref().as_str() {
                Some("" | "!") => {
                    self.problem(item.span(), "empty string").key = Some(section.key(key));
                }
                Some(text) => texts.push(self.stated(item.span(), text.to_owned())),
                None => {
                    let found = type_word(item.get_ref());
                    self.problem(item.span(), format!("expected a string, found {found}")).key =
                        Some(section.key(key));
                }
            }
        }
        texts
    }

    /// Returns the table below a key, its own keys checked.
    fn section<'d>(
        &mut self,
        parent: &Section<'d>,
        key: &'static str,
        known: &[&str],
    ) -> Option<Section<'d>> {
        let found = parent.table.get(key)?;
        let Some(table) = found.get_ref().as_table() else {
            self.wrong_type(parent, key, "a table");
            return None;
        };
        let section = Section { table, above: Above::Key(key) };
        self.only_known(&section, known);
        Some(section)
    }

    /// Returns the tables of a list of tables.
    fn sections<'d>(
        &mut self,
        parent: &Section<'d>,
        key: &'static str,
    ) -> Vec<(Range<usize>, Section<'d>)> {
        let Some(found) = parent.table.get(key) else { return Vec::new() };
        let items = found.get_ref().as_array();
        let tables: Option<Vec<_>> = items.and_then(|items| {
            items.iter().map(|item| Some((item.span(), item.get_ref().as_table()?))).collect()
        });
        let Some(tables) = tables else {
            self.wrong_type(parent, key, &format!("tables, written as `[[{key}]]`"));
            return Vec::new();
        };
        tables
            .into_iter()
            .map(|(span, table)| (span, Section { table, above: Above::Key(key) }))
            .collect()
    }
}

impl Diagnostic {
    fn explain(&mut self, key: &str, hint: String) {
        self.key = Some(key.to_owned());
        self.hint = Some(hint);
    }
}

/// A key's place and its value.
type Entry<'d> = (&'d Spanned<toml::de::DeString<'d>>, &'d Spanned<DeValue<'d>>);

fn type_word(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(number) if number.as_str().starts_with('-') => "a negative number",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
