//! Dropping changes of a layer, with what belongs to them.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use endow_vfs::fs::OsFs;
use endow_vfs::sync;
use endow_vfs::tree::{DropError as DropFailure, drop_paths};

use super::{Looked, Target};

/// Why changes can't be dropped by themselves.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DropError {
    /// What was moved to one of them would be nowhere, for the directory that it was in is not dropped.
    #[error("moved from a directory that was removed or replaced: {}", .0.display())]
    Moved(PathBuf),
    /// One can't be dropped, or a call failed.
    #[error(transparent)]
    Drop(DropFailure),
}

/// Drops what the run changed at some paths and below them, and the removal of what was moved there: it is in the tree
/// at one place. Returns the places where that stays.
pub(crate) fn drop_changes(
    target: &Target,
    looked: &Looked,
    paths: &[&Path],
) -> Result<Vec<PathBuf>, DropError> {
    let Some(upper) = &target.upper else { return Ok(Vec::new()) };
    let is_dropped = |path: &Path| paths.iter().any(|dropped| path.starts_with(dropped));
    let old = sync::old_places(&looked.changes, &is_dropped);
    let all: Vec<&Path> = paths.iter().copied().chain(old.iter().map(PathBuf::as_path)).collect();
    let dropped = drop_paths(&OsFs, (upper.as_fd(), target.root.as_fd()), &all);
    dropped.map_err(|error| match error {
        DropFailure::Part(path) if old.contains(&path) => DropError::Moved(path),
        error => DropError::Drop(error),
    })?;
    Ok(old)
}
