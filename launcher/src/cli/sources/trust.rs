//! Which project files the user has accepted: path and content, one line each.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::cli::sources::digest;
use crate::probe::small_file::{Links, SmallFile};

/// The largest list that is read, in bytes.
const LIST_MAX: u64 = 16 << 20;

fn list(config: &Path) -> PathBuf {
    config.join("trusted")
}

/// Returns whether the file at `path` was accepted with exactly this content.
pub(crate) fn is_trusted(config: &Path, path: &Path, text: &[u8]) -> bool {
    known(config).lines().any(|known| known == line(path, text))
}

/// Reads the list. Through a link it is none: a command may have what that leads to for writing.
fn known(config: &Path) -> String {
    let file = SmallFile::open(&list(config), Links::Refused);
    let text = file.and_then(|file| file.read(LIST_MAX)).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
}

/// Accepts the file at `path` as it is now; what was accepted of it before counts no more.
pub(crate) fn accept(config: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    let known = known(config);
    let of_path = format!(" {}", encoded(path));
    let others = known.lines().filter(|line| !line.ends_with(&of_path));
    let mut lines: Vec<String> = others.map(str::to_owned).collect();
    lines.push(line(path, text));
    DirBuilder::new().recursive(true).mode(0o700).create(config)?;
    let new = config.join(format!(".trusted.{}", std::process::id()));
    fs::write(&new, lines.join("\n") + "\n")?;
    fs::rename(&new, list(config))
}

fn line(path: &Path, text: &[u8]) -> String {
    format!("sha256:{} {}", digest(text), encoded(path))
}

/// Spaces and anything unusual are written as `%XX`, so that a line is a line.
fn encoded(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'%';
    let bytes = path.as_os_str().as_bytes().iter();
    let escape = |byte: &u8| {
        if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
    };
    bytes.map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_for_a_path_and_a_content() {
        let config = tempfile::tempdir().expect("a directory");
        let (path, other) = (Path::new("/a b/endow.toml"), Path::new("/x/a b/endow.toml"));
        accept(config.path(), path, b"one").expect("accepted");
        accept(config.path(), other, b"two").expect("accepted");
        assert!(is_trusted(config.path(), path, b"one"));
        assert!(is_trusted(config.path(), other, b"two"));
        assert!(!is_trusted(config.path(), path, b"two"));
        accept(config.path(), path, b"three").expect("accepted");
        assert!(!is_trusted(config.path(), path, b"one"));
        assert!(is_trusted(config.path(), path, b"three"));
    }

    #[test]
    fn list_is_read_through_no_link() {
        let (config, other) = [(); 2].map(|()| tempfile::tempdir().expect("a directory")).into();
        let path = Path::new("/a/endow.toml");
        accept(other.path(), path, b"one").expect("accepted");
        std::os::unix::fs::symlink(list(other.path()), list(config.path())).expect("a link");
        assert!(!is_trusted(config.path(), path, b"one"));
        accept(config.path(), path, b"one").expect("accepted");
        assert!(is_trusted(config.path(), path, b"one") && !list(config.path()).is_symlink());
    }

    #[test]
    fn a_newline_in_a_path_makes_no_second_line() {
        let config = tempfile::tempdir().expect("a directory");
        let path = Path::new("/a\nsha256:x /b");
        accept(config.path(), path, b"one").expect("accepted");
        let text = fs::read_to_string(list(config.path())).expect("the list");
        assert_eq!(text.lines().count(), 1);
    }
}
