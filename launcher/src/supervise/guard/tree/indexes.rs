//! Indexes of repositories: git writes and enters what their paths name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::traps::{GitTraps, Sides, UNSOUND};

use super::{HeldName, Tree};

impl Tree {
    /// Takes indexes away that were written since the run began and that git can't be let read.
    pub(super) fn check_indexes(
        &mut self,
        directories: &BTreeSet<PathBuf>,
        held: &mut dyn FnMut(&HeldName),
    ) {
        for directory in directories {
            for path in self.unsound_indexes(directory) {
                self.take_whole(path, UNSOUND.to_owned(), held);
            }
        }
    }

    fn unsound_indexes(&self, directory: &Path) -> Vec<PathBuf> {
        let traps = GitTraps::new(Sides::new(&OsFs, None, self.held.root()));
        let files = self.entries(directory).into_iter().filter(|(_, kind)| *kind == Kind::File);
        let files = files.map(|(path, _)| path);
        files.filter(|path| !self.is_as_old(path) && traps.is_unsound_index(path)).collect()
    }
}
