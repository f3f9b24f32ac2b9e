//! A whole tree in one message.

use std::collections::HashMap;

use super::record::Records;
use super::{Listing, MessageError};
use crate::cas::Digest;

/// A `Tree` message taken apart. Its directories are read only when they are asked for.
///
/// Directories that nothing names, or that stand there twice, are no error: the message is named
/// by its own digest, whatever it carries.
#[derive(Clone, Debug)]
pub struct TreeMessage<'a> {
    root: &'a [u8],
    directories: HashMap<Digest, &'a [u8]>,
}

impl<'a> TreeMessage<'a> {
    /// Takes the bytes of a `Tree` message apart, with at most `limit` directories.
    ///
    /// # Errors
    /// Unknown or misplaced fields, no root or two, more directories.
    pub fn decode(bytes: &'a [u8], limit: usize) -> Result<Self, MessageError> {
        let (mut roots, mut directories) = (Vec::new(), HashMap::new());
        let mut records = Records::of(bytes);
        while let Some((field, record)) = records.next()? {
            match field {
                1 if roots.is_empty() => roots.push(record),
                1 => return Err(MessageError::Root),
                2 => drop(directories.insert(Digest::of(record), record)),
                field => return Err(MessageError::Field { field }),
            }
            if directories.len() > limit {
                return Err(MessageError::ManyEntries { limit });
            }
        }
        let root = roots.pop().ok_or(MessageError::Root)?;
        Ok(Self { root, directories })
    }

    /// Returns the bytes of the directory at the root.
    pub fn root(&self) -> &'a [u8] {
        self.root
    }

    /// Returns the bytes of a directory.
    pub fn directory(&self, digest: &Digest) -> Option<&'a [u8]> {
        self.directories.get(digest).copied()
    }

    /// Returns all directories below the root, in no order.
    pub fn directories(&self) -> impl Iterator<Item = &'a [u8]> {
        self.directories.values().copied()
    }

    /// Puts the message of a tree together from the root and all directories below it.
    pub fn encode(root: &Listing, children: &[Listing]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let children = children.iter().map(|child| (2, child.encode()));
        for (field, record) in std::iter::once((1, root.encode())).chain(children) {
            prost::encoding::bytes::encode(field, &record, &mut bytes);
        }
        bytes
    }
}
