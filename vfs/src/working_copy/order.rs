//! The order in which staged objects land: a landing that is cut off leaves no object in the
//! repository that leads to one which is not there. A later capture takes what it finds for whole.
//!
//! The list is a file among the staged objects. It names trees, commits and tags, each after all that
//! it leads to; what it does not name is a content, which leads to nothing.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::land::{LandError, failed};
use crate::fs::{Errno, Fs, Open, read_all};
use crate::git_dir::is_object_name;

/// The file of the list.
pub(super) const ORDER: &str = "order";
/// The most bytes of a line of it.
pub(super) const LINE: usize = 65;
/// The largest list: that of as many objects as are taken over, and of the trees above changes.
const SIZE: u64 = 512 << 20;

/// An object as its file is called: in which directory, and there.
pub(super) type Name = (OsString, OsString);

/// Returns all staged objects in the order in which they may land.
pub(super) fn in_order(fs: &dyn Fs, staging: BorrowedFd<'_>) -> Result<Vec<Name>, LandError> {
    let later = listed(fs, staging)?;
    let known: HashSet<&Name> = later.iter().collect();
    let mut all = staged(fs, staging)?;
    all.retain(|name| !known.contains(name));
    drop(known);
    all.extend(later);
    Ok(all)
}

fn listed(fs: &dyn Fs, staging: BorrowedFd<'_>) -> Result<Vec<Name>, LandError> {
    let path = Path::new(ORDER);
    match fs.status(staging, path.as_os_str()) {
        // What was captured by an endow that had no order.
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Ok(status) if status.size > SIZE => return Err(failed("use", path)(Errno::FBIG)),
        found => drop(found.map_err(failed("look at", path))?),
    }
    let text = read_all(fs, staging, path).map_err(failed("read", path))?;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let names = lines.map(|line| name(line).ok_or_else(|| failed("use", path)(Errno::INVAL)));
    names.collect()
}

fn staged(fs: &dyn Fs, staging: BorrowedFd<'_>) -> Result<Vec<Name>, LandError> {
    let mut all = Vec::new();
    for fan in names(fs, staging, Path::new("."))? {
        if fan == ORDER {
            continue;
        }
        // No directory of another length is one of an object directory.
        let is_fan = fan.len() == 2 && fan.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
        is_fan.then_some(()).ok_or(Errno::INVAL).map_err(failed("use", Path::new(&fan)))?;
        for rest in names(fs, staging, Path::new(&fan))? {
            let whole = [fan.as_encoded_bytes(), rest.as_encoded_bytes()].concat();
            let found = name(&whole).ok_or(Errno::INVAL);
            all.push(found.map_err(failed("use", &Path::new(&fan).join(&rest)))?);
        }
    }
    Ok(all)
}

fn name(digits: &[u8]) -> Option<Name> {
    let digits = std::str::from_utf8(digits).ok().filter(|it| is_object_name(it.as_bytes()))?;
    let (fan, rest) = digits.split_at_checked(2)?;
    Some((fan.into(), rest.into()))
}

fn names(fs: &dyn Fs, dir: BorrowedFd<'_>, path: &Path) -> Result<Vec<OsString>, LandError> {
    let opened = fs.open_below(dir, path, Open::List).map_err(failed("open", path))?;
    let entries = fs.list(opened.as_fd(), usize::MAX).map_err(failed("list", path))?;
    Ok(entries.into_iter().map(|entry| entry.name).collect())
}
