//! Finding and reading the index of a work tree.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::parse::{parse, parse_blobs};
use super::window::Bytes;
use super::{Blob, IndexFault, IndexWarning, Tracked};
use crate::fs::{Errno, Fs, Kind, OsFs, Result};

/// The largest index that is read: a million names have about 100 MB.
const SIZE: u64 = 256 << 20;
/// The largest `.git` file.
const LINK_SIZE: u64 = 8192;

/// Reads which of the paths that are wanted the index of a work tree tracks: of a plain one, a
/// linked one or a submodule.
///
/// No index is an empty one. With a warning nothing is tracked.
pub fn load(work_tree: &Path, wanted: &dyn Fn(&[u8]) -> bool) -> (Tracked, Option<IndexWarning>) {
    match find_and(work_tree, &|index| parse(index, wanted)) {
        Ok(tracked) => (tracked, None),
        Err(warning) => (Tracked::default(), Some(warning)),
    }
}

/// Like [`blobs`](super::blobs()) for a work tree, whose `.git` may lead elsewhere; nothing where that can't be told.
pub fn load_blobs(work_tree: &Path, wanted: &dyn Fn(&[u8]) -> bool) -> Tracked<Blob> {
    find_and(work_tree, &|index| parse_blobs(index, wanted)).unwrap_or_default()
}

fn find_and<T>(
    work_tree: &Path,
    read: &dyn Fn(&IndexFile<'_>) -> std::result::Result<Tracked<T>, IndexFault>,
) -> std::result::Result<Tracked<T>, IndexWarning> {
    let git = work_tree.join(".git");
    let mut path = git.join("index");
    let mut opened = open(&path);
    if matches!(opened, Err(Errno::NOTDIR)) {
        path = linked_dir(work_tree, &git)?.join("index");
        opened = open(&path);
    }
    let file = match opened {
        Err(Errno::NOENT) => return Ok(Tracked::default()),
        opened => opened.map_err(unreadable(&path))?,
    };
    let index = IndexFile::new(&path, &file)?;
    read(&index).map_err(unusable(&path))
}

/// Returns the directory that a `.git` file names.
fn linked_dir(work_tree: &Path, git: &Path) -> std::result::Result<PathBuf, IndexWarning> {
    let file = open(git).map_err(unreadable(git))?;
    let bytes = read(git, &file, LINK_SIZE)?;
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    let name = bytes.get(..end).and_then(|line| line.strip_prefix(b"gitdir: "));
    match name {
        Some(name) if !name.is_empty() && !name.contains(&0) => {
            Ok(work_tree.join(OsStr::from_bytes(name)))
        }
        _ => Err(unusable(git)(IndexFault::NoGitDir)),
    }
}

/// Opens without waiting for a FIFO; links are followed, as git does: only names are read.
fn open(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty())
}

/// An index that is read bit by bit.
pub(super) struct IndexFile<'f> {
    file: &'f OwnedFd,
    length: u64,
}

impl<'f> IndexFile<'f> {
    pub(super) fn new(path: &Path, file: &'f OwnedFd) -> std::result::Result<Self, IndexWarning> {
        Self::up_to(SIZE, path, file)
    }

    /// Takes an index with at most `most` bytes.
    pub(super) fn up_to(
        most: u64,
        path: &Path,
        file: &'f OwnedFd,
    ) -> std::result::Result<Self, IndexWarning> {
        Ok(Self { file, length: length(path, file, most)? })
    }
}

impl Bytes for IndexFile<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, place: u64, into: &mut [u8]) -> std::result::Result<usize, IndexFault> {
        // What was added since is not looked at.
        let left = usize::try_from(self.length.saturating_sub(place)).unwrap_or(usize::MAX);
        let length = left.min(into.len());
        let into = into.get_mut(..length).unwrap_or_default();
        rustix::io::pread(self.file, into, place).map_err(IndexFault::Unreadable)
    }
}

/// Returns how much a file holds.
fn length(path: &Path, file: &OwnedFd, most: u64) -> std::result::Result<u64, IndexWarning> {
    let status = OsFs.status_of(file.as_fd()).map_err(unreadable(path))?;
    if status.kind != Kind::File {
        return Err(unusable(path)(IndexFault::NotAFile));
    }
    if status.size > most {
        return Err(unusable(path)(IndexFault::TooLarge));
    }
    Ok(status.size)
}

fn read(path: &Path, file: &OwnedFd, most: u64) -> std::result::Result<Vec<u8>, IndexWarning> {
    let size = usize::try_from(length(path, file, most)?).unwrap_or(usize::MAX);
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match OsFs.read(file.as_fd(), rest).map_err(unreadable(path))? {
            0 => break,
            length => filled += length,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

pub(super) fn unreadable(path: &Path) -> impl Fn(Errno) -> IndexWarning {
    move |errno| IndexWarning::Unreadable { path: path.to_owned(), errno }
}

pub(super) fn unusable(path: &Path) -> impl Fn(IndexFault) -> IndexWarning {
    move |fault| match fault {
        IndexFault::Unreadable(errno) => unreadable(path)(errno),
        fault => IndexWarning::Unusable { path: path.to_owned(), fault },
    }
}
