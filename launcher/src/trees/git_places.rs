//! Where the parts of a repository lie, and which of them count: a repository names others itself,
//! and whoever could write it could make it name any.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use endow_policy::in_one_line;
use endow_vfs::git_tree::{self, Places};

use super::fault;
use crate::plan::TreeFault;
use crate::probe::git_dirs;

/// What is read of a repository.
pub(super) struct Parts {
    /// Its directories.
    pub(super) places: Places,
    /// The directories that a confined process is allowed to read; all are the user's or root's.
    pub(super) read: Vec<PathBuf>,
}

/// Finds the parts of a repository.
pub(super) fn find(repository: &Path) -> Result<Parts, TreeFault> {
    let shown = repository.display();
    let places = git_tree::places(repository).map_err(|error| TreeFault {
        message: format!("{shown}: {}", in_one_line(&error)),
        hint: Some("name a repository: `--git GUEST=REPOSITORY@REVISION`".to_owned()),
        is_absent: !repository.exists(),
    })?;
    let trusted = git_dirs::outside(&places.root);
    let leads_away = |path: &&PathBuf| {
        !path.starts_with(&places.root) && !trusted.iter().any(|it| path.starts_with(it))
    };
    if let Some(elsewhere) = places.git.iter().find(leads_away) {
        let elsewhere = elsewhere.display();
        let message = format!("{shown}: it leads to {elsewhere}, which does not lead back");
        let hint = Some("name that repository itself if it is meant".to_owned());
        return Err(TreeFault { message, hint, is_absent: false });
    }
    if let Some(odd) = places.objects.iter().find(|path| !is_of_repository(path)) {
        let odd = odd.display();
        return Err(fault(format!("{shown}: it borrows from {odd}, which is no repository's")));
    }
    let read: Vec<PathBuf> = places.git.iter().chain(&places.objects).cloned().collect();
    match read.iter().find(|path| is_foreign(path)) {
        Some(foreign) => Err(fault(format!("{}: it belongs to another user", foreign.display()))),
        None => Ok(Parts { places, read }),
    }
}

/// Returns whether a directory is one for objects: any other would be read, too.
fn is_of_repository(objects: &Path) -> bool {
    let has_head = objects.parent().is_some_and(|above| above.join("HEAD").is_file());
    has_head && objects.file_name().is_some_and(|name| name == "objects")
}

fn is_foreign(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::metadata(path).is_ok_and(|found| ![own, 0].contains(&found.uid()))
}
