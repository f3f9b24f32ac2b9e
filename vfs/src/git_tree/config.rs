//! The format of a repository, from its configuration. Nothing else of it is used: what it includes
//! is not read (neither does git when it looks for the format), and no program it names is run.

use std::path::{Path, PathBuf};

use super::files::Dir;
use super::{Algorithm, GitError};

const CONFIG: &str = "config";
/// The largest configuration that is read.
const SIZE: u64 = 16 << 20;
/// Extensions that change nothing about how objects and references are read.
const HARMLESS: &[&str] =
    &["noop", "noop-v1", "preciousobjects", "relativeworktrees", "worktreeconfig"];

/// How a repository stores what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) algorithm: Algorithm,
    /// Whether objects may be missing, to be fetched when they are wanted.
    pub(super) is_partial: bool,
    /// Whether references stand in a reftable, which is not read here.
    pub(super) has_reftable: bool,
}

/// Returns the file that says it.
pub(super) fn path(common: &Dir) -> PathBuf {
    common.path().join(CONFIG)
}

/// Reads the format; a repository without a configuration has the oldest.
pub(super) fn format(common: &Dir) -> Result<Format, GitError> {
    let path = path(common);
    let text = common.read(Path::new(CONFIG), SIZE)?.unwrap_or_default();
    let settings = parse(&text).ok_or_else(|| GitError::Damaged { path: path.clone() })?;
    let algorithm = Algorithm::Sha1;
    let mut format = Format { algorithm, is_partial: false, has_reftable: false };
    let is_new = check_version(&settings, &path)?;
    for Setting { section, subsection, key, value } in &settings {
        match (section.as_str(), subsection, key.as_str()) {
            ("extensions", None, "partialclone") => format.is_partial = true,
            ("remote", Some(_), "promisor") => format.is_partial |= is_true(value.as_deref()),
            ("extensions", None, "objectformat") => {
                format.algorithm = objects(value.as_deref(), &path)?;
            }
            ("extensions", None, "refstorage") => {
                format.has_reftable = is_reftable(value.as_deref(), &path)?;
            }
            ("extensions", None, name) if is_new && !HARMLESS.contains(&name) => {
                return Err(GitError::Extension { path, name: name.to_owned() });
            }
            _ => {}
        }
    }
    Ok(format)
}

/// Returns whether unknown extensions count (gitrepository-layout(5): from version 1 on).
fn check_version(settings: &[Setting], path: &Path) -> Result<bool, GitError> {
    let is_version = |it: &&Setting| {
        it.section == "core" && it.subsection.is_none() && it.key == "repositoryformatversion"
    };
    let version = settings.iter().rfind(is_version).and_then(|it| it.value.as_deref());
    match version {
        None | Some(b"0") => Ok(false),
        Some(b"1") => Ok(true),
        Some(_) => Err(GitError::Version { path: path.to_owned() }),
    }
}

fn objects(value: Option<&[u8]>, path: &Path) -> Result<Algorithm, GitError> {
    match value {
        Some(b"sha1") => Ok(Algorithm::Sha1),
        Some(b"sha256") => Ok(Algorithm::Sha256),
        _ => Err(GitError::ObjectFormat { path: path.to_owned() }),
    }
}

fn is_reftable(value: Option<&[u8]>, path: &Path) -> Result<bool, GitError> {
    match value {
        Some(b"files") => Ok(false),
        Some(b"reftable") => Ok(true),
        _ => Err(GitError::Extension { path: path.to_owned(), name: "refstorage".to_owned() }),
    }
}

