//! The paths at which two trees differ: whole directories that are the same are not looked into.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::CopyError;
use super::objects::Objects;
use super::trees::{Leaf, Trees};
use crate::git_tree::{DIRECTORY, Id};

/// What two trees have at a path, directories excepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) old: Option<Leaf>,
    pub(super) new: Option<Leaf>,
}

/// The most differences that are looked at.
const MOST: usize = 4_000_000;
/// The most directories that are looked into: a few trees can stand for any number.
const DIRECTORIES: usize = 400_000;
/// The longest path: no tree with a longer one is shown.
const PATH: usize = 3072;

/// Returns what differs, by path.
pub(super) fn diff(
    (objects, trees): (&mut Objects<'_>, &mut Trees),
    old: Option<Id>,
    new: Option<Id>,
) -> Result<BTreeMap<PathBuf, Sides>, CopyError> {
    let mut differences = BTreeMap::new();
    let (mut pairs, mut looked) = (vec![(PathBuf::new(), old, new)], 0);
    while let Some((path, old, new)) = pairs.pop() {
        if old == new {
            continue;
        }
        let names = both(objects, trees, [old, new])?;
        looked += 1;
        if looked > DIRECTORIES {
            let (what, most) = ("changed directories", DIRECTORIES as u64);
            return Err(CopyError::TooMuch { what, most });
        }
        for (name, [old, new]) in names.into_iter().filter(|(_, [old, new])| old != new) {
            let path = path.join(OsStr::from_bytes(&name));
            if path.as_os_str().len() > PATH {
                return Err(CopyError::TooMuch { what: "bytes in a path", most: PATH as u64 });
            }
            let directory = |leaf: Option<Leaf>| match leaf {
                Some((DIRECTORY, id)) => Some(id),
                _ => None,
            };
            let other = |leaf: Option<Leaf>| leaf.filter(|(mode, _)| *mode != DIRECTORY);
            let sides = Sides { old: other(old), new: other(new) };
            if sides.old != sides.new {
                differences.insert(path.clone(), sides);
            }
            pairs.push((path, directory(old), directory(new)));
        }
        if differences.len() + pairs.len() > MOST {
            return Err(CopyError::TooMuch { what: "changed paths", most: MOST as u64 });
        }
    }
    Ok(differences)
}

type Both = BTreeMap<Vec<u8>, [Option<Leaf>; 2]>;

/// Returns the entries of one or two trees by name.
fn both(
    objects: &mut Objects<'_>,
    trees: &mut Trees,
    [old, new]: [Option<Id>; 2],
) -> Result<Both, CopyError> {
    let mut names = Both::new();
    if let Some(id) = old {
        for (name, leaf) in trees.entries(objects, &id)?.iter() {
            names.entry(name.clone()).or_default()[0] = Some(*leaf);
        }
    }
    if let Some(id) = new {
        for (name, leaf) in trees.entries(objects, &id)?.iter() {
            names.entry(name.clone()).or_default()[1] = Some(*leaf);
        }
    }
    Ok(names)
}

/// Returns whether one of the paths is a directory, or stands, at or above `path`.
pub(super) fn covers(paths: &BTreeSet<PathBuf>, path: &Path) -> bool {
    path.ancestors().any(|above| paths.contains(above))
}

/// Returns whether one of the paths stands below `path`.
pub(super) fn below(paths: &BTreeSet<PathBuf>, path: &Path) -> bool {
    let after = (Bound::Excluded(path), Bound::Unbounded);
    paths.range::<Path, _>(after).next().is_some_and(|next| next.starts_with(path))
}
