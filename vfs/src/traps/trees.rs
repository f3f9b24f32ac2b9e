//! The trees of a repository, which are believed by their names only: it does not matter who wrote them.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Sides;
use crate::git_object::{self, Work};
use crate::git_tree::{Id, loose_path};

/// What is counted for each tree that is asked for, each name beside packs, and each pack that is looked into.
const TREE: u64 = 4 << 10;
const NAME: u64 = 1 << 10;
const PACK: u64 = 64 << 10;

/// Where they are, on both sides.
pub(super) struct StoredTrees<'a> {
    sides: Sides<'a>,
    objects: PathBuf,
    /// The names of the indexes of packs.
    packs: OnceCell<Vec<OsString>>,
    work: &'a Work,
}

impl<'a> StoredTrees<'a> {
    /// Takes those of a git directory; a linked work tree's are those of its repository.
    pub(super) fn of(git_dir: &Path, sides: Sides<'a>, work: &'a Work) -> Self {
        let is_linked = sides.has(git_dir, "commondir");
        let common = git_dir.parent().and_then(Path::parent).filter(|_| is_linked);
        let objects = common.unwrap_or(git_dir).join("objects");
        Self { sides, objects, packs: OnceCell::new(), work }
    }

    pub(super) fn read(&self, id: &Id) -> Option<Vec<u8>> {
        if id.is_of_empty_tree() {
            return Some(Vec::new());
        }
        self.work.take(TREE)?;
        let loose = self.sides.open_file(&self.objects.join(loose_path(id)));
        let loose = loose.ok().and_then(|file| git_object::loose_tree(&file, id, self.work));
        loose.or_else(|| self.packs().iter().find_map(|pack| self.packed(pack, id)))
    }

    fn packs(&self) -> &[OsString] {
        self.packs.get_or_init(|| {
            let names = self.sides.names(&self.objects.join("pack")).unwrap_or_default();
            let is_index = |name: &OsString| Path::new(name).extension() == Some("idx".as_ref());
            let is_looked_at = self.work.take(names.len() as u64 * NAME).is_some();
            names.into_iter().filter(|name| is_looked_at && is_index(name)).collect()
        })
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
