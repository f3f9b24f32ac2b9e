//! What an index says of whole directories (the extension `TREE`): by that git makes the next commit, and looks at no
//! entry below.

use std::collections::HashMap;

use gix_object::Kind;

use super::check::is_plain;
use super::older::{is_equal, is_without_files};
use super::parse::{Entry, FOLDED, PATH_MAX, Reader, TYPE};
use super::{IndexFault, Stored};
use crate::git_object::{self, Work};
use crate::git_tree::{Algorithm, Id};

type Result<T> = std::result::Result<T, IndexFault>;

/// The mode of a directory.
const DIRECTORY: u32 = 0o040_000;

/// What is said of a directory: how many entries are below it, and its tree.
#[derive(PartialEq, Eq)]
struct Claim {
    count: u64,
    id: Vec<u8>,
}

/// The most bytes of all paths of directories: names of one byte could unfold to any size.
const PATHS: usize = 256 << 20;
/// What is counted for each beside its path.
const EACH: usize = 64;
/// The most bytes of one tree, and of all that is looked at of trees and their paths: names that begin alike take no
/// space in an index.
const TREE: usize = 64 << 20;
const ALL: usize = 4 << 30;

/// What is said of each directory that was not changed since.
pub(super) struct Claims<'w> {
    /// By its path, with a slash at the end.
    said: HashMap<Vec<u8>, Claim>,
    /// How long they all are together.
    length: usize,
    work: &'w Work,
}

impl<'w> Claims<'w> {
    pub(super) fn new(work: &'w Work) -> Self {
        Self { said: HashMap::new(), length: 0, work }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Reads what an extension says.
    pub(super) fn add(&mut self, content: &[u8], length: usize) -> Result<()> {
        let mut reader = Reader::new(content);
        let mut open = Vec::new();
        self.add_one(&mut reader, length, &mut open)?;
        while let Some((above, left)) = open.pop() {
            if let Some(left) = u64::checked_sub(left, 1) {
                open.push((above, left));
                self.add_one(&mut reader, length, &mut open)?;
            }
        }
        if reader.is_at_end() { Ok(()) } else { Err(IndexFault::Trees) }
    }

    /// Reads what is said of one; `open` are those above, and how many of each are still to come.
    fn add_one(
        &mut self,
        reader: &mut Reader<'_>,
        length: usize,
        open: &mut Vec<(Vec<u8>, u64)>,
    ) -> Result<()> {
        let name = reader.text()?;
        let path = match open.last() {
            None if name.is_empty() => Vec::new(),
            Some((above, _)) if is_plain(name) => [above, name, b"/"].concat(),
            _ => return Err(IndexFault::Trees),
        };
        self.length += path.len() + EACH;
        self.work.take((path.len() + EACH) as u64).ok_or(IndexFault::TooLarge)?;
        if path.len() > PATH_MAX || self.length > PATHS {
            return Err(IndexFault::TooLarge);
        }
        let (count, below) = (reader.until(b' ')?, number(reader.until(b'\n')?)?);
        if count != b"-1" {
            let claim = Claim { count: number(count)?, id: reader.take(length)?.to_vec() };
            if self.said.insert(path.clone(), claim).is_some() {
                return Err(IndexFault::Trees);
            }
        }
        open.push((path, below));
        Ok(())
    }

    /// Compares with what a single entry says.
    fn compare(&mut self, path: &[u8], found: &Claim) -> Result<()> {
        match self.said.remove(path) {
            Some(said) if said != *found => Err(IndexFault::Trees),
            _ => Ok(()),
        }
    }

    /// Returns whether what is left is said of directories in which there is nothing.
    fn are_without_files(&self, stored: &Stored<'_>) -> bool {
        let is_one = |claim: &Claim| {
            let id = Id::from_bytes(&claim.id).filter(|_| claim.count == 0);
            id.is_some_and(|id| is_without_files(id, stored))
        };
        self.said.values().all(is_one)
    }
}

fn number(digits: &[u8]) -> Result<u64> {
    let is_one = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let text = str::from_utf8(digits).ok().filter(|_| is_one);
    text.and_then(|text| text.parse().ok()).ok_or(IndexFault::Trees)
}

/// Makes the trees of entries in their order, and compares each with what is said of it.
pub(super) struct Trees<'b> {
    stored: &'b Stored<'b>,
    algorithm: Algorithm,
    claims: Claims<'b>,
    /// The directory of the last entry and those above it.
    open: Vec<Open>,
    /// Its path, with a slash at the end.
    path: Vec<u8>,
    /// The last entry's name, and its stage.
    last: Option<(Vec<u8>, u16)>,
    /// How much may still be looked at.
    left: usize,
}

