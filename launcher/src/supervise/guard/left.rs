//! What is left alone: what was there when the run began, as far as it still is.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use endow_vfs::fs::{Fs, Open, OsFs};

use crate::plan::host::DeepName;
use crate::plan::step::{FileId, Guard};
use crate::sys;

/// Names that were there, and names that the command does not see.
#[derive(Debug)]
pub(super) struct Left {
    /// Those to which no other way can be made.
    fixed: BTreeSet<PathBuf>,
    /// Those that the command does not see, with the directories that they are in: these may be moved.
    hidden: BTreeMap<PathBuf, Option<FileId>>,
    /// What these are: what covers them goes along wherever they are moved, and the command makes nothing in them.
    covered: BTreeSet<FileId>,
    /// Those at or below a name further down, and those that only the mount's root leads to.
    below: BTreeSet<PathBuf>,
    deep: BTreeMap<PathBuf, DeepName>,
    /// Directories of git's that names are in, and what these were.
    git_dirs: BTreeMap<PathBuf, FileId>,
    /// Where what stands at the names further down was: it is covered wherever it is moved.
    known: BTreeMap<FileId, PathBuf>,
}

impl Left {
    /// Of a mount whose root is `root`.
    pub(super) fn of(guard: &Guard, root: BorrowedFd<'_>) -> Self {
        let names = &guard.names;
        let mut above: BTreeMap<&Path, Option<FileId>> = BTreeMap::new();
        let hidden = guard.hidden.iter().map(|name| {
            let directory = name.path.parent().unwrap_or(Path::new(""));
            let id = above.entry(directory).or_insert_with(|| id_above(root, &name.path));
            (name.path.clone(), *id)
        });
        let hidden = hidden.collect();
        let covered = guard.hidden.iter().filter_map(|name| id(root, &name.path)).collect();
        let deep = names.deep.iter().map(|name| (name.path.clone(), name.clone()));
        let known = names.deep.iter().chain(&names.git_dirs);
        Self {
            fixed: names.there.iter().cloned().collect(),
            hidden,
            covered,
            below: names.below.iter().cloned().collect(),
            deep: deep.collect(),
            git_dirs: names.git_dirs.iter().map(|name| (name.path.clone(), name.id)).collect(),
            known: known.map(|name| (name.id, name.path.clone())).collect(),
        }
    }

    /// Returns what the hidden names are.
    pub(super) fn hidden(&self) -> BTreeSet<endow_vfs::fs::FileId> {
        let covered = self.covered.iter();
        covered.map(|&FileId { dev, ino, .. }| endow_vfs::fs::FileId { dev, ino }).collect()
    }

    /// Whether a path, or a directory on the way to it, was there and still is.
    pub(super) fn has(&self, root: BorrowedFd<'_>, path: &Path) -> bool {
        path.ancestors().any(|above| self.fixed.contains(above))
            || self.is_hidden(root, path)
            || self.is_covered(root, path)
            || self.is_in_place(root, path)
            || self.is_moved(root, path)
    }

    /// Whether it is, or is in, what was hidden there all the time.
    fn is_hidden(&self, root: BorrowedFd<'_>, path: &Path) -> bool {
        let hidden = path.ancestors().find_map(|above| self.hidden.get_key_value(above));
        hidden.is_some_and(|(name, above)| id_above(root, name) == *above)
    }

    fn is_covered(&self, root: BorrowedFd<'_>, path: &Path) -> bool {
        let mut above = path.ancestors().filter(|above| !above.as_os_str().is_empty());
        !self.covered.is_empty()
            && above.any(|above| id(root, above).is_some_and(|id| self.covered.contains(&id)))
    }

    /// What covers a name can't be replaced in its directory, and that may have been moved.
    fn is_in_place(&self, root: BorrowedFd<'_>, path: &Path) -> bool {
        let deep = path.ancestors().find_map(|above| self.deep.get(above));
        let is_there = |name: &DeepName| id_above(root, &name.path) == Some(name.above);
        self.was_there(path)
            && deep.is_none_or(is_there)
            && self.has_git_dir(root, path, Path::to_owned)
    }

    /// Whether the directory of git's that a path was in is what it was, at its place or where that is now.
    fn has_git_dir(
        &self,
        root: BorrowedFd<'_>,
        path: &Path,
        now: impl Fn(&Path) -> PathBuf,
    ) -> bool {
        let git_dir = path.ancestors().find_map(|above| self.git_dirs.get_key_value(above));
        git_dir.is_none_or(|(git_dir, then)| id(root, &now(git_dir)) == Some(*then))
    }

    /// Whether a directory is what it was when the run began, as far as that is known.
    pub(super) fn is_same(&self, root: BorrowedFd<'_>, directory: &Path) -> bool {
        let then = self.git_dirs.get(directory);
        let is_below = |name: &&PathBuf| *name != directory && name.starts_with(directory);
        then.is_some_and(|then| id(root, directory) == Some(*then))
            || self.fixed.iter().any(|name| is_below(&name))
    }

    fn is_moved(&self, root: BorrowedFd<'_>, path: &Path) -> bool {
        let known = |above: &Path| Some((above.to_owned(), self.known.get(&id(root, above)?)?));
        let mut above = path.ancestors().filter(|above| !above.as_os_str().is_empty());
        let found = (!self.known.is_empty()).then(|| above.find_map(known)).flatten();
        let Some((now, then)) = found else { return false };
        let Ok(rest) = path.strip_prefix(&now) else { return false };
        let (was, here) =
            (then.join(rest), |it: &Path| it.strip_prefix(then).map(|it| now.join(it)));
        let place = |it: &Path| here(it).unwrap_or_else(|_| it.to_owned());
        self.was_there(&was) && self.has_git_dir(root, &was, place)
    }

    fn was_there(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.below.contains(above))
    }
}

fn id(root: BorrowedFd<'_>, path: &Path) -> Option<FileId> {
    let above = directory_above(root, path)?;
    let (found, _) = sys::identity::at(above, path.file_name()?).ok()?;
    Some(found.parts().into())
}

fn id_above(root: BorrowedFd<'_>, path: &Path) -> Option<FileId> {
    let above = directory_above(root, path)?;
    Some(sys::identity::of(above.as_fd()).ok()?.parts().into())
}

fn directory_above(root: BorrowedFd<'_>, path: &Path) -> Option<std::os::fd::OwnedFd> {
    let above = path.parent().unwrap_or(Path::new(""));
    OsFs.open_below(root, above, Open::Handle).ok()
}
