//! Which files an action sees.

use std::fmt;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};
use serde::{Serialize, Serializer};

use super::tree_path::is_within;
use super::{TreePath, TreePathError};

/// A path, or a pattern of paths: `*`, `?`, `[..]` and `{a,b}` match within one name, `**` any number of
/// names. A path of a directory stands for all that is below it. Letters match in their case alone.
#[derive(Clone, Debug)]
pub struct InputPattern {
    text: String,
    fixed: Option<TreePath>,
    glob: Option<Box<LazyGlob>>,
    /// Whether it is `**` behind what is fixed: all files there match, which asks no pattern.
    is_all: bool,
}

/// A pattern, which costs a hundred times more to compile than to read: many actions have the same, of which
/// one is asked.
#[derive(Clone, Debug)]
struct LazyGlob {
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl LazyGlob {
    fn is_match(&self, path: &str) -> bool {
        self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(path)
    }
}

/// Why a text is no pattern of inputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputFault {
    /// It is no path of the build's directory.
    #[error(transparent)]
    Path(#[from] TreePathError),
    /// It is the build's directory itself.
    #[error("the directory of the build is no input; `**` is all that is in it")]
    Whole,
    /// It is no pattern.
    #[error("no pattern: {0}")]
    Pattern(String),
}

impl InputPattern {
    /// Reads a path or a pattern.
    ///
    /// # Errors
    /// What leads out of the directory, or is no pattern.
    pub fn parse(text: &str) -> Result<Self, InputFault> {
        if !text.is_empty() && TreePath::parse(text) == Err(TreePathError::Empty) {
            return Err(InputFault::Whole);
        }
        if !text.contains(is_special) {
            let fixed = TreePath::parse(text)?;
            return Ok(Self::path(fixed));
        }
        let text = TreePath::parse(text)?.to_string();
        let before = text.split(is_special).next().unwrap_or_default();
        let fixed = before.rsplit_once('/').map(|(above, _)| TreePath::parse(above)).transpose()?;
        let glob = glob(&text).map_err(|error| InputFault::Pattern(error.kind().to_string()))?;
        let is_all = match &fixed {
            Some(fixed) => text.strip_prefix(fixed.as_str()) == Some("/**"),
            None => text == "**",
        };
        let glob = Some(Box::new(LazyGlob { glob, matcher: OnceLock::new() }));
        Ok(Self { text, fixed, glob, is_all })
    }

    /// Takes a path for what it is, whatever is in it.
    pub fn path(path: TreePath) -> Self {
        Self { text: path.to_string(), fixed: Some(path), glob: None, is_all: false }
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the directory or file below which all lies that it can match; `None` is the whole directory.
    pub fn fixed(&self) -> Option<&TreePath> {
        self.fixed.as_ref()
    }

    /// Returns whether it names one path.
    pub fn is_path(&self) -> bool {
        self.glob.is_none()
    }

    /// Returns whether a file is seen.
    pub fn matches(&self, path: &str) -> bool {
        match (&self.glob, &self.fixed) {
            (Some(_), None) if self.is_all => true,
            (Some(_), Some(fixed)) if self.is_all => is_below(path, fixed.as_str()),
            (Some(glob), _) => glob.is_match(path),
            (None, Some(fixed)) => is_within(path, fixed.as_str()),
            (None, None) => false,
        }
    }

    /// Returns whether files of a directory, or below it, may be seen; that of the project is `""`.
    pub fn enters(&self, directory: &str) -> bool {
        if !self.reaches_below(directory) {
            return false;
        }
        let Some(fixed) = self.fixed.as_ref().map(TreePath::as_str) else { return true };
        directory.is_empty() || is_within(directory, fixed) || is_below(fixed, directory)
    }

    /// What has no `**` matches no more names than it has itself.
    fn reaches_below(&self, directory: &str) -> bool {
        let slashes = |text: &str| text.matches('/').count();
        let is_deep = self.is_path() || directory.is_empty() || self.text.contains("**");
        is_deep || slashes(&self.text) > slashes(directory)
    }

    /// Returns whether all files of a directory, and below it, are seen.
    pub fn has_all(&self, directory: &str) -> bool {
        match &self.fixed {
            Some(fixed) => (self.is_path() || self.is_all) && is_within(directory, fixed.as_str()),
            None => self.is_all,
        }
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    path != directory && is_within(path, directory)
}

fn is_special(letter: char) -> bool {
    matches!(letter, '*' | '?' | '[' | '{' | '\\')
}

fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build()
}

impl PartialEq for InputPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for InputPattern {}

impl fmt::Display for InputPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for InputPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::{InputFault, InputPattern, TreePath, TreePathError, is_within};

