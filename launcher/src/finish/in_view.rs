//! Where the user knows the paths of a mount from.

use std::path::{Path, PathBuf};

use endow_policy::{GuestPath, HostPath};
use endow_vfs::state::MountRecord;

/// The place of a mount in the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InView {
    /// Where it stands.
    pub(crate) at: GuestPath,
    /// What leads to it on the host, below the directory that paths are relative to.
    path: PathBuf,
    /// That directory.
    root: HostPath,
    /// The mount is of what was taken out of a live mount.
    pub(crate) is_held: bool,
}

impl InView {
    pub(super) fn of(mount: &MountRecord) -> Self {
        let root = mount.root();
        let path = root.as_ref().and_then(|root| mount.source.below(root));
        let path = path.unwrap_or(Path::new("")).to_owned();
        let root = root.unwrap_or_else(|| mount.source.clone());
        Self { at: mount.at.clone(), path, root, is_held: mount.is_held() }
    }

    /// Returns the place on the host of a path below the mount's root.
    pub(crate) fn outside(&self, path: &Path) -> PathBuf {
        // The root of a mount has no slash at its end.
        self.root.as_path().join(path).components().collect()
    }

    /// Returns the place in the view of a path below the mount's root.
    pub(crate) fn place(&self, path: &Path) -> PathBuf {
        let [depth, own] = [self.path.as_path(), path].map(|it: &Path| it.components().count());
        // What leads to the place stands above it.
        let above = self.at.as_path().ancestors().nth(depth.saturating_sub(own));
        let at = above.unwrap_or(self.at.as_path()).as_os_str();
        std::iter::once(at).chain(path.iter().skip(depth)).collect()
    }

    /// The other way: returns the path of a place in the view, or of the mount when the place is above
    /// it.
    pub(crate) fn path(&self, place: &GuestPath) -> Option<PathBuf> {
        let below = place.below(&self.at).map(|below| self.path.join(below));
        below.or_else(|| self.at.is_within(place).then(|| self.path.clone()))
    }
}

/// One place of a mount and what is reported of it.
pub(crate) type OfMount<T> = (InView, T);
