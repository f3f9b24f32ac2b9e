//! One thing that is wrong with a policy file, with its exact place.

use std::fmt;
use std::ops::Range;

/// What is wrong, where, and what to write instead. Rendering is the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file's name as the user would write it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// The key it is about, such as `workspace.access`.
    pub key: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// The lines of a text, for places in it.
#[derive(Debug)]
pub(crate) struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    pub(crate) fn new(text: &[u8]) -> Self {
        let newlines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
        Self { starts }
    }

    /// Returns the line of a byte, counted from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    /// Returns the column of a byte in characters, counted from 1.
    pub(crate) fn column(&self, text: &[u8], at: usize) -> usize {
        let start = self.starts.get(self.line(at) - 1).copied().unwrap_or(0);
        let before = text.get(start..at).unwrap_or_default();
        String::from_utf8_lossy(before).chars().count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, at: usize, line: usize, column: usize) {
        let index = LineIndex::new(text.as_bytes());
        assert_eq!((index.line(at), index.column(text.as_bytes(), at)), (line, column));
    }

    #[test]
    fn places() {
        check("", 0, 1, 1);
        check("ab\ncd\n", 0, 1, 1);
        check("ab\ncd\n", 2, 1, 3);
        check("ab\ncd\n", 3, 2, 1);
        check("ab\ncd\n", 6, 3, 1);
        check("é = 1", 3, 1, 3);
        check("ab", 99, 1, 1);
    }
}
