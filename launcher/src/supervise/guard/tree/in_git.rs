//! What is in directories of git's, which no walk of names enters.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::ProtectSet;
use endow_vfs::fs::{Kind, OsFs};
use endow_vfs::git_dir;
use endow_vfs::traps::{GitTraps, Sides, UNSOUND};

use super::{HeldName, Tree};

/// Why a repository in a directory of git's is taken away.
const WITHIN: &str = "a repository inside of git's directory";

impl Tree {
    /// Looks at links there, and takes repositories away: git makes none, and a later command would find one that nobody has
    /// looked at.
    pub(super) fn check_in_git(
        &mut self,
        directory: &Path,
        protect: &ProtectSet,
        held: &mut dyn FnMut(&HeldName),
    ) {
        for (path, kind) in self.all_in_git(directory) {
            if self.is_of_own_repository(&path, &path) {
                // Some tools keep linked work trees there.
                continue;
            }
            if git_dir::is_file(&path) {
                self.take_whole(path, WITHIN.to_owned(), held);
            } else if kind == Kind::Symlink {
                self.check_link(&path, protect, held);
            }
        }
    }

    /// Takes indexes away that git can't be let read, whatever their age: what leads to one may be new.
    pub(super) fn check_indexes(&mut self, directory: &Path, held: &mut dyn FnMut(&HeldName)) {
        let files = self.all_in_git(directory).into_iter().filter(|(_, kind)| *kind == Kind::File);
        for (path, _) in files {
            let sides = Sides::new(&OsFs, None, self.held.root());
            if GitTraps::new(sides).is_unsound_index(&path) {
                self.take_whole(path, UNSOUND.to_owned(), held);
            }
        }
    }

    /// Returns all but objects, and nothing of what is in a repository there.
    fn all_in_git(&self, directory: &Path) -> Vec<(PathBuf, Kind)> {
        let (mut found, mut pending) = (Vec::new(), vec![directory.to_owned()]);
        while let Some(path) = pending.pop() {
            let (is_objects, entries) = (self.is_objects(&path), self.entries(&path));
            let is_entered = |(below, kind): &&(PathBuf, Kind)| {
                let is_dull = || is_objects && self.has_objects_alone(below);
                *kind == Kind::Directory && !git_dir::is_file(below) && !is_dull()
            };
            pending.extend(entries.iter().filter(is_entered).map(|(below, _)| below.clone()));
            let is_told = |(below, _): &(PathBuf, Kind)| !is_objects || git_dir::is_file(below);
            found.extend(entries.into_iter().filter(is_told));
        }
        found
    }

    fn is_objects(&self, path: &Path) -> bool {
        let is_named = path.file_name() == Some(OsStr::new("objects"));
        is_named && self.kind(&path.with_file_name("HEAD")) == Some(Kind::File)
    }

    /// Whether a directory is one of many that git keeps objects in, and has none below: file systems that count names tell.
    fn has_objects_alone(&self, path: &Path) -> bool {
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let is_kept = matches!(name, b"pack" | b"info")
            || (name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit));
        let links = || rustix::fs::fstat(self.directory(path).ok()?.as_fd()).ok();
        is_kept && links().is_some_and(|found| found.st_nlink == 2)
    }
}
