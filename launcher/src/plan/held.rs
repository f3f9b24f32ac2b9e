//! Names in live mounts that the guest may read and not change: policy files, and the way to
//! endow's own directories.

use std::path::Path;

use endow_policy::{Access, GuestPath, HostPath, MountClass, MountSpec};

use super::PlanError;
use super::host::{Found, HiddenName, PathFact};
use super::place::{Placed, PlacedSource};
use super::planted;
use super::step::{Cover, InitStep, MountFlags, Renew, Source};
use super::view::Builder;

/// The name of a project's policy file.
pub const POLICY_FILE: &str = "endow.toml";

/// Returns the places of policy files in a writable workspace: from where the command starts up to the
/// workspace's root.
pub fn policy_files<'a>(
    spec: &'a MountSpec,
    start: &GuestPath,
) -> impl Iterator<Item = GuestPath> + use<'a> {
    let live = spec.class == MountClass::Workspace && spec.access != Access::Ro;
    let above = std::iter::successors(live.then(|| start.clone()), GuestPath::parent);
    let within = above.take_while(|path| path.is_within(&spec.at));
    within.filter_map(|path| path.join(POLICY_FILE).ok())
}

impl Builder<'_> {
    /// No policy file may be read through a link that a command could change: the link can't be
    /// covered. A project's file is held by its digest.
    pub(super) fn refuse_policies_by_link(&self) -> Result<(), PlanError> {
        let sources = self.placement.mounts.iter().filter(|it| it.spec.access == Access::Rw);
        let live: Vec<&HostPath> =
            sources.filter_map(|placed| Some(&placed.source.as_ref()?.path)).collect();
        for (file, fact) in self.policies() {
            if let Some(planted) = planted::any(fact, &live) {
                return Err(PlanError::PolicyByLink {
                    file: file.clone(),
                    link: planted.link.clone(),
                    within: planted.within.clone(),
                    to: fact.resolved.clone(),
                });
            }
        }
        Ok(())
    }

    /// Policy files that this run was made of can't be written from inside, nor those that a run
    /// here would read. A project's file that is missing can be made, and counts for nothing until
    /// it is trusted as it is.
    pub(super) fn hold_policies(
        &mut self,
        placed: &Placed,
        source: &PlacedSource,
        hidden: &[HiddenName],
    ) -> Result<(), PlanError> {
        let host = self.host;
        let covered = |path: &Path| hidden.iter().find(|name| path.starts_with(&name.path));
        let read = host.policies.iter().filter_map(|file| host.paths.get(file));
        let within: Vec<&Path> =
            read.filter_map(|fact| fact.resolved.below(&source.path)).collect();
        for path in within {
            // Below what is hidden, as endow's own directories are, nothing is there.
            if let Some(name) = covered(path) {
                self.hold_way(&placed.spec, &name.path)?;
                continue;
            }
            self.hold_way(&placed.spec, path)?;
            let at = placed.spec.at.join(path).map_err(|_| PlanError::no_place(&placed.spec))?;
            self.hold(placed, at);
        }
        for at in policy_files(&placed.spec, self.start) {
            self.hold(placed, at);
        }
        Ok(())
    }

    /// A directory of a live mount that is granted once more stays at its path. If a directory above it could be renamed,
    /// the command could put something of its own there, and what is hidden in it would be elsewhere when the run is over.
    pub(super) fn hold_granted(&mut self, placed: &Placed) -> Result<(), PlanError> {
        for other in self.below(placed).to_vec() {
            let path = other.spec.at.below(&placed.spec.at);
            if let Some(path) = path.filter(|_| self.has_granted(other)) {
                self.hold_whole_way(&placed.spec, path)?;
            }
        }
        Ok(())
    }

    /// Whether a mount, or one in it, shows a directory or a file of the host.
    fn has_granted(&self, placed: &Placed) -> bool {
        placed.source.is_some() || self.below(placed).iter().any(|other| self.has_granted(other))
    }

    /// The files besides a project's, as they were found.
    fn policies(&self) -> impl Iterator<Item = (&HostPath, &PathFact)> {
        self.host.policies.iter().filter_map(|file| Some((file, self.host.paths.get(file)?)))
    }

    /// Covers a file by itself, read-only, and again when the host replaces it.
    fn hold(&mut self, placed: &Placed, at: GuestPath) {
        let Some(host) = placed.host_path(&at) else { return };
        let fact = self.host.paths.get(&host);
        let is_file =
            fact.is_some_and(|fact| fact.links.is_empty() && matches!(fact.found, Found::File(_)));
        let flags = MountFlags { readonly: true, ..MountFlags::default() };
        let hold = InitStep::Bind { source: Source::Guest(at.clone()), at: at.clone(), flags };
        let covers = self.placement.covering(&at) == Some(placed);
        if !is_file || !covers || !self.bound.insert((at.clone(), true)) {
            return;
        }
        self.step(hold);
        self.renew(placed, &at, Cover::Itself);
    }

    /// Has the supervisor watch a name of a live mount. One that is mounted by itself stays, whatever
    /// becomes of its name.
    pub(super) fn renew(&mut self, placed: &Placed, at: &GuestPath, cover: Cover) {
        let (Some(source), Some(path)) = (&placed.source, at.below(&placed.spec.at)) else {
            return;
        };
        if path.as_os_str().is_empty() {
            return;
        }
        let (source, path) = (source.path.clone(), path.to_owned());
        self.plan.renew.push(Renew { source, at: placed.spec.at.clone(), path, cover });
    }

    /// Returns the name further down in a live mount that a path is at or below.
    fn first_deep<'p>(&self, spec: &MountSpec, path: &'p Path) -> Option<&'p Path> {
        let names = self.deep.get(&spec.at)?;
        path.ancestors().find(|above| names.contains(*above))
    }

    /// Makes the directories on the way to a name into mount points: these can't be renamed, or
    /// the guest could move what covers the name away and put something of its own in its place.
    ///
    /// Of the ways to a name further down those above it stay as they are: a mount point there would
    /// keep other names from being moved. What is put in its place is found when the run ends.
    pub(super) fn hold_way(&mut self, spec: &MountSpec, name: &Path) -> Result<(), PlanError> {
        let first = self.first_deep(spec, name).map_or(0, |path| path.iter().count() - 1);
        self.hold_way_from(first, spec, name)
    }

    /// Makes all directories on the way to a name into mount points, from the mount's root on, though other names may
    /// not be moved then.
    pub(super) fn hold_whole_way(
        &mut self,
        spec: &MountSpec,
        name: &Path,
    ) -> Result<(), PlanError> {
        self.hold_way_from(0, spec, name)
    }

    fn hold_way_from(
        &mut self,
        first: usize,
        spec: &MountSpec,
        name: &Path,
    ) -> Result<(), PlanError> {
        let above = name.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        let mut above: Vec<_> = above.collect();
        above.reverse();
        for path in above.into_iter().skip(first) {
            let at = spec.at.join(path).map_err(|_| PlanError::no_place(spec))?;
            self.hold_place(spec, &at);
        }
        Ok(())
    }

    /// Makes a directory into a mount point, which can't be renamed.
    pub(super) fn hold_place(&mut self, spec: &MountSpec, at: &GuestPath) {
        if self.bound.insert((at.clone(), false)) {
            let (source, flags) = (Source::Guest(at.clone()), super::mounts::flags_of(spec, true));
            self.step(InitStep::Bind { source, at: at.clone(), flags });
            self.mounted(at, false);
        }
    }
}
