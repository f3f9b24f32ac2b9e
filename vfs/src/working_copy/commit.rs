//! Commits: which tree and parents one has, and a new one.

use std::collections::{HashSet, VecDeque};

use gix_object::Kind;

use super::CopyError;
use super::error::ObjectFault;
use super::objects::Objects;
use crate::git_tree::{Id, STRUCTURE_MAX, field};

/// The most commits that are looked at to find an ancestor.
const HISTORY: usize = 10_000_000;

/// A commit that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct New<'a> {
    pub(super) tree: Id,
    pub(super) parent: Id,
    /// `Name <address>`, for author and committer.
    pub(super) author: &'a str,
    /// Seconds since 1970.
    pub(super) time: i64,
    pub(super) message: &'a str,
}

impl New<'_> {
    pub(super) fn put(&self, objects: &mut Objects<'_>) -> Result<Id, CopyError> {
        let Self { tree, parent, author, time, message } = self;
        let text = format!(
            "tree {tree}\nparent {parent}\nauthor {author} {time} +0000\n\
             committer {author} {time} +0000\n\n{message}\n"
        );
        objects.put(Kind::Commit, text.as_bytes())
    }
}

/// Returns the tree of a commit.
pub(super) fn tree(objects: &mut Objects<'_>, commit: &Id) -> Result<Id, CopyError> {
    let mut bytes = Vec::new();
    let kind = objects.read(commit, STRUCTURE_MAX, &mut bytes)?;
    let fault = |fault| CopyError::Object { id: *commit, fault };
    if kind != Kind::Commit {
        return Err(fault(ObjectFault::Kind));
    }
    let tree = field(&bytes, "tree", 0).and_then(Id::from_digits);
    tree.ok_or_else(|| fault(ObjectFault::Format))
}

/// Returns whether a commit is `old` or comes after it; `parents` reads the parents of one.
pub(super) fn comes_after<E>(
    commit: &Id,
    old: &Id,
    parents: &mut dyn FnMut(&Id) -> Result<Vec<Id>, E>,
) -> Result<bool, E> {
    let (mut seen, mut wanted) = (HashSet::new(), VecDeque::from([*commit]));
    // The nearest first: a merge brings a whole history along.
    while let Some(id) = wanted.pop_front() {
        if id == *old {
            return Ok(true);
        }
        if seen.len() < HISTORY && seen.insert(id) {
            wanted.extend(parents(&id)?);
        }
    }
    Ok(false)
}

/// Returns the parents in the bytes of a commit.
pub(super) fn parents(bytes: &[u8]) -> Vec<Id> {
    let of = |number| field(bytes, "parent", number).and_then(Id::from_digits);
    (0..).map_while(of).collect()
}
