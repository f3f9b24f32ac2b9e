//! The mounts of a sandbox in order, and the questions asked of them.

mod shadow;

use endow_policy::{BackendSpec, GuestPath, HostPath, MountSpec, Origin};

pub use shadow::{HostView, Shadow};

/// Why mounts don't form a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Two mounts stand at one place.
    #[error("mounted twice: {at} ({first}, {second})")]
    Duplicate {
        /// The place.
        at: GuestPath,
        /// Who asked for the one.
        first: Origin,
        /// Who asked for the other.
        second: Origin,
    },
    /// A mount stands below one that is always a file.
    #[error("mounted below a file: {at} ({origin})")]
    BelowFile {
        /// The place.
        at: GuestPath,
        /// Who asked for it.
        origin: Origin,
        /// The file above.
        file: GuestPath,
    },
}

/// One mount, with its neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// What the policy says of it.
    pub spec: MountSpec,
    index: usize,
    parent: Option<usize>,
}

impl Mount {
    /// Returns its number in the table's order.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns its place in the guest's view.
    pub fn at(&self) -> &GuestPath {
        &self.spec.at
    }

    /// Returns the host path behind a physical mount.
    pub fn source(&self) -> Option<&HostPath> {
        match &self.spec.backend {
            BackendSpec::Physical { host } => Some(host),
            _ => None,
        }
    }

    /// Returns the host path behind a guest path of a physical mount.
    pub fn host_path(&self, guest: &GuestPath) -> Option<HostPath> {
        let below = guest.below(self.at())?;
        self.source()?.join(below).ok()
    }

    /// Returns whether it is a file whatever the host holds.
    fn is_file(&self) -> bool {
        matches!(self.spec.backend, BackendSpec::Copy { .. } | BackendSpec::Made { .. })
    }
}

/// The mounts of a sandbox, each after the ones above it.
///
/// The order is that of paths name by name, so a mount comes before all that stands below it, and
/// what stands below it comes before its siblings. Deeper mounts win whatever order they were
/// asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountTable {
    mounts: Vec<Mount>,
}

impl MountTable {
    /// Puts mounts in order.
    ///
    /// # Errors
    /// Two mounts at one place, or one below a file.
    pub fn new(mut specs: Vec<MountSpec>) -> Result<Self, TableError> {
        specs.sort_by(|a, b| a.at.cmp(&b.at));
        let mut table = Self { mounts: Vec::with_capacity(specs.len()) };
        for spec in specs {
            table.push(spec)?;
        }
        Ok(table)
    }

    /// Returns the mounts, parents first.
    pub fn iter(&self) -> std::slice::Iter<'_, Mount> {
        self.mounts.iter()
    }

    /// Returns how many mounts there are.
    pub fn len(&self) -> usize {
        self.mounts.len()
    }

    /// Returns whether there is no mount.
    pub fn is_empty(&self) -> bool {
        self.mounts.is_empty()
    }

    /// Returns the mount at exactly this place.
    pub fn at(&self, path: &GuestPath) -> Option<&Mount> {
        let index = self.mounts.binary_search_by(|mount| mount.at().cmp(path)).ok()?;
        self.mounts.get(index)
    }

    /// Returns the mount that a guest path belongs to: the deepest one at it or above it.
    pub fn covering(&self, path: &GuestPath) -> Option<&Mount> {
        // The last mount not after the path is above it, or below some mount that is.
        let end = self.mounts.partition_point(|mount| mount.at() <= path);
        let mut candidate = self.mounts.get(end.checked_sub(1)?)?;
        while !path.is_within(candidate.at()) {
            candidate = self.parent(candidate)?;
        }
        Some(candidate)
    }

    /// Returns the mount that holds the mount point of `mount`.
    pub fn parent(&self, mount: &Mount) -> Option<&Mount> {
        self.mounts.get(mount.parent?)
    }

    /// Returns the mounts whose mount points `mount` holds, in order.
    pub fn children<'a>(&'a self, mount: &Mount) -> impl Iterator<Item = &'a Mount> + use<'a> {
        let parent = Some(mount.index);
        self.mounts.iter().skip(mount.index + 1).filter(move |child| child.parent == parent)
    }

    fn push(&mut self, spec: MountSpec) -> Result<(), TableError> {
        let above = self.covering(&spec.at);
        if let Some(above) = above {
            check_pair(above, &spec)?;
        }
        let parent = above.map(Mount::index);
        self.mounts.push(Mount { spec, index: self.mounts.len(), parent });
        Ok(())
    }
}

impl<'a> IntoIterator for &'a MountTable {
    type Item = &'a Mount;
    type IntoIter = std::slice::Iter<'a, Mount>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn check_pair(above: &Mount, spec: &MountSpec) -> Result<(), TableError> {
    let (at, origin) = (spec.at.clone(), spec.origin.clone());
    if above.at() == &spec.at {
        return Err(TableError::Duplicate { at, first: above.spec.origin.clone(), second: origin });
    }
    if above.is_file() {
        return Err(TableError::BelowFile { at, origin, file: above.at().clone() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
