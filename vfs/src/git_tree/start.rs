//! Where a revision starts: what references say, without an object being read.

use std::os::unix::ffi::OsStrExt;

use super::files::Dir;
use super::refs::{Refs, fault};
use super::revision::{halves, reference};
use super::{GitError, Id, Places, config, layout};
use crate::fs::Errno;

/// The object that a revision starts at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The object.
    pub id: Id,
    /// The repository, the object and the steps from there: what they lead to stays the same.
    pub name: Vec<u8>,
}

/// Returns where a revision starts that names a reference, or an object in full; `None` for others,
/// where there is none, and where files are no references.
///
/// Small files are read and no object, so that nobody needs to be kept from what they make of it.
///
/// # Errors
/// A malformed revision, a reference that is ambiguous or can't be read, or a format that can't be.
pub fn start(places: &Places, rev: &str) -> Result<Option<Start>, GitError> {
    let layout = layout::open_at(places)?;
    let (base, steps) = halves(rev).map_err(|found| fault(rev, found))?;
    let format = config::format(&layout.common)?;
    let found = match base.parse() {
        Ok(id) => Some(id),
        // Files beside a reftable are what somebody else put there.
        Err(_) if format.has_reftable => None,
        Err(_) => Refs::new(&layout).find(reference(base))?,
    };
    let Some(id) = found else { return Ok(None) };
    let mut name = Vec::new();
    for dir in [&layout.common].into_iter().chain(&layout.objects) {
        add(&mut name, dir)?;
    }
    name.extend_from_slice(format!("{id}{steps}").as_bytes());
    Ok(Some(Start { id, name }))
}

/// A directory that is made anew at the same place is another one.
fn add(name: &mut Vec<u8>, dir: &Dir) -> Result<(), GitError> {
    let failed = |errno: Errno| GitError::Unreadable { path: dir.path().to_owned(), errno };
    let (id, born) = dir.identity().map_err(failed)?;
    let born = born.map_or_else(String::new, |born| format!("{}.{}", born.tv_sec, born.tv_nsec));
    name.extend_from_slice(dir.path().as_os_str().as_bytes());
    name.extend_from_slice(format!("\0{}:{} {born}\0", id.dev, id.ino).as_bytes());
    Ok(())
}