#[derive(Default)]
struct Open {
    /// How long its path is.
    length: usize,
    tree: Vec<u8>,
    count: u64,
    /// It has an entry that no tree can have: git says nothing of it then.
    is_doubtful: bool,
}

impl<'b> Trees<'b> {
    pub(super) fn new(algorithm: Algorithm, claims: Claims<'b>, stored: &'b Stored<'b>) -> Self {
        let open = vec![Open::default()];
        Self { stored, algorithm, claims, open, path: Vec::new(), last: None, left: ALL }
    }

    pub(super) fn length_of_ids(&self) -> usize {
        self.algorithm.length()
    }

    /// Takes the next entry.
    pub(super) fn add(&mut self, entry: &Entry, name: &[u8]) -> Result<()> {
        self.follow(name, entry.stage())?;
        while !name.starts_with(&self.path) {
            self.close()?;
        }
        let id = entry.named(self.algorithm.length());
        let mut below = name.get(self.path.len()..).unwrap_or_default();
        let is_folded = entry.mode & TYPE == FOLDED;
        if is_folded {
            let claim = Claim { count: 1, id: id.to_vec() };
            self.claims.compare(name, &claim)?;
            below = below.strip_suffix(b"/").unwrap_or(below);
        }
        while let Some(at) = below.iter().position(|byte| *byte == b'/') {
            let (directory, rest) = below.split_at(at + 1);
            self.path.extend_from_slice(directory);
            self.open.push(Open { length: self.path.len(), ..Open::default() });
            below = rest;
        }
        let mode = if is_folded { DIRECTORY } else { entry.mode };
        let open = self.open.last_mut().ok_or(IndexFault::Trees)?;
        open.add((mode, below, id), 1);
        open.is_doubtful |= entry.stage() != 0 || entry.is_name_only();
        if open.tree.len() > TREE { Err(IndexFault::TooLarge) } else { Ok(()) }
    }

    /// Compares the last, and what is above them.
    pub(super) fn finish(mut self) -> Result<()> {
        while !self.open.is_empty() {
            self.close()?;
        }
        if self.claims.are_without_files(self.stored) { Ok(()) } else { Err(IndexFault::Trees) }
    }

    /// git takes entries in any order. A directory that comes twice would be two here.
    fn follow(&mut self, name: &[u8], stage: u16) -> Result<()> {
        let next = (name.to_vec(), stage);
        let is_after = self.last.as_ref().is_none_or(|last| *last < next);
        self.last = Some(next);
        if is_after { Ok(()) } else { Err(IndexFault::Trees) }
    }

    fn close(&mut self) -> Result<()> {
        let closed = self.open.pop().ok_or(IndexFault::Trees)?;
        let length = closed.tree.len() + self.path.len() + EACH;
        self.left = self.left.checked_sub(length).ok_or(IndexFault::TooLarge)?;
        self.claims.work.take(length as u64).ok_or(IndexFault::TooLarge)?;
        let mut hash = git_object::begin(self.algorithm, Kind::Tree, closed.tree.len() as u64);
        hash.update(&closed.tree);
        let id = hash.try_finalize().map_err(|_| IndexFault::Trees)?.as_slice().to_vec();
        let found = self.settle(&closed, id)?;
        if let Some(above) = self.open.last_mut() {
            let name = self.path.get(above.length..).unwrap_or_default();
            let name = name.strip_suffix(b"/").unwrap_or(name);
            above.add((DIRECTORY, name, &found), closed.count);
            above.is_doubtful |= closed.is_doubtful;
            self.path.truncate(above.length);
        }
        Ok(())
    }

    /// Returns which tree git takes for that of a directory: the one that is said, where it has the same entries.
    fn settle(&mut self, closed: &Open, id: Vec<u8>) -> Result<Vec<u8>> {
        let Some(said) = self.claims.said.remove(&self.path) else { return Ok(id) };
        let is_it = said.count == closed.count
            && !closed.is_doubtful
            && (said.id == id || is_equal(&closed.tree, &said.id, self.stored));
        if is_it { Ok(said.id) } else { Err(IndexFault::Trees) }
    }
}

impl Open {
    fn add(&mut self, (mode, name, id): (u32, &[u8], &[u8]), count: u64) {
        self.tree.extend_from_slice(format!("{mode:o} ").as_bytes());
        self.tree.extend_from_slice(name);
        self.tree.push(0);
        self.tree.extend_from_slice(id);
        self.count += count;
    }
}
