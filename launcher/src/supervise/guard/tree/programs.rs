//! Directories of the caller's PATH in a live mount, and what is read of single names.

use std::path::Path;

use endow_vfs::fs::{Fs, Kind, OsFs};
use endow_vfs::git_config;
use std::os::fd::AsFd;

use super::super::programs::shadowed;
use super::Tree;

impl Tree {
    /// Returns why a new name waits that a shell outside would start in the place of a program, or that leads to others
    /// than the directory of PATH that was there.
    pub(super) fn shadows(&self, path: &Path) -> Option<String> {
        let (above, name) = (path.parent()?, path.file_name()?);
        let kind = self.kind(path)?;
        let mut directories = self.programs.iter();
        if kind == Kind::Symlink && directories.any(|it| it.path.starts_with(path)) {
            return Some("your PATH, of which it is a part".to_owned());
        }
        let directory = self.programs.iter().find(|it| it.path == above)?;
        let is_new = kind != Kind::Directory && !directory.there.iter().any(|it| it == name);
        is_new.then(|| shadowed(&directory.later, name)).flatten()
    }

    pub(super) fn kind(&self, path: &Path) -> Option<Kind> {
        let (above, name) = (path.parent()?, path.file_name()?);
        let directory = self.directory(above).ok()?;
        OsFs.status(directory.as_fd(), name).ok().map(|found| found.kind)
    }

    /// Reads settings; `None` for what is no file of their size.
    pub(super) fn text(&self, path: &Path) -> Option<Vec<u8>> {
        let (above, name) = (path.parent()?, path.file_name()?);
        let directory = self.directory(above).ok()?;
        let file = OsFs.open_file(directory.as_fd(), name).ok()?;
        let found = OsFs.status_of(file.as_fd()).ok()?;
        let is_whole = found.kind == Kind::File && found.size <= git_config::MAX;
        let mut text = vec![0; usize::try_from(found.size).ok().filter(|_| is_whole)?];
        let length = OsFs.read(file.as_fd(), &mut text).ok()?;
        text.truncate(length);
        (length as u64 == found.size).then_some(text)
    }
}