/// A key without a value is true.
fn is_true(value: Option<&[u8]>) -> bool {
    value.is_none_or(|value| {
        let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
        !["false", "no", "off", "0", ""].into_iter().any(is)
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    section: String,
    subsection: Option<Vec<u8>>,
    key: String,
    value: Option<Vec<u8>>,
}

/// Reads the settings, as in git-config(1); `None` when the text has another form.
fn parse(text: &[u8]) -> Option<Vec<Setting>> {
    let mut rest = Text(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
    let (mut settings, mut place) = (Vec::new(), (String::new(), None));
    loop {
        rest.skip(|byte| byte.is_ascii_whitespace());
        match rest.peek() {
            None => return Some(settings),
            Some(b'#' | b';') => rest.skip(|byte| byte != b'\n'),
            Some(b'[') => place = rest.header()?,
            Some(_) => {
                let (section, subsection) = place.clone();
                let (key, value) = rest.setting()?;
                settings.push(Setting { section, subsection, key, value });
            }
        }
    }
}

struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn skip(&mut self, is: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is) {
            self.next();
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        let is = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        while let Some(byte) = self.peek().filter(is) {
            word.push(char::from(byte.to_ascii_lowercase()));
            self.next();
        }
        word
    }

    /// Reads `[section]` or `[section "subsection"]`.
    fn header(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        self.next();
        let section = self.word();
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
        let subsection = match self.next()? {
            b']' => return Some((section, None)),
            b'"' => self.quoted()?,
            _ => return None,
        };
        (self.next()? == b']').then_some((section, Some(subsection)))
    }

    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Some(name),
                b'\n' => return None,
                b'\\' => name.push(self.next()?),
                byte => name.push(byte),
            }
        }
    }

    fn setting(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        let key = self.word();
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        match self.peek() {
            _ if key.is_empty() => None,
            None | Some(b'\n' | b'#' | b';') => Some((key, None)),
            Some(b'=') => {
                self.next();
                self.skip(|byte| matches!(byte, b' ' | b'\t'));
                Some((key, Some(self.value()?)))
            }
            Some(_) => None,
        }
    }

    /// Reads to the end of the line. White space at the end counts only inside quotes.
    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut is_quoted, mut kept) = (Vec::new(), false, 0);
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => break,
                b'#' | b';' if !is_quoted => {
                    self.skip(|byte| byte != b'\n');
                    break;
                }
                b'"' => is_quoted = !is_quoted,
                b'\\' => self.escaped(&mut value)?,
                byte => value.push(byte),
            }
            if is_quoted || !byte.is_ascii_whitespace() {
                kept = value.len();
            }
        }
        value.truncate(kept);
        (!is_quoted).then_some(value)
    }

    /// Reads what follows a backslash; at the end of a line it is nothing.
    fn escaped(&mut self, value: &mut Vec<u8>) -> Option<()> {
        let byte = match self.next()? {
            b'\n' => return Some(()),
            b'n' => b'\n',
            b't' => b'\t',
            b'b' => 8,
            byte @ (b'"' | b'\\') => byte,
            _ => return None,
        };
        value.push(byte);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Option<Vec<String>> {
        let line = |it: Setting| {
            let subsection = it.subsection.map(|name| String::from_utf8_lossy(&name).into_owned());
            let value = it.value.map(|value| String::from_utf8_lossy(&value).into_owned());
            format!("{}.{subsection:?}.{}={value:?}", it.section, it.key)
        };
        parse(text.as_bytes()).map(|settings| settings.into_iter().map(line).collect())
    }

    #[test]
    fn settings_are_read_as_git_does() {
        let text = "; c\n[Core] bare = true # c\n\tX=\"a;b \" c \\\n d\n[remote \"a\\\"]b\"]\n p\n";
        let expected = [
            r#"core.None.bare=Some("true")"#,
            r#"core.None.x=Some("a;b  c  d")"#,
            r#"remote.Some("a\"]b").p=None"#,
        ];
        assert_eq!(values(text).expect("a configuration"), expected);
        assert_eq!(values(""), Some(Vec::new()));
        for bad in ["[core", "[a] = x", "[a]\nx = \"y\n", "[a]\nx y", "[a]\nx=\\q", "[a \"b\"c]"] {
            assert_eq!(values(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn truth_has_several_words() {
        for (value, expected) in [("true", true), ("1", true), ("No", false), ("", false)] {
            assert_eq!(is_true(Some(value.as_bytes())), expected, "{value}");
        }
        assert!(is_true(None));
    }
}
