//! The manifest of a tree: what every path must hold, so that damage can be found without the
//! source. Fields end with a NUL: kind, content or target, size, path.

use std::ffi::OsStr;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::cas::Digest;
use crate::fs::{Errno, Fs, Result, write_all};
use crate::git_blob;
use crate::git_tree::{Algorithm, Id};
use crate::snapshot::{Node, Snapshot};

const CHUNK: usize = 64 << 10;

/// The name of a content, which follows from its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentName {
    /// A blob of a git repository.
    Git(Id),
    /// The bytes and nothing else.
    Cas(Digest),
}

impl fmt::Display for ContentName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(id) => write!(out, "git-{}:{id}", id.algorithm()),
            Self::Cas(digest) => digest.fmt(out),
        }
    }
}

impl FromStr for ContentName {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let name = match text.strip_prefix("git-").and_then(|text| text.split_once(':')) {
            Some((_, id)) => Self::Git(id.parse().map_err(|_| ())?),
            None => Self::Cas(text.parse().map_err(|_| ())?),
        };
        // Anything that reads otherwise is another name.
        if name.to_string() == text { Ok(name) } else { Err(()) }
    }
}

impl ContentName {
    /// Returns whether this is the name of what an open file of `size` bytes holds.
    pub(super) fn is_of(&self, fs: &dyn Fs, file: BorrowedFd<'_>, size: u64) -> Result<bool> {
        match self {
            Self::Git(id) if id.algorithm() == Algorithm::Sha1 => {
                match git_blob::name_of(fs, file, size) {
                    Err(Errno::STALE) => Ok(false),
                    name => Ok(name? == id.as_bytes()),
                }
            }
            Self::Git(id) => {
                let found = digest(fs, file, size, format!("blob {size}\0").as_bytes())?;
                Ok(found.is_some_and(|found| found == id.as_bytes()))
            }
            Self::Cas(name) => {
                Ok(name.size == size && digest(fs, file, size, b"")? == Some(name.hash))
            }
        }
    }
}

fn digest(fs: &dyn Fs, file: BorrowedFd<'_>, size: u64, before: &[u8]) -> Result<Option<[u8; 32]>> {
    let mut hash = Sha256::new().chain_update(before);
    let is_whole = read(fs, file, size, &mut |bytes| hash.update(bytes))?;
    Ok(is_whole.then(|| hash.finalize().into()))
}

/// Hands all bytes over; returns whether there were as many.
fn read(fs: &dyn Fs, file: BorrowedFd<'_>, size: u64, take: &mut dyn FnMut(&[u8])) -> Result<bool> {
    let (mut buffer, mut at) = (vec![0; CHUNK], 0);
    while at <= size {
        let length = fs.read_at(file, &mut buffer, at)?;
        if length == 0 {
            break;
        }
        take(buffer.get(..length).unwrap_or_default());
        at += length as u64;
    }
    Ok(at == size)
}

/// What must stand at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Directory,
    File {
        content: ContentName,
        executable: bool,
        size: u64,
    },
    Symlink {
        target: PathBuf,
    },
    /// A name of the tree below that is gone.
    Whiteout,
}

/// Writes the manifest of a tree, or of a layer that hides what is gone, into an open file; `name`
/// tells the name of a content.
///
/// # Errors
/// A failing call.
pub fn write_manifest<C>(
    fs: &dyn Fs,
    file: BorrowedFd<'_>,
    (snapshot, gone): (&Snapshot<C>, &[PathBuf]),
    name: impl Fn(&C) -> ContentName,
) -> Result<()> {
    let mut text = Vec::with_capacity(2 * CHUNK);
    for entry in snapshot.entries() {
        let (kind, what, size) = match &entry.node {
            Node::Directory => ("d", Vec::new(), 0),
            Node::File { content, size, executable } => {
                (if *executable { "x" } else { "f" }, name(content).to_string().into_bytes(), *size)
            }
            Node::Symlink { target } => ("l", target.as_os_str().as_bytes().to_vec(), 0),
        };
        add(&mut text, [kind.as_bytes(), &what, size.to_string().as_bytes()], &entry.path);
        if text.len() >= CHUNK {
            write_all(fs, file, &text)?;
            text.clear();
        }
    }
    for path in gone {
        add(&mut text, [b"w", b"", b"0"], path);
    }
    write_all(fs, file, &text)
}

fn add(text: &mut Vec<u8>, [kind, what, size]: [&[u8]; 3], path: &Path) {
    for field in [kind, what, size, path.as_os_str().as_bytes()] {
        text.extend_from_slice(field);
        text.push(0);
    }
}

/// Reads a manifest; one that is not whole is `INVAL`.
pub(super) fn parse(text: &[u8]) -> Result<Vec<(PathBuf, Expected)>> {
    let mut fields = text.split(|byte| *byte == 0);
    let mut entries = Vec::new();
    loop {
        match fields.next() {
            // Behind the last NUL.
            Some(b"") if fields.next().is_none() => return Ok(entries),
            Some(kind) => entries.push(entry(kind, &mut fields).ok_or(Errno::INVAL)?),
            None => return Err(Errno::INVAL),
        }
    }
}

fn entry<'a>(
    kind: &[u8],
    fields: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<(PathBuf, Expected)> {
    let (what, size, path) = (fields.next()?, fields.next()?, fields.next()?);
    let path = Path::new(OsStr::from_bytes(path)).to_owned();
    let is_below = |part| matches!(part, Component::Normal(_));
    if path.as_os_str().is_empty() || !path.components().all(is_below) {
        return None;
    }
    let expected = match kind {
        b"d" => Expected::Directory,
        b"w" => Expected::Whiteout,
        b"l" => Expected::Symlink { target: PathBuf::from(OsStr::from_bytes(what)) },
        b"f" | b"x" => Expected::File {
            content: str::from_utf8(what).ok()?.parse().ok()?,
            executable: kind == b"x",
            size: str::from_utf8(size).ok()?.parse().ok()?,
        },
        _ => return None,
    };
    Some((path, expected))
}
