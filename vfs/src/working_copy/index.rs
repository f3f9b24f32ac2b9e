//! The index of a tree that was made: every file is known as unchanged by its size and time
//! (gitformat-index(5), version 2, with the trees that the entries make).

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::rc::Rc;

use gix_object::Kind;

use super::CopyError;
use super::objects::failed;
use super::start::INDEX;
use super::work_tree::GIT;
use crate::cas::Digest;
use crate::fs::{At, Fs, Timespec, write_all};
use crate::git_tree::{
    self, DIRECTORY, GitError, Id, Reader, Repository, STRUCTURE_MAX, SUBMODULE,
};
use crate::materialize::MODIFIED;
use crate::snapshot::{Bounds, Builder, Naming, Node, Snapshot};

/// Entries are filled up to a multiple of this.
const ALIGNED: usize = 8;
/// What there is of an entry before its id: times, device and so on.
const STAT: usize = 40;
/// The longest name whose length is told.
const LENGTH_MAX: usize = 0xfff;
/// The most entries.
const ENTRIES: usize = 4_000_000;

/// Writes the index of a tree into the directory `.git`, which it makes in `root`, and returns what
/// it made.
///
/// # Errors
/// An object can't be read, or a call fails.
pub fn write_index(
    fs: &dyn Fs,
    root: BorrowedFd<'_>,
    repository: &Repository,
    tree: &Id,
) -> Result<Snapshot<Digest>, CopyError> {
    let mut flat = Flat::new(repository.reader());
    flat.read(tree)?;
    let bytes = flat.bytes(repository);
    fs.make_dir(root, GIT.as_ref(), 0o755).map_err(failed("make", GIT))?;
    let git = fs.open_dir(root, GIT.as_ref()).map_err(failed("open", GIT))?;
    let file = fs.create_file(git.as_fd(), INDEX.as_ref()).map_err(failed("create", INDEX))?;
    write_all(fs, file.as_fd(), &bytes).map_err(failed("write", INDEX))?;
    fs.set_mode(file.as_fd(), 0o644).map_err(failed("set the bits of", INDEX))?;
    // Were it as old as the files, git would read every one of them to be sure.
    let later = Timespec { tv_sec: MODIFIED.tv_sec + 1, tv_nsec: 0 };
    let at = At { dir: file.as_fd(), name: "".as_ref() };
    fs.set_modified(at, later).map_err(failed("set the time of", INDEX))?;
    made(&bytes)
}

fn made(bytes: &[u8]) -> Result<Snapshot<Digest>, CopyError> {
    let mut made = Builder::new(Naming::Any, Bounds::default());
    let (content, size) = (Digest::of(bytes), bytes.len() as u64);
    let file = Node::File { content, size, executable: false };
    made.push(Path::new(""), GIT.as_bytes(), Node::Directory).map_err(GitError::from)?;
    made.push(Path::new(GIT), INDEX.as_bytes(), file).map_err(GitError::from)?;
    Ok(made.finish())
}

struct Entry {
    path: Vec<u8>,
    mode: u32,
    id: Id,
    size: u64,
}

/// A directory, with how many entries it has in all.
struct Directory {
    name: Vec<u8>,
    id: Id,
    entries: usize,
    directories: Vec<usize>,
}

/// A tree as a list.
struct Flat<'a> {
    reader: Reader<'a>,
    entries: Vec<Entry>,
    /// The root first.
    directories: Vec<Directory>,
}

/// A directory of which a part is listed.
struct Open {
    bytes: Rc<[u8]>,
    at: usize,
    path: Vec<u8>,
    number: usize,
}

impl<'a> Flat<'a> {
    fn new(reader: Reader<'a>) -> Self {
        Self { reader, entries: Vec::new(), directories: Vec::new() }
    }

    fn read(&mut self, tree: &Id) -> Result<(), CopyError> {
        let mut open = vec![self.open(Vec::new(), b"", tree)?];
        while let Some(mut last) = open.pop() {
            let fault = |fault| GitError::Tree { id: *tree, fault };
            let read = git_tree::entry(&last.bytes, last.at, tree.algorithm()).map_err(fault)?;
            let Some((entry, next)) = read else {
                self.close(last.number, open.last().map(|above| above.number));
                continue;
            };
            let path = [&last.path, entry.name].concat();
            let below = match entry.mode {
                DIRECTORY => Some(self.open([&path, &b"/"[..]].concat(), entry.name, &entry.id)?),
                mode => {
                    self.add(path, mode, entry.id)?;
                    None
                }
            };
            last.at = next;
            open.push(last);
            open.extend(below);
        }
        self.entries.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(())
    }

