//! Directories of the caller's PATH in a live mount, and what is read of single names.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use endow_vfs::fs::{Fs, Kind, OsFs};
use endow_vfs::git_config;

use super::super::programs::{PART_OF_PATH, shadowed};
use super::Tree;
use crate::plan::host::ProgramDirectory;

impl Tree {
    /// Returns why a new name waits that a shell outside would start in the place of a program, or that leads to others
    /// than the directory of PATH that was there.
    pub(super) fn shadows(&self, path: &Path) -> Option<String> {
        let (above, name) = (path.parent()?, path.file_name()?);
        // What can't be looked at may be a file; what is gone is not taken.
        let kind = self.kind(path).unwrap_or(Kind::File);
        let is_changed = |(link, to): &(PathBuf, PathBuf)| {
            link == path && self.link(path).is_none_or(|now| now != *to)
        };
        let leads = |it: &ProgramDirectory| {
            kind == Kind::Symlink && it.path.starts_with(path) || it.links.iter().any(is_changed)
        };
        if self.programs.iter().any(leads) {
            return Some(PART_OF_PATH.to_owned());
        }
        let directory = self.programs.iter().find(|it| it.path == above)?;
        let is_new = kind != Kind::Directory && !directory.there.iter().any(|it| it == name);
        is_new.then(|| shadowed(&directory.later, name)).flatten()
    }

    fn link(&self, path: &Path) -> Option<PathBuf> {
        let directory = self.directory(path.parent()?).ok()?;
        OsFs.read_link(directory.as_fd(), path.file_name()?).ok().map(PathBuf::from)
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
