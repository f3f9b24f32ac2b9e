//! Paths and units.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use endow_policy::{GuestPath, PathError, parse_duration, parse_size};

use super::assert_guest;

/// Two lines: a path, and one to join or compare with it.
pub(super) fn paths(input: &[u8]) {
    let mut lines = input.splitn(2, |byte| *byte == b'\n');
    let [first, second] =
        [(); 2].map(|()| Path::new(OsStr::from_bytes(lines.next().unwrap_or_default())));
    let path = match GuestPath::new(first) {
        Ok(path) => path,
        Err(error) => return assert_refused(first, error),
    };
    assert_guest(&path);
    assert_eq!(GuestPath::new(path.as_path()).as_ref(), Ok(&path));
    assert_eq!(path.as_path(), first, "the same components");
    assert_eq!(path.to_host().to_guest(), path);
    for above in path.way_up() {
        let above = GuestPath::new(OsStr::from_bytes(above)).expect("a directory above");
        assert!(path.is_within(&above));
        let below = path.below(&above).expect("it is within");
        assert_eq!(above.join(below).as_ref(), Ok(&path));
    }
    match path.parent() {
        Some(parent) => assert!(parent < path && path.is_within(&parent) && parent != path),
        None => assert_eq!(path, GuestPath::root()),
    }
    if let Ok(joined) = path.join(second) {
        assert_guest(&joined);
        assert!(second.is_absolute() || joined.is_within(&path), "{} leads out", second.display());
    }
    if let Ok(other) = GuestPath::new(second) {
        assert_eq!(path.cmp(&other), path.as_path().cmp(other.as_path()));
        assert_eq!(path == other, path.as_path() == other.as_path());
        assert_eq!(path.is_within(&other), path.as_path().starts_with(other.as_path()));
    }
}

fn assert_refused(path: &Path, error: PathError) {
    let bytes = path.as_os_str().as_bytes();
    match error {
        PathError::Empty => assert!(bytes.is_empty()),
        PathError::Relative => assert_ne!(bytes.first(), Some(&b'/')),
        PathError::ParentDir => assert!(bytes.split(|it| *it == b'/').any(|name| name == b"..")),
        PathError::Nul => assert!(bytes.contains(&0)),
        other => panic!("{other:?}"),
    }
}

/// A number is never another one, whatever its unit.
pub(super) fn units(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(size) = parse_size(text) {
        assert_eq!(parse_size(&size.to_string()), Ok(size));
        let number: u64 = digits(text).parse().expect("a number");
        assert!(size >= number && (number == 0 || size % number == 0));
    }
    if let Ok(time) = parse_duration(text) {
        let number: u64 = digits(text).parse().expect("a number");
        assert!(time >= Duration::from_millis(number));
    }
}

fn digits(text: &str) -> &str {
    let text = text.trim();
    &text[..text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len())]
}
