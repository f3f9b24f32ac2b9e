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
        let mut names = path.iter();
        if self.is_single {
            names.next();
        }
        std::iter::once(self.at.as_path().as_os_str()).chain(names).collect()
    }
}

/// One place of a mount and what is reported of it.
pub(crate) type OfMount<T> = (InView, T);
