//! Single files that are mounted copy-on-write: where they stand, so that a command can replace
//! them by a rename, as most programs write their settings.
//!
//! No name that is a mount point can be renamed over. So the file is a mount of its own only where
//! its directory belongs to another mount; in a private directory it is a name like any other, and
//! where nothing else of the view is in its directory, that becomes a private one.

use std::collections::BTreeSet;
use std::path::Path;

use endow_policy::{Access, BackendSpec, GuestPath, MountClass, MountOptions, MountSpec};

use super::PlanError;
use super::mounts::flags_of;
use super::place::{Placed, PlacedSource, Placement};
use super::step::{InitStep, PrepareStep, RunPath, Source};
use super::view::Builder;

/// The bits of a directory that is private for the sake of a file in it.
const MODE: u32 = 0o755;

/// Returns whether a mount is a single file with buffered changes.
fn is_single(placed: &Placed) -> bool {
    placed.spec.access == Access::Cow
        && placed.is_physical()
        && placed.source.as_ref().is_some_and(|it| !it.directory)
}

/// Returns private directories for files whose directory nothing else needs.
pub(super) fn rooms(placement: &Placement) -> Vec<Placed> {
    let mut rooms: Vec<Placed> = Vec::new();
    let mut seen = BTreeSet::new();
    for placed in placement.mounts.iter().filter(|it| is_single(it)) {
        let Some(parent) = placed.spec.at.parent() else { continue };
        let is_free = placement.above(&placed.spec.at).is_none()
            && !parent.is_root()
            && holds_only_singles(placement, &parent);
        if is_free && seen.insert(parent.clone()) {
            rooms.push(room(parent, &placed.spec));
        }
    }
    rooms
}

fn holds_only_singles(placement: &Placement, directory: &GuestPath) -> bool {
    let mut within = placement.mounts.iter().filter(|it| it.spec.at.is_within(directory));
    let is_link = placement.links.keys().any(|link| link.is_within(directory));
    // A file that must not be executed needs the attribute of a mount of its own.
    !is_link
        && within.all(|it| {
            is_single(it)
                && it.spec.at.parent().as_ref() == Some(directory)
                && !it.spec.options.noexec
        })
}

fn room(at: GuestPath, single: &MountSpec) -> Placed {
    let spec = MountSpec {
        at,
        backend: BackendSpec::Private { seed: Vec::new(), write_back: Vec::new(), mode: MODE },
        access: Access::Rw,
        options: MountOptions::default(),
        class: MountClass::Granted,
        origin: single.origin.clone(),
    };
    Placed { spec, source: None, tree: None }
}

impl Builder<'_> {
    /// Returns the place in the run's directory at which a private directory of the view shows a
    /// single file.
    fn stands_in_private(&self, spec: &MountSpec) -> Option<RunPath> {
        let above = self.placement.above(&spec.at)?;
        let directory = self.private.get(&above.spec.at)?;
        let is_alike = flags_of(&above.spec, false) == flags_of(spec, false);
        let below = spec.at.below(&above.spec.at)?;
        is_alike.then(|| RunPath(directory.0.join(below)))
    }

    /// Plans a file of the command's own. Returns where the run keeps it, when it is a name in a
    /// private directory: then it can be published, and replaced from outside. A file that is a mount
    /// itself would go with the name of the host's that it stands on.
    pub(super) fn single(
        &mut self,
        spec: &MountSpec,
        source: &PlacedSource,
        layer: &RunPath,
    ) -> Result<Option<RunPath>, PlanError> {
        let name = source.path.as_path().file_name().ok_or_else(|| PlanError::no_place(spec))?;
        let in_private = self.stands_in_private(spec);
        let stands = in_private.clone().unwrap_or_else(|| {
            let own: &Path = "own".as_ref();
            RunPath(layer.0.join(own).join(name))
        });
        self.plan.prepare.push(PrepareStep::CopyFile {
            at: stands.clone(),
            layer: layer.clone(),
            from: source.path.clone(),
            expect: source.id,
        });
        if in_private.is_some() {
            self.stands(&spec.at);
            return Ok(in_private);
        }
        self.file(&spec.at)?;
        let flags = flags_of(spec, false);
        let source = Source::Run(stands);
        self.step(InitStep::Bind { source, at: spec.at.clone(), flags });
        self.mounted(&spec.at, false);
        Ok(None)
    }
}
