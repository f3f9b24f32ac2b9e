//! Shadows: what a mount hides of the mount that holds it.

use std::ffi::OsString;

use endow_policy::HostPath;

use super::{Mount, MountTable};

/// What this module must know of the host, answered by the caller.
pub trait HostView {
    /// Returns whether something is there.
    fn exists(&self, path: &HostPath) -> bool;

    /// Returns the names of a directory; `None` for anything else.
    fn names(&self, path: &HostPath) -> Option<Vec<OsString>>;
}

/// Something of the host that a deeper mount hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shadow<'a> {
    /// A mount stands over something that the mount above it shows.
    Part {
        /// The mount that hides.
        by: &'a Mount,
        /// The mount whose part is hidden.
        of: &'a Mount,
        /// What is hidden.
        hidden: HostPath,
    },
    /// Every name of a mount's root has another mount over it.
    Whole {
        /// The mount of which nothing shows.
        mount: &'a Mount,
    },
}

impl MountTable {
    /// Returns what mounts hide of the physical mounts that hold them.
    ///
    /// A mount of the same host path that the mount above shows there (to change its access)
    /// hides nothing.
    pub fn shadowed(&self, host: &dyn HostView) -> Vec<Shadow<'_>> {
        self.iter()
            .flat_map(|mount| [self.hidden_by(mount, host), self.hidden_whole(mount, host)])
            .flatten()
            .collect()
    }

    fn hidden_by<'a>(&'a self, by: &'a Mount, host: &dyn HostView) -> Option<Shadow<'a>> {
        let of = self.parent(by)?;
        let hidden = of.host_path(by.at())?;
        let is_same = by.source() == Some(&hidden);
        (!is_same && host.exists(&hidden)).then_some(Shadow::Part { by, of, hidden })
    }

    fn hidden_whole<'a>(&'a self, mount: &'a Mount, host: &dyn HostView) -> Option<Shadow<'a>> {
        let source = mount.source()?;
        self.children(mount).next()?;
        let names = host.names(source)?;
        let covered = |name: &OsString| {
            let path = mount.at().join(name).ok();
            path.and_then(|path| self.at(&path))
                .is_some_and(|over| over.source() != source.join(name).ok().as_ref())
        };
        (!names.is_empty() && names.iter().all(covered)).then_some(Shadow::Whole { mount })
    }
}
