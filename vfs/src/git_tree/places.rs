//! Where the parts of a repository lie, for whoever has to allow them to be read.

use std::path::{Path, PathBuf};

use super::{GitError, layout};

/// The directories of a repository, links in their paths resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The directory that was asked about.
    pub root: PathBuf,
    /// The one with `HEAD`, and the one that linked work trees share, which may be the same.
    pub git: [PathBuf; 2],
    /// The object directory, and those that it borrows from.
    pub objects: Vec<PathBuf>,
}

/// Finds the directories of a repository. Nothing but the few lines that name them is read.
///
/// # Errors
/// There is no repository.
pub fn places(path: &Path) -> Result<Places, GitError> {
    let layout = layout::open(path)?;
    Ok(Places {
        root: std::fs::canonicalize(path).map_err(|error| GitError::Unreadable {
            path: path.to_owned(),
            errno: super::files::errno_of(&error),
        })?,
        git: [layout.git.path().to_owned(), layout.common.path().to_owned()],
        objects: layout.objects.iter().map(|dir| dir.path().to_owned()).collect(),
    })
}
