//! The state directory.

use std::path::Path;

use rustix::fs::{Access, access};

use super::{Finding, Status};
use crate::probe::file_system::{self, FileSystem};

/// Looks at the state directory, or at the place where it will be made.
pub(super) fn state(state: &Path) -> Finding {
    let existing = state.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let shown = existing.display();
    if access(existing, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return Finding::new("state", Status::Missing, format!("not writable: {shown}"))
            .remedy("name a directory of yours in ENDOW_STATE_DIR");
    }
    match file_system::of(existing) {
        FileSystem::Known(name, true) => Finding::ok("state", format!("{shown} on {name}")),
        FileSystem::Known(name, false) => {
            let detail = format!("{shown} on {name}, which can't hold a layer's changes");
            Finding::new("state", Status::Limited, detail)
                .remedy("name a directory on ext4, xfs or btrfs in ENDOW_STATE_DIR")
        }
        FileSystem::Unknown(number) => {
            let detail = format!("{shown} on file system {number:#x}");
            Finding::new("state", Status::Note, detail)
        }
    }
}
