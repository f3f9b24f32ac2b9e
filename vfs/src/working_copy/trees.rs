//! Trees of both repositories, read once each.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use gix_object::Kind;

use super::CopyError;
use super::error::ObjectFault;
use super::objects::Objects;
use crate::git_tree::{self, DIRECTORY, Id, STRUCTURE_MAX};

/// What a name in a tree leads to: kind and bits, and the object.
pub(super) type Leaf = (u32, Id);

/// The entries of a tree by name.
pub(super) type Entries = BTreeMap<Vec<u8>, Leaf>;

/// Trees that were read.
#[derive(Default)]
pub(super) struct Trees(HashMap<Id, Rc<Entries>>);

impl Trees {
    /// Returns the entries of a tree.
    pub(super) fn entries(
        &mut self,
        objects: &mut Objects<'_>,
        id: &Id,
    ) -> Result<Rc<Entries>, CopyError> {
        if let Some(known) = self.0.get(id) {
            return Ok(known.clone());
        }
        let mut bytes = Vec::new();
        if objects.read(id, STRUCTURE_MAX, &mut bytes)? != Kind::Tree {
            return Err(CopyError::Object { id: *id, fault: ObjectFault::Kind });
        }
        let entries = Rc::new(parse(id, &bytes)?);
        self.0.insert(*id, entries.clone());
        Ok(entries)
    }

    /// Takes the entries of a tree that is staged: it is in no repository yet.
    pub(super) fn remember(&mut self, id: Id, entries: Entries) {
        self.0.insert(id, Rc::new(entries));
    }

    /// Returns what a tree has at a path; the root is no entry.
    pub(super) fn find(
        &mut self,
        objects: &mut Objects<'_>,
        root: &Id,
        path: &Path,
    ) -> Result<Option<Leaf>, CopyError> {
        let (mut at, mut names) = (*root, path.iter().peekable());
        while let Some(name) = names.next() {
            let entries = self.entries(objects, &at)?;
            let Some(found) = entries.get(name.as_bytes()) else { return Ok(None) };
            match *found {
                leaf if names.peek().is_none() => return Ok(Some(leaf)),
                (DIRECTORY, id) => at = id,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }
}

fn parse(id: &Id, bytes: &[u8]) -> Result<Entries, CopyError> {
    let bad = |_| CopyError::Object { id: *id, fault: ObjectFault::Format };
    let (mut at, mut entries) = (0, Entries::new());
    while let Some((entry, next)) = git_tree::entry(bytes, at, id.algorithm()).map_err(bad)? {
        entries.insert(entry.name.to_vec(), (entry.mode, entry.id));
        at = next;
    }
    Ok(entries)
}

/// Returns the bytes of a tree with these entries.
pub(super) fn bytes(entries: &Entries) -> Vec<u8> {
    let entries =
        entries.iter().map(|(name, (mode, id))| git_tree::Entry { mode: *mode, name, id: *id });
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(git_tree::order);
    let mut bytes = Vec::new();
    for git_tree::Entry { mode, name, id } in entries {
        bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    bytes
}
