//! What lies where a repository keeps submodules and linked work trees and is none of them yet: a program
//! outside that makes one there takes what it finds.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use endow_policy::ProtectSet;
use endow_vfs::fs::{Fs, Kind, OsFs};
use endow_vfs::git_dir::KEPT;

use super::{HeldName, Queue, Tree};

/// A name in a directory where a repository keeps submodules or linked work trees.
struct Kept {
    path: PathBuf,
    kind: Kind,
    /// It came here since the run began, or was changed since.
    is_news: bool,
}

impl Tree {
    /// Looks at what is new there; `repositories` are all that git may take for such, which are looked at
    /// by themselves.
    pub(super) fn check_kept(
        &mut self,
        repositories: &BTreeSet<PathBuf>,
        protect: &ProtectSet,
        queue: &mut Queue,
        held: &mut dyn FnMut(&HeldName),
    ) {
        let tops = repositories.iter().flat_map(|it| KEPT.map(|part| it.join(part)));
        let new: Vec<PathBuf> = tops.flat_map(|top| self.new_kept(&top, repositories)).collect();
        for path in new {
            self.check((&path, None), protect, queue, held);
        }
    }

    /// Returns new names below a directory that are no directories.
    fn new_kept(&self, top: &Path, repositories: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let (mut found, mut pending) = (Vec::new(), vec![(top.to_owned(), self.is_new(top))]);
        while let Some((directory, is_new)) = pending.pop() {
            let names = self.kept_names(&directory, repositories);
            // What was moved here whole has no name that is younger than the directory's place.
            let is_moved = is_new && !names.iter().any(|name| name.is_news);
            let is_new = |name: &Kept| name.is_news || is_moved;
            let (directories, others): (Vec<_>, Vec<_>) =
                names.into_iter().partition(|name| name.kind == Kind::Directory);
            found.extend(others.into_iter().filter(is_new).map(|name| name.path));
            let entered = directories.into_iter().map(|name| (is_new(&name), name.path));
            pending.extend(entered.map(|(is_new, path)| (path, is_new)));
        }
        found
    }

    fn kept_names(&self, directory: &Path, repositories: &BTreeSet<PathBuf>) -> Vec<Kept> {
        let Ok(opened) = self.directory(directory) else { return Vec::new() };
        let entries = OsFs.list(opened.as_fd(), usize::MAX).unwrap_or_default();
        let names = entries.into_iter().filter_map(|entry| {
            let found = OsFs.status(opened.as_fd(), &entry.name).ok()?;
            let (path, is_news) = (directory.join(&entry.name), self.is_young(&found));
            Some(Kept { path, kind: found.kind, is_news })
        });
        names.filter(|name| !repositories.contains(&name.path)).collect()
    }

    fn is_new(&self, path: &Path) -> bool {
        let opened = self.directory(path).and_then(|it| OsFs.status_of(it.as_fd()));
        opened.is_ok_and(|found| self.is_young(&found))
    }
}