    fn open(&mut self, path: Vec<u8>, name: &[u8], id: &Id) -> Result<Open, CopyError> {
        let mut bytes = Vec::new();
        self.reader.object(id, Kind::Tree, STRUCTURE_MAX, &mut bytes)?;
        let number = self.directories.len();
        if number > ENTRIES {
            return Err(CopyError::TooMuch { what: "directories", most: ENTRIES as u64 });
        }
        // What is counted so far is taken off when it is closed.
        let entries = self.entries.len();
        let name = name.to_vec();
        self.directories.push(Directory { name, id: *id, entries, directories: Vec::new() });
        Ok(Open { bytes: bytes.into(), at: 0, path, number })
    }

    fn close(&mut self, number: usize, above: Option<usize>) {
        if let Some(directory) = self.directories.get_mut(number) {
            directory.entries = self.entries.len() - directory.entries;
        }
        if let Some(above) = above.and_then(|above| self.directories.get_mut(above)) {
            above.directories.push(number);
        }
    }

    fn add(&mut self, path: Vec<u8>, mode: u32, id: Id) -> Result<(), CopyError> {
        let size = if mode == SUBMODULE { 0 } else { self.reader.header(&id)?.1 };
        self.entries.push(Entry { path, mode, id, size });
        if self.entries.len() > ENTRIES {
            return Err(CopyError::TooMuch { what: "files", most: ENTRIES as u64 });
        }
        Ok(())
    }

    fn bytes(&self, repository: &Repository) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(2_u32.to_be_bytes());
        bytes.extend(number(self.entries.len() as u64));
        self.entries.iter().for_each(|entry| entry.add_to(&mut bytes));
        let trees = self.trees();
        bytes.extend(b"TREE");
        bytes.extend(number(trees.len() as u64));
        bytes.extend(trees);
        let mut hasher = gix_hash::hasher(repository.algorithm().kind());
        hasher.update(&bytes);
        // The bytes are no known collision; if they were, git would tell of a damaged index.
        bytes
            .extend(hasher.try_finalize().map_or_else(|_| Vec::new(), |it| it.as_slice().to_vec()));
        bytes
    }

    /// Each directory before those in it: name, entries, directories, id.
    fn trees(&self) -> Vec<u8> {
        let (mut bytes, mut wanted) = (Vec::new(), vec![0]);
        while let Some(directory) = wanted.pop().and_then(|number| self.directories.get(number)) {
            bytes.extend(&directory.name);
            let (entries, directories) = (directory.entries, directory.directories.len());
            bytes.extend(format!("\0{entries} {directories}\n").as_bytes());
            bytes.extend(directory.id.as_bytes());
            wanted.extend(directory.directories.iter().rev());
        }
        bytes
    }
}

impl Entry {
    fn add_to(&self, bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        // Change, modification, device, inode, mode, user, group, size.
        let modified = number(u64::try_from(MODIFIED.tv_sec).unwrap_or_default());
        let fields = [0, 0, u32::from_be_bytes(modified), 0, 0, 0, self.written_mode(), 0, 0];
        bytes.extend(fields.iter().flat_map(|field: &u32| field.to_be_bytes()));
        bytes.extend(number(self.size & u64::from(u32::MAX)));
        debug_assert_eq!(bytes.len() - begin, STAT);
        bytes.extend(self.id.as_bytes());
        let length = u16::try_from(self.path.len().min(LENGTH_MAX)).unwrap_or_default();
        bytes.extend(length.to_be_bytes());
        bytes.extend(&self.path);
        let filled = (bytes.len() - begin + ALIGNED) / ALIGNED * ALIGNED;
        bytes.resize(begin + filled, 0);
    }

    /// Of the bits of a file only one counts.
    fn written_mode(&self) -> u32 {
        if self.mode == 0o100_664 { 0o100_644 } else { self.mode }
    }
}

fn number(value: u64) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_be_bytes()
}
