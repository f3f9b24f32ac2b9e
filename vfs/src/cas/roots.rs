//! The files that say what a collection keeps: one digest a line.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use super::store::failed;
use super::{Digest, StoreError};
use crate::fs::{Fs, read_all};

/// Returns the text of a file that says what a collection keeps.
pub(super) fn render(roots: &[Digest]) -> String {
    roots.iter().map(|digest| format!("{digest}\n")).collect()
}

/// Reads a file of digests. Anything else in it is an error: what it named could not be kept.
pub(super) fn read(
    fs: &dyn Fs,
    at: BorrowedFd<'_>,
    name: &OsStr,
    path: PathBuf,
) -> Result<Vec<Digest>, StoreError> {
    let text = read_all(fs, at, Path::new(name)).map_err(failed("read", &path))?;
    let text = str::from_utf8(&text).ok().filter(|text| text.is_empty() || text.ends_with('\n'));
    let digests = text.map(|text| text.lines().map(str::parse).collect());
    let Some(Ok(digests)) = digests else { return Err(StoreError::Roots { path }) };
    Ok(digests)
}
