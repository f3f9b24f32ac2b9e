//! One directory, checked.

use std::collections::HashSet;

use prost::Message;

use super::record::{Records, malformed};
use super::{MessageError, wire};
use crate::cas::Digest;
use crate::snapshot::Naming;

/// The most bytes of one entry. A name and a target together stay far below; what is left is for
/// properties, which are read over and over where a hostile tree has a directory many times.
const RECORD_MAX: usize = 16 << 10;

/// What a directory holds: each list sorted by the bytes of its names, no name twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    files: Vec<ListedFile>,
    directories: Vec<ListedDirectory>,
    symlinks: Vec<ListedSymlink>,
}

/// A file of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Its name.
    pub name: String,
    /// Its content.
    pub digest: Digest,
    /// Whether it can be executed.
    pub executable: bool,
}

/// A directory of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDirectory {
    /// Its name.
    pub name: String,
    /// The digest of its message.
    pub digest: Digest,
}

/// A symbolic link of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSymlink {
    /// Its name.
    pub name: String,
    /// Where it leads.
    pub target: String,
}

impl Listing {
    /// Sorts what a directory holds and checks its names.
    ///
    /// # Errors
    /// A name that no file can have, or one that stands there twice.
    pub fn new(
        mut files: Vec<ListedFile>,
        mut directories: Vec<ListedDirectory>,
        mut symlinks: Vec<ListedSymlink>,
    ) -> Result<Self, MessageError> {
        files.sort_by(|one, other| one.name.cmp(&other.name));
        directories.sort_by(|one, other| one.name.cmp(&other.name));
        symlinks.sort_by(|one, other| one.name.cmp(&other.name));
        let listing = Self { files, directories, symlinks };
        listing.check()?;
        Ok(listing)
    }

    /// Reads the bytes of a `Directory` message, with at most `limit` entries.
    ///
    /// Modes, times and other properties of nodes are taken and dropped: a tree shown from a
    /// store has the same for all.
    ///
    /// # Errors
    /// Anything but a directory in canonical form.
    pub fn decode(bytes: &[u8], limit: usize) -> Result<Self, MessageError> {
        let (mut listing, mut records) = (Self::default(), Records::of(bytes));
        let (mut left, mut properties) = (limit, 0);
        while let Some((field, record)) = records.next()? {
            if record.len() > RECORD_MAX {
                return Err(MessageError::LargeEntry { limit: RECORD_MAX });
            }
            if field == 5 {
                properties += 1;
            } else {
                left = left.checked_sub(1).ok_or(MessageError::ManyEntries { limit })?;
            }
            listing.take(field, record)?;
        }
        if properties > 1 {
            return Err(MessageError::NotCanonical { name: String::new() });
        }
        listing.check()?;
        Ok(listing)
    }

    /// Returns the canonical bytes of the `Directory` message.
    pub fn encode(&self) -> Vec<u8> {
        let message = wire::Directory {
            files: self.files.iter().map(ListedFile::to_wire).collect(),
            directories: self.directories.iter().map(ListedDirectory::to_wire).collect(),
            symlinks: self.symlinks.iter().map(ListedSymlink::to_wire).collect(),
            node_properties: None,
        };
        message.encode_to_vec()
    }

    /// Returns the files.
    pub fn files(&self) -> &[ListedFile] {
        &self.files
    }

    /// Returns the directories.
    pub fn directories(&self) -> &[ListedDirectory] {
        &self.directories
    }

    /// Returns the symbolic links.
    pub fn symlinks(&self) -> &[ListedSymlink] {
        &self.symlinks
    }

    fn take(&mut self, field: u32, record: &[u8]) -> Result<(), MessageError> {
        match field {
            1 => self.files.push(ListedFile::of(canonical(record, file_name)?)?),
            2 => self.directories.push(ListedDirectory::of(canonical(record, directory_name)?)?),
            3 => self.symlinks.push(ListedSymlink::of(canonical(record, symlink_name)?)),
            5 => drop(canonical(record, |_: &wire::NodeProperties| "")?),
            field => return Err(MessageError::Field { field }),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), MessageError> {
        let lists = [
            self.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(),
            self.directories.iter().map(|directory| directory.name.as_str()).collect(),
            self.symlinks.iter().map(|symlink| symlink.name.as_str()).collect(),
        ];
        lists.iter().try_for_each(|list| check_order(list))?;
        let mut names = HashSet::new();
        for name in lists.concat() {
            if let Some(fault) = Naming::Any.fault(name.as_bytes()) {
                return Err(MessageError::Name { name: name.to_owned(), fault });
            }
            if !names.insert(name) {
                return Err(MessageError::Twice { name: name.to_owned() });
            }
        }
        Ok(())
    }
}

/// Two equal names are not out of order; that they are two is found later.
fn check_order(names: &[&str]) -> Result<(), MessageError> {
    let wrong = names.windows(2).find(|pair| matches!(pair, [one, next] if one > next));
    match wrong {
        Some([_, name]) => Err(MessageError::Unsorted { name: (*name).to_owned() }),
        _ => Ok(()),
    }
}

/// Decodes a node whose bytes are those it would be encoded to: without unknown or repeated
/// fields, in the order of their numbers.
fn canonical<M: Message + Default>(
    record: &[u8],
    name: impl Fn(&M) -> &str,
) -> Result<M, MessageError> {
    let node = M::decode(record).map_err(malformed)?;
    if node.encode_to_vec() == record {
        return Ok(node);
    }
    Err(MessageError::NotCanonical { name: name(&node).to_owned() })
}

fn file_name(node: &wire::FileNode) -> &str {
    &node.name
}

fn directory_name(node: &wire::DirectoryNode) -> &str {
    &node.name
}

fn symlink_name(node: &wire::SymlinkNode) -> &str {
    &node.name
}

impl ListedFile {
    fn of(node: wire::FileNode) -> Result<Self, MessageError> {
        let digest = digest(&node.name, node.digest)?;
        Ok(Self { name: node.name, digest, executable: node.is_executable })
    }

    fn to_wire(&self) -> wire::FileNode {
        wire::FileNode {
            name: self.name.clone(),
            digest: Some(self.digest.into()),
            is_executable: self.executable,
            node_properties: None,
        }
    }
}

impl ListedDirectory {
    fn of(node: wire::DirectoryNode) -> Result<Self, MessageError> {
        let digest = digest(&node.name, node.digest)?;
        Ok(Self { name: node.name, digest })
    }

    fn to_wire(&self) -> wire::DirectoryNode {
        wire::DirectoryNode { name: self.name.clone(), digest: Some(self.digest.into()) }
    }
}

impl ListedSymlink {
    fn of(node: wire::SymlinkNode) -> Self {
        Self { name: node.name, target: node.target }
    }

    fn to_wire(&self) -> wire::SymlinkNode {
        let (name, target) = (self.name.clone(), self.target.clone());
        wire::SymlinkNode { name, target, node_properties: None }
    }
}

fn digest(name: &str, digest: Option<wire::Digest>) -> Result<Digest, MessageError> {
    let digest = digest.ok_or_else(|| MessageError::NoDigest { name: name.to_owned() })?;
    digest.try_into().map_err(|error| MessageError::Digest { name: name.to_owned(), error })
}
