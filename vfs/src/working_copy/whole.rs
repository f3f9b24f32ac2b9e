//! Whether what was staged some time ago can still land: since then the repository may have collected what
//! it leads to, and a loss of power may have damaged it.

use std::os::fd::BorrowedFd;

use gix_object::Kind;

use super::order::{Name, in_order};
use super::verify::verify;
use crate::fs::Fs;
use crate::git_tree::{GitError, Id, Limit, OBJECT_MAX, Reader, Repository};

/// Returns whether all staged objects are what their names say, and lead to what is staged as well or in the
/// repository, which was opened with the staging directory as one more of objects; `tips` are there too.
pub fn is_whole(
    fs: &dyn Fs,
    staging: BorrowedFd<'_>,
    repository: &Repository,
    tips: &[Id],
) -> bool {
    let Ok(staged) = in_order(fs, staging) else { return false };
    let mut reader = repository.reader();
    // Of a partial clone much may be missing.
    let is_complete = !repository.is_partial();
    let mut ids = staged.iter().map(id);
    ids.all(|id| id.is_some_and(|id| is_sound(&mut reader, &id, is_complete)))
        && tips.iter().all(|tip| is_there(&reader, tip))
}

fn id((fan, rest): &Name) -> Option<Id> {
    format!("{}{}", fan.to_str()?, rest.to_str()?).parse().ok()
}

fn is_sound(reader: &mut Reader<'_>, id: &Id, is_complete: bool) -> bool {
    let mut bytes = Vec::new();
    match reader.any(id, Limit(OBJECT_MAX), &mut bytes) {
        // Such a content is copied as it is.
        Err(GitError::ObjectSize { .. }) => true,
        Err(_) => false,
        Ok(kind) => !is_complete || leads_to_all(reader, (id, kind), &bytes),
    }
}

/// A tree that git would not accept is made of one that the repository has: nobody knows where it leads.
fn leads_to_all(reader: &Reader<'_>, (id, kind): (&Id, Kind), bytes: &[u8]) -> bool {
    let next = verify(kind, bytes, id.algorithm()).unwrap_or_default();
    next.iter().all(|(id, _)| is_there(reader, id))
}

fn is_there(reader: &Reader<'_>, id: &Id) -> bool {
    id.is_of_empty_tree() || reader.has(id).unwrap_or(false)
}
