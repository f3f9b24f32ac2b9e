//! Reading objects, each checked against its name.

use std::path::PathBuf;
use std::sync::Arc;

use gix_object::Kind;
use gix_pack::data::decode::{entry, header};
use gix_zlib::Inflate;

use super::cache::Bases;
use super::packs::{Pack, Packs};
use super::repository::Repository;
use super::{Blob, GitError, Id, loose};
use crate::git_object;

/// The largest content that is read.
pub(crate) const OBJECT_MAX: u64 = 1 << 30;

/// Reads objects of a repository. It keeps what deltas are made against, so each thread has its own.
pub struct Reader<'a> {
    repository: &'a Repository,
    packs: Arc<Packs>,
    inflate: Inflate,
    bases: Bases,
}

/// How large an object may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(pub(crate) u64);

impl Limit {
    pub(super) fn check(self, id: &Id, size: u64) -> Result<(), GitError> {
        if size > self.0 {
            return Err(GitError::ObjectSize { id: *id, size, limit: self.0 });
        }
        Ok(())
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(repository: &'a Repository) -> Self {
        let packs = repository.packs();
        Self { repository, packs, inflate: Inflate::default(), bases: Bases::default() }
    }

    /// Reads a content into `out`, whatever was in it: exactly the bytes that the name stands for.
    /// A pack that is replaced meanwhile is no error.
    ///
    /// # Errors
    /// The content is missing, damaged, no blob, not of the size that the snapshot said, or has more
    /// than a GiB. What `out` holds then is not to be used.
    pub fn read(&mut self, blob: &Blob, out: &mut Vec<u8>) -> Result<(), GitError> {
        let Blob { id, size } = blob;
        Limit(OBJECT_MAX).check(id, *size)?;
        self.object(id, Kind::Blob, Limit(*size), out)?;
        if out.len() as u64 == *size { Ok(()) } else { Err(GitError::Corrupt { id: *id }) }
    }

    /// Reads an object of a kind.
    pub(crate) fn object(
        &mut self,
        id: &Id,
        kind: Kind,
        limit: Limit,
        out: &mut Vec<u8>,
    ) -> Result<(), GitError> {
        let found = self.any(id, limit, out)?;
        if found == kind { Ok(()) } else { Err(wrong_kind(id, kind)) }
    }

    /// Reads an object of any kind.
    pub(crate) fn any(
        &mut self,
        id: &Id,
        limit: Limit,
        out: &mut Vec<u8>,
    ) -> Result<Kind, GitError> {
        let kind = self.look_up(id, |reader| reader.unverified(id, limit, out))?;
        if is_named(id, kind, out) { Ok(kind) } else { Err(GitError::Corrupt { id: *id }) }
    }

    /// Returns kind and size of an object, as the repository claims them.
    pub(crate) fn header(&mut self, id: &Id) -> Result<(Kind, u64), GitError> {
        self.look_up(id, |reader| match reader.packs.find(id) {
            _ if id.is_of_empty_tree() => Ok(Some((Kind::Tree, 0))),
            Some((pack, offset)) => reader.packed_header(id, &pack, offset).map(Some),
            None => loose::header(reader.repository.object_store(), id),
        })
    }

    /// Returns whether an object is there, for all that is known now: one that a collection moves
    /// meanwhile may be missed.
    pub(crate) fn has(&self, id: &Id) -> Result<bool, GitError> {
        Ok(self.packs.find(id).is_some() || loose::is_there(self.repository.object_store(), id)?)
    }

    /// Looks again when nothing is found: a collection may have moved the object meanwhile.
    fn look_up<T>(
        &mut self,
        id: &Id,
        mut find: impl FnMut(&mut Self) -> Result<Option<T>, GitError>,
    ) -> Result<T, GitError> {
        if id.algorithm() != self.repository.algorithm() {
            return Err(GitError::Missing { id: *id });
        }
        if let Some(found) = find(self)? {
            return Ok(found);
        }
        self.packs = self.repository.refresh()?;
        match find(self)? {
            Some(found) => Ok(found),
            None => Err(self.missing(id)),
        }
    }

    fn missing(&self, id: &Id) -> GitError {
        match self.packs.broken() {
            Some(fault) => fault.clone(),
            None if self.repository.is_partial() => {
                GitError::PartialClone { id: *id, path: PathBuf::new() }
            }
            None => GitError::Missing { id: *id },
        }
    }

    fn unverified(
        &mut self,
        id: &Id,
        limit: Limit,
        out: &mut Vec<u8>,
    ) -> Result<Option<Kind>, GitError> {
        if id.is_of_empty_tree() {
            out.clear();
            return Ok(Some(Kind::Tree));
        }
        let Some((pack, offset)) = self.packs.find(id) else {
            return loose::read(self.repository.object_store(), id, limit, out);
        };
        let (_, size) = self.packed_header(id, &pack, offset)?;
        limit.check(id, size)?;
        self.packed(id, &pack, offset, out).map(Some)
    }

    fn packed_header(
        &mut self,
        id: &Id,
        pack: &Pack,
        offset: u64,
    ) -> Result<(Kind, u64), GitError> {
        let corrupt = |_| GitError::Corrupt { id: *id };
        let entry = pack.data.entry(offset).map_err(corrupt)?;
        let base = |id: &gix_hash::oid| {
            let entry = pack.offset_of(id).map(|offset| pack.data.entry(offset)).transpose()?;
            Ok(entry.map(header::ResolvedBase::InPack))
        };
        let found = pack.data.decode_header(entry, &mut self.inflate, &base).map_err(corrupt)?;
        Ok((found.kind, found.object_size))
    }

    fn packed(
        &mut self,
        id: &Id,
        pack: &Pack,
        offset: u64,
        out: &mut Vec<u8>,
    ) -> Result<Kind, GitError> {
        let corrupt = |_| GitError::Corrupt { id: *id };
        let entry = pack.data.entry(offset).map_err(corrupt)?;
        let base = |id: &gix_hash::oid, _: &mut Vec<u8>| {
            let entry = pack.offset_of(id).map(|offset| pack.data.entry(offset)).transpose()?;
            Ok(entry.map(entry::ResolvedBase::InPack))
        };
        out.clear();
        let found = pack.data.decode_entry(entry, out, &mut self.inflate, &base, &mut self.bases);
        found.map(|found| found.kind).map_err(corrupt)
    }
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Reader").finish_non_exhaustive()
    }
}

pub(super) fn wrong_kind(id: &Id, kind: Kind) -> GitError {
    let expected = match kind {
        Kind::Tree => "tree",
        Kind::Blob => "blob",
        Kind::Commit => "commit",
        Kind::Tag => "tag",
    };
    GitError::Kind { id: *id, expected }
}

/// Returns whether the bytes are those that a name stands for. A known collision of SHA-1 is not.
fn is_named(id: &Id, kind: Kind, bytes: &[u8]) -> bool {
    let mut hash = git_object::begin(id.algorithm(), kind, bytes.len() as u64);
    hash.update(bytes);
    hash.try_finalize().is_ok_and(|found| found.as_slice() == id.as_bytes())
}
