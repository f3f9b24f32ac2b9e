//! The text of a policy file to its image, with every problem at its exact place.

use std::sync::Arc;

use toml::de::DeTable;

use crate::decode::{Decoder, TOP_KEYS};
use crate::nearest::nearest;
use crate::{Diagnostic, FileKind, HostPath, PolicyFile};

/// The text of one policy file.
#[derive(Clone, Debug)]
pub struct PolicyText<'a> {
    /// The file's name as the user would write it; for a built-in profile, the profile's.
    pub name: &'a str,
    /// Where it stands among the layers.
    pub kind: FileKind,
    /// The directory that its relative paths start from.
    pub directory: Option<HostPath>,
    /// The bytes of the file.
    pub text: &'a [u8],
}

/// A policy file that can't be used, with all that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("policy file {file} is invalid")]
pub struct ParseError {
    /// The file's name as the user would write it.
    pub file: String,
    /// The problems, in the order of the text; at least one.
    pub problems: Vec<Diagnostic>,
}

/// Reads a policy file.
///
/// # Errors
/// Every problem found in the text, each with line, column and where possible what to write.
pub fn parse(source: PolicyText<'_>) -> Result<PolicyFile, ParseError> {
    let mut decoder = Decoder::new(source.text, Arc::from(source.name), source.kind);
    let mut file = decode(&mut decoder, source.text);
    if decoder.problems.is_empty() {
        file.directory = source.directory;
        return Ok(file);
    }
    let mut problems = decoder.problems;
    problems.sort_by_key(|problem| problem.span.start);
    Err(ParseError { file: source.name.to_owned(), problems })
}

fn decode(decoder: &mut Decoder<'_>, bytes: &[u8]) -> PolicyFile {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let end = at + error.error_len().unwrap_or(bytes.len() - at);
            decoder.problem(at..end, "not UTF-8 text").hint =
                Some("save the file as UTF-8".to_owned());
            return PolicyFile::default();
        }
    };
    if text.trim().is_empty() {
        decoder.problem(0..0, "the file is empty").hint =
            Some("add `version = 1`, or remove the file".to_owned());
        return PolicyFile::default();
    }
    match DeTable::parse(text) {
        Ok(table) => decoder.file(table.get_ref()),
        Err(error) => {
            syntax(decoder, &error, text);
            PolicyFile::default()
        }
    }
}

fn syntax(decoder: &mut Decoder<'_>, error: &toml::de::Error, text: &str) {
    let span = error.span().unwrap_or(0..0);
    let written = text.get(span.clone()).unwrap_or_default();
    let hint = match error.message() {
        "duplicate key" => Some(format!("`{written}` was set before in this table")),
        message if message.contains("key with no value") => {
            nearest(written, TOP_KEYS.iter().copied())
                .map(|key| format!("a table is written as `[{key}]`"))
        }
        _ => None,
    };
    let first_line = error.message().lines().next().unwrap_or("not TOML").to_owned();
    decoder.problem(span, first_line).hint = hint;
}
