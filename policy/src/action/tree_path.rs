//! Paths in the directory of a build.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A path in the directory of a build: relative, without `.` and `..`, and text, since the messages of
/// the Remote Execution API have nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreePath(Arc<str>);

/// Why a text is no path in the directory of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreePathError {
    /// It names nothing.
    #[error("path is empty")]
    Empty,
    /// It starts at the root.
    #[error("path is not relative")]
    Absolute,
    /// It leads out of the directory.
    #[error("path contains `..`")]
    ParentDir,
    /// It has a NUL, which no path has.
    #[error("path contains a NUL byte")]
    Nul,
}

impl TreePath {
    /// Reads a path; drops `.` and doubled slashes.
    ///
    /// # Errors
    /// A path that is not below the directory, or no path at all.
    pub fn parse(text: &str) -> Result<Self, TreePathError> {
        if text.starts_with('/') {
            return Err(TreePathError::Absolute);
        }
        if text.contains('\0') {
            return Err(TreePathError::Nul);
        }
        let names: Vec<&str> = text.split('/').filter(|it| !matches!(*it, "" | ".")).collect();
        if names.contains(&"..") {
            return Err(TreePathError::ParentDir);
        }
        if names.is_empty() {
            return Err(TreePathError::Empty);
        }
        Ok(Self(names.join("/").into()))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the names that lead to it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns whether it is `ancestor`, or below it.
    pub fn is_within(&self, ancestor: &Self) -> bool {
        is_within(&self.0, &ancestor.0)
    }
}

/// Returns whether a path is another one, or below it: by whole names. Both are as [`TreePath`] has them.
pub(super) fn is_within(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for TreePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{TreePath, TreePathError};

    #[test]
    fn path_is_what_a_directory_can_hold() {
        let check = |text: &str, expected: Result<&str, TreePathError>| {
            let found = TreePath::parse(text);
            assert_eq!(found.as_ref().map(TreePath::as_str).map_err(|it| *it), expected, "{text}");
        };
        check("src/hello.c", Ok("src/hello.c"));
        check("./src//hello.c", Ok("src/hello.c"));
        check("src/..c", Ok("src/..c"));
        check("", Err(TreePathError::Empty));
        check(".", Err(TreePathError::Empty));
        check("/src", Err(TreePathError::Absolute));
        check("src/../..", Err(TreePathError::ParentDir));
        check("a\0b", Err(TreePathError::Nul));
    }

    #[test]
    fn path_is_within_whole_names() {
        let within = |path: &str, ancestor: &str| {
            let [path, ancestor] = [path, ancestor].map(|it| TreePath::parse(it).expect("a path"));
            path.is_within(&ancestor)
        };
        assert!(within("out/a", "out"));
        assert!(within("out", "out"));
        assert!(!within("output", "out"));
        assert!(!within("out", "out/a"));
    }
}
