//! The trees of a repository, which are believed by their names only: it does not matter who wrote them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Sides;
use crate::git_object::{self, Work};
use crate::git_tree::{Id, loose_path};

/// What is counted for each tree that is asked for, each name beside packs, and each pack that is looked into.
const TREE: u64 = 4 << 10;
const NAME: u64 = 4 << 10;
const PACK: u64 = 64 << 10;
/// The most names beside packs: with more there no pack is looked into.
const NAMES: usize = 1 << 17;
/// How many bytes of trees are remembered, and what is counted for each beside its own.
const KEPT: usize = 64 << 20;
const EACH: usize = 256;

/// What was found in the repositories of a mount: one tree is asked for any number of times.
#[derive(Debug)]
pub(super) struct KnownTrees {
    /// By the directory of objects.
    stores: RefCell<HashMap<PathBuf, Store>>,
    /// How many bytes more are remembered.
    room: Cell<usize>,
}

#[derive(Debug, Default)]
struct Store {
    /// The names of the indexes of packs.
    packs: Option<Arc<[OsString]>>,
    trees: HashMap<Id, MaybeTree>,
}

/// A tree, or that there is none.
#[derive(Clone, Debug)]
struct MaybeTree(Option<Vec<u8>>);

impl Default for KnownTrees {
    fn default() -> Self {
        Self { stores: RefCell::default(), room: Cell::new(KEPT) }
    }
}

impl KnownTrees {
    fn tree(&self, objects: &Path, id: &Id) -> Option<MaybeTree> {
        self.stores.borrow().get(objects)?.trees.get(id).cloned()
    }

    fn packs(&self, objects: &Path) -> Option<Arc<[OsString]>> {
        self.stores.borrow().get(objects)?.packs.clone()
    }

    /// Remembers what a tree is, or that there is none, as long as there is room.
    fn keep(&self, objects: &Path, id: &Id, tree: Option<&Vec<u8>>) {
        let length = tree.map_or(0, Vec::len) + EACH;
        if let Some(room) = self.room.get().checked_sub(length) {
            self.room.set(room);
            self.change(objects, &|store| drop(store.trees.insert(*id, MaybeTree(tree.cloned()))));
        }
    }

    fn change(&self, objects: &Path, change: &dyn Fn(&mut Store)) {
        change(self.stores.borrow_mut().entry(objects.to_owned()).or_default());
    }
}

/// Where trees are stored, on both sides.
pub(super) struct StoredTrees<'a> {
    sides: Sides<'a>,
    objects: PathBuf,
    known: &'a KnownTrees,
    work: &'a Work,
}

impl<'a> StoredTrees<'a> {
    /// Returns where the trees of a git directory are stored; a linked work tree's are those of its repository.
    pub(super) fn of(
        git_dir: &Path,
        sides: Sides<'a>,
        known: &'a KnownTrees,
        work: &'a Work,
    ) -> Self {
        let is_linked = sides.has(git_dir, "commondir");
        let common = git_dir.parent().and_then(Path::parent).filter(|_| is_linked);
        let objects = common.unwrap_or(git_dir).join("objects");
        Self { sides, objects, known, work }
    }

    pub(super) fn read(&self, id: &Id) -> Option<Vec<u8>> {
        if id.is_of_empty_tree() {
            return Some(Vec::new());
        }
        self.work.take(TREE)?;
        if let Some(MaybeTree(known)) = self.known.tree(&self.objects, id) {
            self.work.take(known.as_ref().map_or(0, Vec::len) as u64)?;
            return known;
        }
        let found = self.loose(id).or_else(|| self.of_packs(id));
        self.known.keep(&self.objects, id, found.as_ref());
        found
    }

    fn loose(&self, id: &Id) -> Option<Vec<u8>> {
        let file = self.sides.open_file(&self.objects.join(loose_path(id))).ok()?;
        git_object::loose_tree(&file, id, self.work)
    }

    fn of_packs(&self, id: &Id) -> Option<Vec<u8>> {
        let known = self.known.packs(&self.objects);
        let packs = known.or_else(|| self.list().map(Arc::from))?;
        self.known.change(&self.objects, &|store| store.packs = Some(packs.clone()));
        packs.iter().find_map(|pack| self.packed(pack, id))
    }

    /// Lists the indexes of packs; none where there are more names than are looked at.
    fn list(&self) -> Option<Vec<OsString>> {
        let left = usize::try_from(self.work.left() / NAME).unwrap_or(NAMES);
        let listed = self.sides.names(&self.objects.join("pack"), left.min(NAMES) + 1);
        let mut names = listed.unwrap_or_default();
        self.work.take(names.len() as u64 * NAME)?;
        let is_looked_at = names.len() <= NAMES;
        names.retain(|it| is_looked_at && Path::new(it).extension() == Some("idx".as_ref()));
        Some(names)
    }

    fn packed(&self, index: &OsString, id: &Id) -> Option<Vec<u8>> {
        self.work.take(PACK)?;
        let path = self.objects.join("pack").join(index);
        let open = |path: &Path| self.sides.open_file(path).ok();
        let (data, index) = (open(&path.with_extension("pack"))?, open(&path)?);
        git_object::packed_tree((&data, &index), id, self.work)
    }
}

#[cfg(test)]
mod tests;
