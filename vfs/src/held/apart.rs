//! Files of a layer that have further names outside of it get bytes of their own: who can write to them there would change
//! what waits, after somebody has looked at it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::fs::{At, Errno, FileId, Fs, Kind, Result};
use crate::layer::{Descend, LayerError, walk};
use crate::sync::root::{Closed, Dir, Root};
use crate::tree::{copy_tree, remove_tree};

/// The name beside the layer of what is about to stand in it.
const BESIDE: &str = "apart";

/// Parts all files of a layer from their names outside of it, but for those that are kept as they are. Names of one
/// file in the layer go on to be names of one. Returns what could not be parted; the layer's root where not all of it
/// could be looked through.
pub(super) fn part(fs: &dyn Fs, upper: BorrowedFd<'_>, kept: &BTreeSet<FileId>) -> Vec<PathBuf> {
    let (files, mut left) = shared(fs, upper, kept);
    if files.is_empty() {
        return left;
    }
    let Ok(beside) = fs.open_dir(upper, OsStr::new("..")) else {
        return [left, files.concat()].concat();
    };
    let mut parting = Parting { fs, root: Root::new(fs, upper, Closed::Open), beside };
    let is_left = |paths: &Vec<PathBuf>| parting.part(paths).is_err();
    left.extend(files.into_iter().filter(is_left).flatten());
    // One that stays open was its owner's before.
    let _ = parting.root.close();
    left
}

/// Returns the names in the layer of each file that has further ones, and what could not be looked at.
fn shared(
    fs: &dyn Fs,
    upper: BorrowedFd<'_>,
    kept: &BTreeSet<FileId>,
) -> (Vec<Vec<PathBuf>>, Vec<PathBuf>) {
    let mut files: BTreeMap<FileId, (usize, Vec<PathBuf>)> = BTreeMap::new();
    let mut unseen = Vec::new();
    let walked = walk(fs, upper, &mut |entry| {
        match fs.node(entry.at.dir, entry.at.name) {
            Ok(node) if node.status.kind == Kind::File && node.links > 1 => {
                let (links, names) = files.entry(node.status.id).or_default();
                *links = node.links as usize;
                names.push(entry.path.to_owned());
            }
            Ok(_) => {}
            Err(_) => unseen.push(entry.path.to_owned()),
        }
        Ok::<_, LayerError>(Descend::Into)
    });
    unseen.extend(walked.is_err().then(PathBuf::new));
    files.retain(|id, (links, names)| !kept.contains(id) && names.len() < *links);
    (files.into_values().map(|(_, names)| names).collect(), unseen)
}

struct Parting<'a> {
    fs: &'a dyn Fs,
    root: Root<'a>,
    beside: OwnedFd,
}

impl<'a> Parting<'a> {
    /// Gives the names of one file a copy.
    fn part(&mut self, names: &[PathBuf]) -> Result<()> {
        let Some((first, others)) = names.split_first() else { return Ok(()) };
        self.put(first, None)?;
        others.iter().try_for_each(|name| self.put(name, Some(first)))
    }

    /// Puts a copy in the place of a name, or a further name of the copy.
    fn put(&mut self, path: &Path, copy: Option<&Path>) -> Result<()> {
        let fs = self.fs;
        let beside = self.beside.try_clone().map_err(|_| Errno::MFILE)?;
        let beside = At { dir: beside.as_fd(), name: OsStr::new(BESIDE) };
        remove_tree(fs, beside.dir, beside.name).map_err(|left| left.errno)?;
        let made = match copy {
            None => {
                let (above, name) = self.open_above(path)?;
                copy_tree(fs, above.at(name), beside).map_err(|error| error.errno)
            }
            Some(copy) => {
                let (above, name) = self.open_above(copy)?;
                fs.link(above.at(name), beside)
            }
        };
        let put = made.and_then(|()| self.exchange(beside, path));
        let removed = remove_tree(fs, beside.dir, beside.name).map_err(|left| left.errno);
        put.and(removed)
    }

    /// The directory looks as it did: what is in it has not changed.
    fn exchange(&mut self, beside: At<'_>, path: &Path) -> Result<()> {
        let fs = self.fs;
        let (above, name) = self.open_above(path)?;
        let before = fs.status_of(above.as_fd())?;
        fs.exchange(beside, above.at(name))?;
        fs.set_times_at(above.as_fd(), OsStr::new("."), &before)
    }

    fn open_above<'p>(&mut self, path: &'p Path) -> Result<(Dir<'a>, &'p OsStr)> {
        let (above, name) =
            (path.parent().ok_or(Errno::INVAL)?, path.file_name().ok_or(Errno::INVAL)?);
        self.root.open_up(above)?;
        Ok((self.root.dir(above)?, name))
    }
}

#[cfg(test)]
mod tests;
