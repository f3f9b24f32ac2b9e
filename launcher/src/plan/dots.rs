//! Paths without `.` and `..`.

use std::path::{Component, Path, PathBuf};

/// Takes `.` and `..` out of an absolute path, as text.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_lead_up() {
        for (said, plain) in [("/a/../b", "/b"), ("/../x", "/x"), ("/a/./b", "/a/b"), ("/", "/")] {
            assert_eq!(without_dots(Path::new(said)), Path::new(plain));
        }
    }
}
