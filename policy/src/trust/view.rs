//! What a run shows without a project's file.

use std::collections::BTreeMap;

use crate::compose::Composed;
use crate::resolve::mounts;
use crate::workspace::{covering, default_workspace, place};
use crate::{BackendSpec, GuestPath, HostPath, MountClass, MountSpec, Vars};

/// The mounts that the weaker layers and the flags make together, the workspace among them: the flags are stronger than a
/// project's file, but not where that one makes another directory the workspace, or takes away what hides a part of theirs.
#[derive(Clone, Debug)]
pub struct View {
    mounts: BTreeMap<GuestPath, MountSpec>,
    /// Where the workspace stands, would stand by default, and where the command starts.
    places: Vec<GuestPath>,
    start: HostPath,
    /// The directory that the workspace shows.
    workspace: Option<HostPath>,
    /// Whether a pattern of what is denied, protected or written back counts from the workspace's root.
    is_anchored: bool,
}

impl View {
    /// Places the workspace among what all sources but the file say.
    pub fn of(others: &Composed, vars: &Vars) -> Self {
        let mut mounts = mounts(others);
        // Without a place for the command the run does not start, whatever the file says.
        let placed = place(others, vars, &mut mounts).ok().and_then(|it| it.workspace);
        let workspace = placed.and_then(|at| mounts.get(&at).and_then(source).cloned());
        let workspaces = mounts.values().filter(|mount| mount.class == MountClass::Workspace);
        let default = default_workspace(vars).ok().map(|path| path.to_guest());
        let places = workspaces.map(|mount| mount.at.clone()).chain(default);
        let places = places.chain([vars.cwd.to_guest()]).collect();
        let (start, is_anchored) = (vars.cwd.clone(), others.is_anchored());
        Self { mounts, places, start, workspace, is_anchored }
    }

    /// Returns the directory that the workspace shows.
    pub(super) fn workspace(&self) -> Option<&HostPath> {
        self.workspace.as_ref()
    }

    /// Returns whether a grant shows a directory.
    pub(super) fn shows(&self, directory: &HostPath) -> bool {
        let grants = self.mounts.values().filter(|it| it.class != MountClass::System);
        let mut sources = grants.filter_map(source);
        sources.any(|host| directory.is_within(host))
    }

    /// Returns whether another root of the workspace would change what patterns mean.
    pub(super) fn is_anchored(&self) -> bool {
        self.is_anchored
    }

    /// Returns whether the command would start in what a system directory shows: a grant of the same makes that the
    /// workspace.
    pub(super) fn starts_in_system(&self, mount: &MountSpec) -> bool {
        mount.class == MountClass::System && self.start.to_guest().is_within(&mount.at)
    }

    /// Returns whether the command would start in a place that lies in the mount which holds its start.
    pub(super) fn holds_start(&self, place: &GuestPath) -> bool {
        let start = self.start.to_guest();
        let holder = covering(&start, &self.mounts);
        start.is_within(place) && holder.is_some_and(|it| place.is_within(&it.at))
    }

    /// Returns what stands at a place.
    pub(super) fn at(&self, place: &GuestPath) -> Option<&MountSpec> {
        self.mounts.get(place)
    }

    /// Returns whether a place is the workspace's, or would be with a mount there.
    pub(super) fn is_workspace(&self, place: &GuestPath) -> bool {
        self.places.contains(place)
    }

    /// Returns whether taking a mount away shows what lies below it in a shallower one: an empty directory over a
    /// secret hides it, and its removal is a grant.
    pub(super) fn is_over_something(&self, place: &GuestPath) -> bool {
        let above = place.parent().and_then(|above| covering(&above, &self.mounts));
        self.places.iter().any(|it| place.is_within(it))
            || above.is_some_and(|it| !it.backend.is_made_empty())
    }
}

fn source(mount: &MountSpec) -> Option<&HostPath> {
    let BackendSpec::Physical { host } = &mount.backend else { return None };
    Some(host)
}
