//! Objects that the command made: whatever its references lead to and the repository lacks.

use std::collections::HashSet;

use gix_object::Kind;

use super::CopyError;
use super::error::ObjectFault;
use super::objects::Objects;
use super::trees::SUBMODULE;
use crate::git_tree::{self, DIRECTORY, Id, Limit, OBJECT_MAX, check, field};
use crate::snapshot::Naming;

/// The most objects that are taken over.
const MOST: usize = 4_000_000;

/// Stages all objects that `tips` lead to.
pub(super) fn import(objects: &mut Objects<'_>, tips: &[Id]) -> Result<(), CopyError> {
    let mut wanted: Vec<(Id, Option<Kind>)> = tips.iter().map(|id| (*id, None)).collect();
    let (mut seen, mut bytes) = (HashSet::new(), Vec::new());
    while let Some((id, expected)) = wanted.pop() {
        // What the repository has leads to nothing that it lacks.
        if objects.knows(&id)? || !seen.insert(id) {
            continue;
        }
        if seen.len() > MOST {
            return Err(CopyError::TooMuch { what: "new objects", most: MOST as u64 });
        }
        let kind = objects.read(&id, Limit(OBJECT_MAX), &mut bytes)?;
        let fault = |fault| CopyError::Object { id, fault };
        if expected.is_some_and(|expected| expected != kind) {
            return Err(fault(ObjectFault::Kind));
        }
        let next = match kind {
            Kind::Blob => Vec::new(),
            Kind::Tree => of_tree(&bytes, &id).map_err(fault)?,
            Kind::Commit => of_commit(&bytes).ok_or_else(|| fault(ObjectFault::Format))?,
            Kind::Tag => of_tag(&bytes).ok_or_else(|| fault(ObjectFault::Format))?,
        };
        wanted.extend(next);
        objects.put(kind, &bytes)?;
    }
    Ok(())
}

type Next = Vec<(Id, Option<Kind>)>;

/// Returns what a tree leads to, when it is one that git would accept.
fn of_tree(bytes: &[u8], id: &Id) -> Result<Next, ObjectFault> {
    check(bytes, id.algorithm()).map_err(|_| ObjectFault::Format)?;
    let (mut at, mut next) = (0, Vec::new());
    while let Ok(Some((entry, after))) = git_tree::entry(bytes, at, id.algorithm()) {
        if let Some(fault) = Naming::Git.fault(entry.name) {
            return Err(ObjectFault::Name(fault));
        }
        match entry.mode {
            DIRECTORY => next.push((entry.id, Some(Kind::Tree))),
            0o100_644 | 0o100_755 | 0o100_664 | 0o120_000 => {
                next.push((entry.id, Some(Kind::Blob)));
            }
            // A commit of another repository.
            SUBMODULE => {}
            mode => return Err(ObjectFault::Mode(mode)),
        }
        at = after;
    }
    Ok(next)
}

fn of_commit(bytes: &[u8]) -> Option<Next> {
    let is_whole = bytes.starts_with(b"tree ")
        && field(bytes, "author", 0).is_some()
        && field(bytes, "committer", 0).is_some();
    let tree = field(bytes, "tree", 0).and_then(Id::from_digits).filter(|_| is_whole)?;
    let mut next = vec![(tree, Some(Kind::Tree))];
    for number in 0.. {
        let Some(parent) = field(bytes, "parent", number) else { break };
        next.push((Id::from_digits(parent)?, Some(Kind::Commit)));
    }
    Some(next)
}

fn of_tag(bytes: &[u8]) -> Option<Next> {
    let tagged = field(bytes, "object", 0).and_then(Id::from_digits)?;
    let is_whole = field(bytes, "type", 0).is_some() && field(bytes, "tag", 0).is_some();
    is_whole.then(|| vec![(tagged, None)])
}
