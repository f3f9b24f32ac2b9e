//! Whether a directory that goes is what was looked through.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::fs::{At, Errno, Fs, Kind, Result};
use crate::sync::Seen;
use crate::sync::root::{Closed, Root};

/// Returns whether a directory holds exactly what it held. One that is closed to its owner is opened
/// meanwhile; what nobody can look into may hold anything, and so may one in which names come and go.
pub(super) fn is_same_below(fs: &dyn Fs, at: At<'_>, below: &[(PathBuf, Seen)]) -> Result<bool> {
    let mut root = Root::new(fs, at.dir, Closed::Open);
    let same = holds(fs, (&mut root, Path::new(at.name)), below);
    let closed = root.close();
    match same {
        Err(
            Errno::ACCESS | Errno::PERM | Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV,
        ) => Ok(false),
        same => closed.and(same),
    }
}

fn holds(
    fs: &dyn Fs,
    (root, top): (&mut Root<'_>, &Path),
    below: &[(PathBuf, Seen)],
) -> Result<bool> {
    let expected: HashMap<&Path, &Seen> =
        below.iter().map(|(path, seen)| (path.as_path(), seen)).collect();
    let (mut pending, mut count) = (vec![PathBuf::new()], 0);
    while let Some(path) = pending.pop() {
        let place = if path.as_os_str().is_empty() { top.to_owned() } else { top.join(&path) };
        let listed = root.list(&place)?;
        let dir = root.dir(&place)?;
        for entry in fs.list(listed.as_fd(), usize::MAX)? {
            let found = Seen::from(&fs.node(dir.as_fd(), &entry.name)?);
            let path = path.join(&entry.name);
            if !expected.get(path.as_path()).is_some_and(|seen| found.is_still(seen)) {
                return Ok(false);
            }
            count += 1;
            if found.kind == Kind::Directory {
                pending.push(path);
            }
        }
    }
    Ok(count == expected.len())
}
