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

/// Why a text is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputFault {
    /// It is no path of the directory.
    #[error(transparent)]
    Path(#[from] TreePathError),
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
        if !text.contains(is_special) {
            let fixed = TreePath::parse(text)?;
            return Ok(Self { text: fixed.to_string(), fixed: Some(fixed), glob: None });
        }
        let text = TreePath::parse(text)?.to_string();
        let before = text.split(is_special).next().unwrap_or_default();
        let fixed = before.rsplit_once('/').map(|(above, _)| TreePath::parse(above)).transpose()?;
        let glob = glob(&text).map_err(|error| InputFault::Pattern(error.kind().to_string()))?;
        Ok(Self { text, fixed, glob: Some(Box::new(LazyGlob { glob, matcher: OnceLock::new() })) })
    }

    /// Takes a path for what it is, whatever is in it.
    pub fn path(path: TreePath) -> Self {
        Self { text: path.to_string(), fixed: Some(path), glob: None }
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
            (Some(glob), _) => glob.is_match(path),
            (None, Some(fixed)) => is_within(path, fixed.as_str()),
            (None, None) => false,
        }
    }
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
    use super::{InputFault, InputPattern, TreePath, TreePathError};

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
    fn what_is_no_pattern_is_told() {
        let fault = |text: &str| InputPattern::parse(text).expect_err("no pattern");
        assert_eq!(fault("../x/*"), InputFault::Path(TreePathError::ParentDir));
        assert_eq!(fault("/usr/*.h"), InputFault::Path(TreePathError::Absolute));
        assert!(matches!(fault("a/[b"), InputFault::Pattern(_)));
        assert!(matches!(fault("a/{b"), InputFault::Pattern(_)));
    }
}
