//! The packs of all object directories, open.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use gix_hash::{Kind, Prefix};
use gix_pack::{MMap, data, index};

use super::files::{Dir, Opened};
use super::{GitError, Id};

/// The most bytes of the indexes of all packs: those of some 250 million objects.
pub(super) const INDEXES: u64 = 8 << 30;
/// The most bytes of the indexes of packs that a command made: it could have made any number from nothing, by holes.
pub(super) const FOREIGN_INDEXES: u64 = 512 << 20;
/// The largest index of one pack.
const INDEX_SIZE: u64 = 2 << 30;
/// All memory that one object and what it is a delta of may take.
const MEMORY: usize = 5 << 29;

/// A pack. What was opened can be read when the file is gone.
pub(super) struct Pack {
    index: index::File<MMap>,
    pub(super) data: data::File<MMap>,
    /// The bytes of the index.
    size: u64,
}

/// The packs that were there at one moment.
#[derive(Default)]
pub(super) struct Packs {
    /// By object directory and name.
    open: HashMap<(usize, OsString), Arc<Pack>>,
    /// Why some can't be used; what they hold is missing then.
    broken: Vec<GitError>,
    /// The bytes of all indexes.
    bytes: u64,
}

impl Packs {
    /// Opens all packs, those that are open already excepted.
    pub(super) fn load(
        dirs: &[Dir],
        (kind, most): (Kind, u64),
        before: &Self,
    ) -> Result<Self, GitError> {
        let mut packs = Self::default();
        for (number, dir) in dirs.iter().enumerate() {
            let names = dir.names(Path::new("pack"))?.into_iter();
            let is_index = |name: &OsString| Path::new(name).extension() == Some("idx".as_ref());
            for name in names.filter(is_index) {
                match before.open.get(&(number, name.clone())) {
                    Some(pack) => packs.keep(number, name, pack.clone()),
                    None => packs.add(dir, (number, name), (kind, most))?,
                }
            }
        }
        Ok(packs)
    }

    /// Returns a pack that has an object, and where in it.
    pub(super) fn find(&self, id: &Id) -> Option<(Arc<Pack>, u64)> {
        self.open.values().find_map(|pack| Some((pack.clone(), pack.offset(id)?)))
    }

    /// Adds the objects whose names begin so.
    pub(super) fn with_prefix(&self, prefix: Prefix, found: &mut Vec<Id>) {
        for pack in self.open.values() {
            let mut range = 0..0;
            pack.index.lookup_prefix(prefix, Some(&mut range));
            found.extend(range.map(|at| Id::from_object(&pack.index.oid_at_index(at).into())));
        }
    }

    /// Returns why a pack can't be used.
    pub(super) fn broken(&self) -> Option<&GitError> {
        self.broken.first()
    }

    fn keep(&mut self, dir: usize, name: OsString, pack: Arc<Pack>) {
        self.bytes = self.bytes.saturating_add(pack.size);
        self.open.insert((dir, name), pack);
    }

    fn add(
        &mut self,
        dir: &Dir,
        (number, name): (usize, OsString),
        (kind, most): (Kind, u64),
    ) -> Result<(), GitError> {
        let path = Path::new("pack").join(&name);
        match Pack::open(dir, &path, (kind, most.saturating_sub(self.bytes))) {
            Ok(Some(pack)) => self.keep(number, name, Arc::new(pack)),
            // A collection took it away since it was listed, or has not finished it.
            Ok(None) => {}
            Err(GitError::PackIndex { path, size, .. }) => {
                let most = most.min(INDEX_SIZE);
                self.broken.push(GitError::PackIndex { path, size, most });
            }
            Err(damaged @ GitError::Damaged { .. }) => self.broken.push(damaged),
            Err(other) => return Err(other),
        }
        Ok(())
    }
}

impl Pack {
    /// Opens a pack whose index has at most so many bytes.
    fn open(dir: &Dir, index: &Path, (kind, most): (Kind, u64)) -> Result<Option<Self>, GitError> {
        let Some(table) = dir.file(index)? else { return Ok(None) };
        let name = index.with_extension("pack");
        let Some(opened) = dir.file(&name)? else { return Ok(None) };
        let damaged = |name: &Path| GitError::Damaged { path: dir.path().join(name) };
        let (size, most) = (table.size, most.min(INDEX_SIZE));
        if size > most {
            return Err(GitError::PackIndex { path: dir.path().join(index), size, most });
        }
        // Mapped, since most runs look up two objects of many. Whoever changes it meanwhile changes
        // where objects are looked for; each is compared with its name.
        let index = index::File::at(path_of(&table), kind).map_err(|_| damaged(index))?;
        let mut data = data::File::at(path_of(&opened), kind).map_err(|_| damaged(&name))?;
        if data.num_objects() != index.num_objects() {
            return Err(damaged(&name));
        }
        data.id = next_number();
        Ok(Some(Self { index, data: data.with_alloc_limit_bytes(Some(MEMORY)), size }))
    }

    pub(super) fn offset(&self, id: &Id) -> Option<u64> {
        self.offset_of(&id.object())
    }

    pub(super) fn offset_of(&self, id: &gix_hash::oid) -> Option<u64> {
        self.index.lookup(id).map(|at| self.index.pack_offset_at_index(at))
    }
}

/// By its descriptor, since the file behind the name may be another one by now.
fn path_of(opened: &Opened) -> String {
    format!("/proc/self/fd/{}", opened.file.as_raw_fd())
}

/// Caches tell packs apart by their numbers.
fn next_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Scratch, git};

    #[test]
    fn indexes_count_together() {
        let scratch = Scratch::new();
        git(scratch.path(), &["init", "-q", "."]);
        for name in ["one", "two"] {
            std::fs::write(scratch.path().join(name), name).expect("written");
            git(scratch.path(), &["add", "."]);
            git(scratch.path(), &["commit", "-qm", name]);
            git(scratch.path(), &["repack", "-qd"]);
        }
        let dirs = [Dir::open(&scratch.path().join(".git/objects")).expect("opened")];
        let load = |most| Packs::load(&dirs, (Kind::Sha1, most), &Packs::default()).expect("read");
        let all = load(u64::MAX);
        assert_eq!((all.open.len(), all.broken.len()), (2, 0));
        let fewer = load(all.bytes - 1);
        assert_eq!((fewer.open.len(), fewer.broken.len()), (1, 1));
        assert!(
            matches!(fewer.broken(), Some(GitError::PackIndex { most, .. }) if *most < all.bytes)
        );
    }
}
