//! Indexes of repositories: git takes what is in them as it is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::GitTraps;
use super::git::is;
use super::settings::ids;
use super::trees::{KnownTrees, StoredTrees};
use crate::fs::Errno;
use crate::git_index::{self, Beside};
use crate::git_object::Work;
use crate::git_tree::Id;

/// Where a repository has what is checked out; the other file of a split one is called `sharedindex.ID`.
const INDEX: &str = "index";
const SHARED: &[u8] = b"sharedindex.";
/// Why an index is held.
const UNSOUND: &str = "an index by which git would write elsewhere, or that can't be checked";
const BEYOND: &str = "an index beyond what is looked at of indexes in one mount";
/// How many bytes of indexes, and of the trees that they stand for, are looked at in one mount.
const INDEXES: u64 = 16 << 30;
/// What is counted for each beside its bytes.
const EACH: u64 = 64 << 10;

/// What may still be looked at of the indexes in a mount, and what was found of their trees.
#[derive(Debug)]
pub struct IndexWork {
    new: Work,
    /// Of those that are old: a command that leaves many takes nothing of it.
    old: Work,
    trees: KnownTrees,
}

impl Default for IndexWork {
    fn default() -> Self {
        Self::of(INDEXES)
    }
}

impl IndexWork {
    /// Begins with so many bytes for new ones, and as many for those that are old.
    pub(super) fn of(bytes: u64) -> Self {
        Self { new: Work::of(bytes), old: Work::of(bytes), trees: KnownTrees::default() }
    }
}

/// Indexes that were looked at: why they are held.
#[derive(Default)]
pub(super) struct Indexes {
    known: RefCell<HashMap<PathBuf, Option<&'static str>>>,
    work: IndexWork,
}

impl GitTraps<'_> {
    /// Returns why a file is held that is an index by which git may write or look elsewhere, or commit something else, or one
    /// that can't be looked through. What one that is old says of trees is the user's.
    pub fn unsound_index(
        &self,
        path: &Path,
        all: &IndexWork,
        is_old: &dyn Fn() -> bool,
    ) -> Option<&'static str> {
        let above = path.parent().filter(|_| path.file_name().is_some_and(is_index))?;
        let sides = self.sides();
        let opened = sides.open_file(path);
        let is_old = is_old();
        let Ok(file) = opened else {
            // Another run may have a lease on what the user has (F_SETLEASE of fcntl(2)): it is not this run's doing.
            let is_leased = is_old && opened.is_err_and(|errno| errno == Errno::AGAIN);
            return (!is_leased && self.is_of_git(above)).then_some(UNSOUND);
        };
        let work = if is_old { &all.old } else { &all.new };
        let why = || if work.is_spent() { BEYOND } else { UNSOUND };
        let ids = work.take(EACH).and_then(|()| ids(sides, above, work));
        let Some(ids) = ids else { return Some(why()) };
        let trees = StoredTrees::of(above, sides.clone(), &all.trees, work);
        let stored = |id: &Id| trees.read(id);
        let beside = Beside { work, stored: (!is_old).then_some(&stored) };
        git_index::check(&file, ids, &beside).err().map(|_| why())
    }

    /// Returns why a file is held that is an unsound index, whatever its age; each is looked at once.
    pub(super) fn index(&self, path: &Path) -> Option<&'static str> {
        path.file_name().filter(|name| is_index(name))?;
        let Indexes { known, work } = self.indexes();
        if let Some(known) = known.borrow().get(path) {
            return *known;
        }
        let found = self.unsound_index(path, work, &|| false);
        known.borrow_mut().insert(path.to_owned(), found);
        found
    }
}

fn is_index(name: &OsStr) -> bool {
    let begins = name.as_bytes().get(..SHARED.len());
    is(name, INDEX) || begins.is_some_and(|it| it.eq_ignore_ascii_case(SHARED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::faulty::FaultyFs;
    use crate::testing::Scratch;
    use crate::traps::Sides;

    /// The second call opens it; the first opens the directory.
    #[test]
    fn index_that_another_has_leased_is_held_only_if_it_is_new() {
        let tree = Scratch::new();
        std::fs::create_dir(tree.path().join(".git")).expect("a directory");
        std::fs::write(tree.path().join(".git/index"), "").expect("written");
        let held = |errno, is_old| {
            let faulty = FaultyFs::new(1, errno);
            let traps = GitTraps::new(Sides::new(&faulty, None, tree.fd()));
            traps.unsound_index(Path::new(".git/index"), &IndexWork::default(), &|| is_old)
        };
        assert_eq!((held(Errno::AGAIN, true), held(Errno::AGAIN, false)), (None, Some(UNSOUND)));
        assert_eq!(held(Errno::ACCESS, true), Some(UNSOUND));
    }
}
