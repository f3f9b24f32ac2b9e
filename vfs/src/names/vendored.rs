//! Directories of other people's code, where names are another's: their keys are test data.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What directories of other people's code are called; `.cargo/registry` is one more.
pub(crate) const VENDORED: [&[u8]; 4] =
    [b"node_modules", b"site-packages", b"dist-packages", b"vendor"];

/// Returns whether a path leads to a directory of other people's code, or below one.
pub(super) fn is_vendored(path: &[u8]) -> bool {
    end(path).is_some()
}

/// Returns the uppermost directory of other people's code that a path is below.
#[must_use]
pub fn vendored_above(path: &Path) -> Option<&Path> {
    let bytes = path.as_os_str().as_bytes();
    let above = bytes.get(..end(bytes)?).filter(|above| above.len() < bytes.len())?;
    Some(Path::new(OsStr::from_bytes(above)))
}

/// Returns whether a walk that leaves other people's code alone sees what is in a directory; of a
/// `.git` that is asked for itself, others do.
pub fn is_looked_into(path: &Path) -> bool {
    let names: Vec<&OsStr> = path.iter().collect();
    let above = names.split_last().map_or(&[][..], |(_, above)| above);
    !is_vendored(path.as_os_str().as_bytes()) && !above.contains(&OsStr::new(".git"))
}

/// Returns where the path of the uppermost directory of other people's code ends.
fn end(path: &[u8]) -> Option<usize> {
    let mut above: &[u8] = b"";
    let mut end = 0;
    for name in path.split(|byte| *byte == b'/') {
        end += name.len();
        if VENDORED.contains(&name) || (name == b"registry" && above == b".cargo") {
            return Some(end);
        }
        (above, end) = (name, end + 1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uppermost_directory_is_told() {
        for (path, expected) in [
            ("a/vendor/b/node_modules/c", Some("a/vendor")),
            ("vendor/b", Some("vendor")),
            (".cargo/registry/src", Some(".cargo/registry")),
            ("a/vendor", None),
            ("vendored/b", None),
            ("registry/b", None),
            ("", None),
        ] {
            assert_eq!(vendored_above(Path::new(path)), expected.map(Path::new), "{path}");
        }
    }

    #[test]
    fn what_a_walk_looks_into_is_told_by_the_path() {
        for (path, expected) in [
            ("", true),
            ("src/a.git", true),
            ("a/.git", true),
            ("a/.git/b", false),
            ("node_modules/x", false),
            ("a/vendor", false),
            (".cargo/registry/x", false),
            ("registry/x", true),
        ] {
            assert_eq!(is_looked_into(Path::new(path)), expected, "{path}");
        }
    }
}
