//! The repository's text, read once.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::lexer;

/// Directories without text of ours.
const SKIPPED: &[&str] = &[".git", "target", "node_modules"];

/// Endings of the files that rules look at.
const TEXT: &[&str] = &["rs", "md", "toml", "sh", "c", "py", "json", "yml"];

/// All files, by path relative to the root, sorted.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Files whose text rules read.
    pub(super) files: Vec<File>,
    /// Every path, directories included, for links.
    pub(super) paths: Vec<String>,
}

/// One text file.
#[derive(Debug)]
pub(super) struct File {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    /// As it stands.
    pub(super) text: String,
    /// For Rust: the text with comments and literals blanked, line by line the same.
    pub(super) code: String,
}

/// Something that a rule does not accept.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Complaint {
    path: String,
    line: usize,
    message: String,
}

impl Tree {
    /// Reads the repository.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.walk(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A tree of samples.
    #[cfg(test)]
    pub(super) fn of(samples: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in samples {
            let parents = Path::new(path).ancestors().map(|parent| parent.to_string_lossy());
            tree.paths.extend(parents.map(std::borrow::Cow::into_owned));
            tree.files.push(File::new((*path).to_owned(), (*text).to_owned()));
        }
        tree
    }

    fn walk(&mut self, root: &Path, below: &str) -> Result<()> {
        let dir = root.join(below);
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.walk(root, &path)?;
            } else if kind.is_file() && is_text(&path) {
                // A fixture may be wrong on purpose; compilers object to wrong sources.
                let bytes = fs::read(entry.path()).with_context(|| path.clone())?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                self.files.push(File::new(path.clone(), text));
            }
            self.paths.push(path);
        }
        Ok(())
    }

    /// The Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| ending(&file.path) == "rs")
    }

    /// The Markdown files.
    pub(super) fn markdown(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| ending(&file.path) == "md")
    }

    /// One file.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn is_text(path: &str) -> bool {
    path == ".ci/run" || TEXT.contains(&ending(path))
}

fn ending(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}

impl File {
    fn new(path: String, text: String) -> Self {
        let code = if ending(&path) == "rs" { lexer::blank(&text) } else { String::new() };
        Self { path, text, code }
    }

    /// The code before the file's unit tests, which may do what the module may not.
    pub(super) fn product_code(&self) -> &str {
        if self.path.starts_with("tests/") {
            return "";
        }
        &self.code[..self.tests_start().unwrap_or(self.code.len())]
    }

    /// The text before the file's unit tests.
    pub(super) fn product_text(&self) -> &str {
        if self.path.starts_with("tests/") {
            return "";
        }
        &self.text[..self.tests_start().unwrap_or(self.text.len())]
    }

    /// Where `#[cfg(test)] mod ... {` stands: blanking keeps every byte in its place.
    fn tests_start(&self) -> Option<usize> {
        let mut attributes = self.code.match_indices("#[cfg(test)]");
        let opens_module = |(at, _): &(usize, &str)| {
            let rest = &self.code[*at..];
            let head = &rest[..rest.find(['{', ';']).unwrap_or(rest.len())];
            rest[head.len()..].starts_with('{') && head.contains("\nmod ")
        };
        attributes.find(opens_module).map(|(at, _)| at)
    }

    /// A complaint about a place in this file, given as a byte offset.
    pub(super) fn complain(&self, offset: usize, message: impl Into<String>) -> Complaint {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Complaint { path: self.path.clone(), line, message: message.into() }
    }
}

impl Complaint {
    /// A complaint about something that is not there.
    pub(super) fn missing(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: 1, message: message.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_name_file_and_line() {
        let tree = Tree::of(&[("a/b.rs", "one\ntwo\nthree\n")]);
        let file = tree.file("a/b.rs").expect("the sample");
        assert_eq!(file.complain(4, "bad").to_string(), "a/b.rs:2: bad");
        assert!(tree.paths.contains(&"a".to_owned()));
    }

    #[test]
    fn product_code_ends_where_unit_tests_begin() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\n";
        let tree = Tree::of(&[("x/a.rs", text), ("tests/it/a.rs", text)]);
        assert_eq!(tree.files[0].product_code(), "fn a() {}\n");
        assert_eq!(tree.files[1].product_code(), "");
    }
}
