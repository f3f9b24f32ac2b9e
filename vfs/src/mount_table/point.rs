//! Mount points: where each comes from.

use std::path::{Path, PathBuf};

use endow_policy::{Access, BackendSpec};

use super::{Mount, MountTable};

/// What holds a mount point, and so what can make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The mount is the root of the view.
    Root,
    /// The directories that endow makes for the view itself.
    Skeleton,
    /// A file system in memory, made for this run.
    Memory,
    /// A private directory of this run.
    Private,
    /// A read-only or copy-on-write tree: if absent there, the name is made in a layer above it.
    Layer,
    /// A live directory of the host: the name must be there, endow never creates one.
    Live,
}

/// The mount point of one mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountPoint<'a> {
    /// The mount that stands on it.
    pub mount: &'a Mount,
    /// The mount that holds it; `None` in the skeleton and for the root.
    pub holder: Option<&'a Mount>,
    /// What the holder is.
    pub place: Place,
    /// The mount point seen from the holder's root, or from the root of the view.
    pub relative: PathBuf,
}

impl MountTable {
    /// Returns where each mount point is made, in the table's order.
    pub fn mount_points(&self) -> impl Iterator<Item = MountPoint<'_>> {
        self.iter().map(|mount| self.mount_point(mount))
    }

    fn mount_point<'a>(&'a self, mount: &'a Mount) -> MountPoint<'a> {
        let holder = self.parent(mount);
        let place = holder.map_or_else(|| outer_place(mount), place_below);
        MountPoint { mount, holder, place, relative: relative_to(mount, holder) }
    }
}

fn outer_place(mount: &Mount) -> Place {
    if mount.at().file_name().is_none() { Place::Root } else { Place::Skeleton }
}

fn place_below(holder: &Mount) -> Place {
    match (&holder.spec.backend, holder.spec.access) {
        (BackendSpec::Memory { .. }, _) => Place::Memory,
        (BackendSpec::Private { .. }, _) => Place::Private,
        (_, Access::Rw) => Place::Live,
        (_, Access::Ro | Access::Cow) => Place::Layer,
    }
}

fn relative_to(mount: &Mount, holder: Option<&Mount>) -> PathBuf {
    let path = mount.at();
    let below = match holder {
        Some(holder) => path.below(holder.at()),
        None => path.as_path().strip_prefix("/").ok(),
    };
    below.map_or_else(PathBuf::new, Path::to_path_buf)
}
