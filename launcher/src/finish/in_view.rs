//! Where the user knows the paths of a mount from.

use std::path::{Path, PathBuf};

use endow_policy::GuestPath;
use endow_vfs::state::MountRecord;

/// The place of a mount in the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InView {
    /// Where it stands.
    pub(crate) at: GuestPath,
    /// It is one file, whatever its name is on the host.
    is_single: bool,
}

impl InView {
    pub(super) fn of(mount: &MountRecord) -> Self {
        Self { at: mount.at.clone(), is_single: !mount.directory }
    }

    /// Returns the place in the view of a path below the mount's root.
    pub(crate) fn place(&self, path: &Path) -> PathBuf {
        let is_root = self.is_single || path.as_os_str().is_empty();
        if is_root { self.at.as_path().to_owned() } else { self.at.as_path().join(path) }
    }
}

/// One place of a mount and what is reported of it.
pub(crate) type OfMount<T> = (InView, T);
