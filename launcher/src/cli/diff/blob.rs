//! The two sides of a change as git sees them: a mode of three, and bytes.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use endow_vfs::cas::Digest;
use endow_vfs::fs::{Errno, Fs, Kind, Open, OsFs, Result};
use endow_vfs::git_tree::Algorithm;
use endow_vfs::sync::Seen;
use endow_vfs::{git_blob, hex};

/// Larger files are named and not shown.
const LARGEST: u64 = 64 << 20;
/// The longest path handed to the kernel at once.
const LONGEST: usize = 3800;
/// A file with a NUL among its first bytes is binary, as git has it.
const LOOKED_AT: usize = 8000;

/// A file or link before or after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    /// `100644`, `100755` or `120000`.
    pub(crate) mode: u32,
    /// What is in it.
    pub(crate) content: Content,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Its bytes, or a link's target.
    Bytes(Vec<u8>),
    /// The same, of what is never shown by lines.
    Binary(Vec<u8>),
    /// More bytes than are shown, by their number.
    TooLarge(u64),
    /// It can't be read.
    Unreadable,
}

/// Both sides of a change; `None` where there is no file or link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) old: Option<Blob>,
    pub(crate) new: Option<Blob>,
}

impl Blob {
    /// Whether it is shown by lines.
    pub(super) fn is_text(&self) -> bool {
        match &self.content {
            Content::Bytes(bytes) => !bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0),
            Content::Binary(_) | Content::TooLarge(_) | Content::Unreadable => false,
        }
    }

    /// Returns its bytes, when they are at hand.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Bytes(bytes) | Content::Binary(bytes) => Some(bytes),
            Content::TooLarge(_) | Content::Unreadable => None,
        }
    }

    /// Returns the number of its bytes; 0 when that is not known.
    pub(super) fn size(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) | Content::Binary(bytes) => {
                u64::try_from(bytes.len()).unwrap_or(u64::MAX)
            }
            Content::TooLarge(size) => *size,
            Content::Unreadable => 0,
        }
    }

    /// Takes it for what is shown by no lines.
    pub(super) fn opaque(self) -> Self {
        match self.content {
            Content::Bytes(bytes) => Self { content: Content::Binary(bytes), ..self },
            _ => self,
        }
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode == 0o120_000
    }
}

/// Returns the name that git gives to a content; zeros for nothing and for what is not at hand.
pub(super) fn object_name(blob: Option<&Blob>, algorithm: Algorithm) -> String {
    match (blob.and_then(Blob::bytes), algorithm) {
        (None, Algorithm::Sha1) => "0".repeat(40),
        (None, Algorithm::Sha256) => "0".repeat(64),
        (Some(bytes), Algorithm::Sha1) => hex::digits(&git_blob::name(bytes)),
        (Some(bytes), Algorithm::Sha256) => {
            let head = format!("blob {}\0", bytes.len());
            Digest::of(&[head.as_bytes(), bytes].concat()).to_hex()
        }
    }
}

/// Reads one side of a change below an open root; `None` for what git does not track.
pub(crate) fn read(root: BorrowedFd<'_>, path: &Path, seen: Option<&Seen>) -> Option<Blob> {
    let seen = seen?;
    let mode = git_mode(seen)?;
    let content = content(root, path, seen.kind).unwrap_or(Content::Unreadable);
    Some(Blob { mode, content })
}

/// Reads one side of a change that was exported: a file in `dir` has its bytes, and those of a link
/// are its target. Without such a file they are too many.
pub(crate) fn exported(dir: BorrowedFd<'_>, name: &Path, seen: Option<&Seen>) -> Option<Blob> {
    let seen = seen?;
    let mode = git_mode(seen)?;
    let content = match file(dir, name.as_os_str()) {
        Err(Errno::NOENT) => Content::TooLarge(seen.size),
        content => content.unwrap_or(Content::Unreadable),
    };
    Some(Blob { mode, content })
}

fn git_mode(seen: &Seen) -> Option<u32> {
    match seen.kind {
        Kind::File if seen.mode & 0o100 != 0 => Some(0o100_755),
        Kind::File => Some(0o100_644),
        Kind::Symlink => Some(0o120_000),
        Kind::Directory | Kind::Other => None,
    }
}

fn content(root: BorrowedFd<'_>, path: &Path, kind: Kind) -> Result<Content> {
    let above = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let below = open_below(root, above)?;
    let dir = below.as_ref().map_or(root, AsFd::as_fd);
    if kind == Kind::Symlink {
        return OsFs.read_link(dir, name).map(|it| Content::Bytes(it.as_bytes().to_vec()));
    }
    file(dir, name)
}

fn file(dir: BorrowedFd<'_>, name: &OsStr) -> Result<Content> {
    let file = OsFs.open_file(dir, name)?;
    let status = OsFs.status_of(file.as_fd())?;
    if status.kind != Kind::File {
        return Err(Errno::INVAL);
    }
    if status.size > LARGEST {
        return Ok(Content::TooLarge(status.size));
    }
    let mut bytes = vec![0; usize::try_from(status.size).map_err(|_| Errno::FBIG)?];
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match OsFs.read(file.as_fd(), rest)? {
            0 => break,
            read => length += read,
        }
    }
    bytes.truncate(length);
    Ok(Content::Bytes(bytes))
}

/// Opens a directory below the root, some names at a time: a path may be longer than the kernel
/// reads. `None` is the root itself.
fn open_below(root: BorrowedFd<'_>, path: &Path) -> Result<Option<OwnedFd>> {
    let mut opened: Option<OwnedFd> = None;
    let mut part = PathBuf::new();
    let mut names = path.components().map(Component::as_os_str).peekable();
    while let Some(name) = names.next() {
        part.push(name);
        let next = names.peek().map_or(LONGEST, |next| next.len());
        if part.as_os_str().len() + next >= LONGEST {
            let at = opened.as_ref().map_or(root, AsFd::as_fd);
            opened = Some(OsFs.open_below(at, &part, Open::Handle)?);
            part.clear();
        }
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(bytes: &[u8]) -> Blob {
        Blob { mode: 0o100_644, content: Content::Bytes(bytes.to_vec()) }
    }

    #[test]
    fn object_names_are_gits() {
        let name = |bytes: &[u8]| object_name(Some(&blob(bytes)), Algorithm::Sha1);
        assert_eq!(name(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(name(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(object_name(None, Algorithm::Sha1), "0".repeat(40));
        let long = object_name(Some(&blob(b"")), Algorithm::Sha256);
        assert_eq!(long, "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813");
        assert_eq!(object_name(None, Algorithm::Sha256), "0".repeat(64));
    }

    #[test]
    fn text_has_no_nul_at_its_beginning() {
        assert!(blob(b"").is_text());
        assert!(blob(b"\xff\xfe\n").is_text());
        assert!(!blob(b"a\0b").is_text());
    }
}
