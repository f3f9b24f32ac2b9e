//! Hidden names, asked about each of the names that an index has.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Paths, none of which is below another: nobody looks below a hidden one.
pub(super) struct Tops {
    /// Each with a slash at its end, sorted: what is below one follows it at once.
    paths: Vec<Vec<u8>>,
}

impl Tops {
    pub(super) fn of(paths: impl Iterator<Item = PathBuf>) -> Self {
        let with_slash = |path: PathBuf| {
            let mut path = path.into_os_string().into_vec();
            path.push(b'/');
            path
        };
        let mut paths: Vec<_> = paths.map(with_slash).collect();
        paths.sort_unstable();
        Self { paths }
    }

    /// Returns whether a path is one of them, or below one.
    pub(super) fn has_at_or_above(&self, path: &[u8]) -> bool {
        let following = self.paths.partition_point(|top| !follows(top, path));
        let last = following.checked_sub(1).and_then(|last| self.paths.get(last));
        let is_below = |top: &Vec<u8>| {
            path.starts_with(top) || top.strip_suffix(b"/").is_some_and(|top| top == path)
        };
        last.is_some_and(is_below)
    }
}

/// Returns whether a path that ends in a slash is sorted behind another with a slash added.
fn follows(top: &[u8], path: &[u8]) -> bool {
    let common = top.len().min(path.len());
    match top.get(..common).cmp(&path.get(..common)) {
        std::cmp::Ordering::Equal => top.get(common..).is_some_and(|rest| rest > &b"/"[..]),
        order => order.is_gt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tops_are_found_at_and_above() {
        let tops = ["a", "a-b", "b/c", "b/c-d/.env", "x"];
        let tops = Tops::of(tops.into_iter().map(PathBuf::from));
        let rows = [
            ("a", true),
            ("a/x", true),
            ("a-", false),
            ("a-b", true),
            ("a-b/y", true),
            ("a-c", false),
            ("a0", false),
            ("b", false),
            ("b/c", true),
            ("b/c/d/e", true),
            ("b/c-d", false),
            ("b/c-d/.env", true),
            ("b/c-d/.env.example", false),
            ("b/c.d", false),
            ("w", false),
            ("x/y", true),
            ("xy", false),
            ("", false),
        ];
        for (path, expected) in rows {
            assert_eq!(tops.has_at_or_above(path.as_bytes()), expected, "{path}");
        }
    }

    #[test]
    fn none_have_nothing_below() {
        assert!(!Tops::of(std::iter::empty()).has_at_or_above(b"a"));
    }
}
