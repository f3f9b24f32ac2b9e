//! Where the parts of a repository lie, and which of them count: a repository names others itself,
//! and whoever could write it could make it name any.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use endow_vfs::git_tree;

use super::{fault, told};
use crate::plan::TreeFault;
use crate::probe::git_dirs;

/// What is read of a repository.
pub(super) struct Parts {
    /// The directory with `HEAD`.
    pub(super) git_dir: PathBuf,
    /// All that must be read, all of it the user's or root's.
    pub(super) read: Vec<PathBuf>,
}

/// Finds the parts of a repository.
pub(super) fn find(repository: &Path) -> Result<Parts, TreeFault> {
    let shown = repository.display();
    let found = git_tree::places(repository).map_err(|error| TreeFault {
        message: format!("{shown}: {}", told(&error)),
        hint: Some("name a repository: `--git GUEST=REPOSITORY@REVISION`".to_owned()),
        is_absent: !repository.exists(),
    })?;
    if let Some(elsewhere) = found.git.iter().find(|path| !path.starts_with(&found.root)) {
        let trusted = git_dirs::outside(&found.root);
        if !trusted.iter().any(|path| elsewhere.starts_with(path)) {
            let message = format!(
                "{shown}: its .git file leads to {}, which does not lead back",
                elsewhere.display()
            );
            let hint = Some("name that repository itself if it is meant".to_owned());
            return Err(TreeFault { message, hint, is_absent: false });
        }
    }
    let git_dir = found.git[0].clone();
    let read: Vec<PathBuf> = found.git.into_iter().chain(found.objects).collect();
    match read.iter().find(|path| is_foreign(path)) {
        Some(foreign) => Err(fault(format!("{}: it belongs to another user", foreign.display()))),
        None => Ok(Parts { git_dir, read }),
    }
}

fn is_foreign(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(path).is_ok_and(|found| ![own, 0].contains(&found.uid()))
}
