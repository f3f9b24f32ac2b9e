//! What lies in granted trees that their owner should know of: `endow check --deep`.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use serde::Serialize;

/// The most entries of one kind that are named; all are counted.
const NAMED_MAX: usize = 20;
/// The most entries that are looked at in one tree.
const ENTRIES_MAX: u64 = 5_000_000;

/// What was found in one tree.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Deep {
    /// How many entries were looked at.
    pub(crate) entries: u64,
    /// There were more than are looked at.
    pub(crate) truncated: bool,
    /// Files and directories of other users.
    pub(crate) foreign: Sample,
    /// Sockets: a process of the host may be listening.
    pub(crate) sockets: Sample,
    /// Files and directories with attributes of a layered file system (`user.overlay.*`).
    pub(crate) planted: Sample,
    /// Directories that can't be read.
    pub(crate) unreadable: Sample,
}

/// Entries of one kind.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Sample {
    /// How many there are.
    pub(crate) count: u64,
    /// The first of them.
    pub(crate) first: Vec<PathBuf>,
}

impl Sample {
    fn note(&mut self, path: &Path) {
        self.count += 1;
        if self.first.len() < NAMED_MAX {
            self.first.push(path.to_owned());
        }
    }
}

/// Walks a tree, but for some directories in it; links are not followed.
pub(crate) fn look(root: &Path, without: &[&Path]) -> Deep {
    let mut deep = Deep::default();
    let mut left = vec![root.to_owned()];
    while let Some(path) = left.pop() {
        if without.contains(&path.as_path()) {
            continue;
        }
        if deep.entries == ENTRIES_MAX {
            deep.truncated = true;
            break;
        }
        deep.entries += 1;
        deep.entry(&path, &mut left);
    }
    deep
}

impl Deep {
    fn entry(&mut self, path: &Path, left: &mut Vec<PathBuf>) {
        let Ok(found) = fs::symlink_metadata(path) else { return };
        if found.uid() != geteuid().as_raw() {
            self.foreign.note(path);
        }
        if found.file_type().is_socket() {
            self.sockets.note(path);
        }
        if (found.is_file() || found.is_dir()) && is_planted(path) {
            self.planted.note(path);
        }
        if found.is_dir() {
            match fs::read_dir(path) {
                Ok(names) => left.extend(names.filter_map(Result::ok).map(|name| name.path())),
                Err(_) => self.unreadable.note(path),
            }
        }
    }
}

fn is_planted(path: &Path) -> bool {
    let mut names = [0u8; 4096];
    let length = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    names.into_iter().any(|name| name.starts_with(b"user.overlay."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_left_out() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(root.path().join("own/in")).expect("made");
        fs::write(root.path().join("file"), "").expect("written");
        assert_eq!(look(root.path(), &[]).entries, 4);
        assert_eq!(look(root.path(), &[&root.path().join("own")]).entries, 2);
    }
}