    #[track_caller]
    fn check(pattern: &str, fixed: Option<&str>, takes: &[&str], leaves: &[&str]) {
        let pattern = InputPattern::parse(pattern).expect("a pattern");
        assert_eq!(pattern.fixed().map(TreePath::as_str), fixed);
        for path in takes {
            assert!(pattern.matches(path), "{path}");
        }
        for path in leaves {
            assert!(!pattern.matches(path), "{path}");
        }
    }

    #[test]
    fn pattern_takes_what_it_says() {
        check("src/a.c", Some("src/a.c"), &["src/a.c"], &["src/a.cc", "a.c"]);
        check("src/", Some("src"), &["src/a.c", "src/b/c.h"], &["srcs/a.c"]);
        check("src/*.c", Some("src"), &["src/a.c", "src/.c"], &["src/b/a.c", "src/a.h", "src/A.C"]);
        check("include/**/*.h", Some("include"), &["include/a.h", "include/b/c.h"], &["a.h"]);
        check("**", None, &["a", "a/b/c"], &[]);
        check("*.{c,h}", None, &["a.c", "b.h"], &["a/b.c", "a.s"]);
        check("a/b[0-9]/x?", Some("a"), &["a/b1/xy"], &["a/bc/xy", "a/b1/x/"]);
        check(r"a/\*", Some("a"), &["a/*"], &["a/b"]);
    }

    #[test]
    fn directory_is_entered_where_something_in_it_can_match() {
        let enters = |text: &str, directory: &str| {
            InputPattern::parse(text).expect("a pattern").enters(directory)
        };
        assert!(enters("*.c", "") && !enters("*.c", "src"));
        assert!(enters("src/*", "src") && !enters("src/*", "src/b"));
        assert!(enters("{a/b,c}", "a") && enters("**/*.h", "a/b") && enters("a", "a/b"));
    }

    /// What is known of a directory is what is known of each path in it.
    #[test]
    fn directories_are_judged_as_what_is_in_them() {
        let paths = ["a", "src", "src/a.c", "src/b", "src/b/c.h", "src/b/c/d", "srcs/a", "**/x"];
        let directories = ["", "a", "src", "src/b", "src/b/c", "srcs", "x"];
        let is_in = |path: &str, of: &str| of.is_empty() || super::is_below(path, of);
        for text in ["**", "src", "src/**", "src/b/**", "src/*", "src/**/*.h", "*/b/**", "src/b/c"]
        {
            let pattern = InputPattern::parse(text).expect("a pattern");
            let glob = pattern.glob.as_ref().map(|it| it.glob.compile_matcher());
            for path in paths {
                let expected = glob.as_ref().map_or(is_within(path, text), |it| it.is_match(path));
                assert_eq!(pattern.matches(path), expected, "{text} {path}");
                let above = || directories.into_iter().filter(|of| is_in(path, of));
                assert!(expected || !above().any(|of| pattern.has_all(of)), "{text} {path}");
                assert!(!expected || above().all(|of| pattern.enters(of)), "{text} {path}");
            }
        }
        let has_all = |text: &str, of: &str| InputPattern::parse(text).expect("one").has_all(of);
        assert!(has_all("**", "") && has_all("src/**", "src/b") && has_all("src", "src"));
        assert!(!has_all("src/**", "") && !has_all("src/*", "src") && !has_all("src/**", "srcs"));
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        let fault = |text: &str| InputPattern::parse(text).expect_err("no pattern");
        assert_eq!(fault("../x/*"), InputFault::Path(TreePathError::ParentDir));
        assert_eq!(fault("/usr/*.h"), InputFault::Path(TreePathError::Absolute));
        assert!(matches!(fault("a/[b"), InputFault::Pattern(_)));
        assert!(matches!(fault("a/{b"), InputFault::Pattern(_)));
    }
}
