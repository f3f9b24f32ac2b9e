//! Mounts whose source does not exist yet: nothing stands at their place, as outside, and what the
//! command makes there is brought to the host at the end.
//!
//! The place lies in a private directory, so that nothing of it reaches the host before. A single
//! file in a directory of the host is published while the command runs, like one that was there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use endow_policy::{Access, BackendSpec, Create, GuestPath, HostPath, MountSpec, Origin, Policy};
use serde::Serialize;

use super::PlanError;
use super::buffered::publishes;
use super::host::{Found, HostFacts, PathFact};
use super::mounts::flags_of;
use super::place::{PlacedSource, Placement};
use super::planted;
use super::step::{Buffered, FileId, PrepareStep, RunPath};
use super::view::Builder;

/// A mount that waits for its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AwaitedMount {
    /// The mount as the policy says it, its guest path with links resolved.
    pub spec: MountSpec,
    /// The deepest directory on the way to the source that exists.
    pub root: PlacedSource,
    /// The source, below it.
    pub path: PathBuf,
    /// What the command may make.
    pub kind: Create,
}

/// A place at which a command makes what is brought to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Awaited {
    /// The place in the view.
    pub at: GuestPath,
    /// The source that does not exist.
    pub source: HostPath,
    /// The source, below the deepest directory that exists.
    pub path: PathBuf,
    /// What was found there.
    pub root: FileId,
    /// What the command may make.
    pub kind: Create,
    /// Where the run keeps the layer that it becomes.
    pub layer: RunPath,
    /// Once the source exists it is live: of a tool's own state nothing is held.
    pub live: bool,
    /// Then it is watched, and what would be taken out of it is held.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guarded: bool,
}

/// Returns the directories that may lead to sources that don't exist.
pub fn ancestors(policy: &Policy) -> impl Iterator<Item = HostPath> {
    let sources = policy.mounts.iter().filter_map(|spec| match &spec.backend {
        BackendSpec::Physical { host } if spec.options.create.is_some() => host.parent(),
        _ => None,
    });
    sources.flat_map(|source| std::iter::successors(Some(source), HostPath::parent))
}

/// Returns whether a mount waits for its source.
pub(super) fn waits(spec: &MountSpec, fact: &PathFact) -> bool {
    spec.options.create.is_some() && fact.found == Found::Missing
}

/// Places mounts that wait, now that all others stand.
pub(super) fn place(
    waiting: &[&MountSpec],
    host: &HostFacts,
    live: &[&HostPath],
    placement: &mut Placement,
) -> Result<(), PlanError> {
    for spec in waiting {
        match place_one(spec, host, live, placement)? {
            Some((found, links)) => {
                placement.links.extend(links);
                placement.awaited.push(found);
            }
            None if spec.options.optional => placement.absent.push(spec.at.clone()),
            None => {
                let (at, origin) = (spec.at.clone(), spec.origin.clone());
                return Err(PlanError::NotPrivate { at, origin });
            }
        }
    }
    Ok(())
}

type Links = BTreeMap<GuestPath, PathBuf>;

fn place_one(
    spec: &MountSpec,
    host: &HostFacts,
    live: &[&HostPath],
    placement: &Placement,
) -> Result<Option<(AwaitedMount, Links)>, PlanError> {
    let (BackendSpec::Physical { host: source }, Some(kind)) = (&spec.backend, spec.options.create)
    else {
        return Ok(None);
    };
    let Some((above, fact)) = deepest(source, host) else { return Ok(None) };
    let (Found::Directory(id), Some(path)) = (fact.found, source.below(&above)) else {
        return Ok(None);
    };
    if let Some(planted) = planted::find(fact, live) {
        return Err(PlanError::PlantedLink {
            link: planted.link.clone(),
            to: fact.resolved.clone(),
            within: planted.within.clone(),
            origin: spec.origin.clone(),
        });
    }
    let (mut spec, path) = (spec.clone(), path.to_owned());
    let mut links = Links::new();
    if spec.at.as_path() == source.as_path() {
        let Ok(at) = fact.resolved.to_guest().join(&path) else { return Ok(None) };
        spec.at = at;
        links.extend(fact.links.iter().map(|(at, to)| (at.to_guest(), to.clone())));
    }
    let root = PlacedSource { path: fact.resolved.clone(), id, directory: true, mount: fact.mount };
    let is_room = has_room(&spec, &path, placement);
    Ok(is_room.then_some((AwaitedMount { spec, root, path, kind }, links)))
}

/// Returns the deepest directory above a path that exists.
fn deepest<'a>(source: &HostPath, host: &'a HostFacts) -> Option<(HostPath, &'a PathFact)> {
    let mut above = std::iter::successors(source.parent(), HostPath::parent);
    let (above, fact) = above.find_map(|path| {
        let fact = host.paths.get(&path)?;
        (fact.found != Found::Missing).then_some((path, fact))
    })?;
    Some((above, fact))
}

/// Returns whether a private directory holds the place and what leads to it, and nothing stands there.
fn has_room(spec: &MountSpec, path: &std::path::Path, placement: &Placement) -> bool {
    let Some(above) = placement.above(&spec.at) else { return false };
    let leads = path.components().skip(1).try_fold(spec.at.clone(), |at, _| at.parent());
    let is_below = leads.and_then(|at| at.parent()).is_some_and(|at| at.is_within(&above.spec.at));
    let is_private = matches!(above.spec.backend, BackendSpec::Private { .. });
    let is_alike = flags_of(&above.spec, false) == flags_of(spec, false);
    let is_free = !placement.mounts.iter().any(|it| it.spec.at.is_within(&spec.at))
        && !placement.awaited.iter().any(|it| it.spec.at.is_within(&spec.at))
        && !placement.awaited.iter().any(|it| spec.at.is_within(&it.spec.at))
        && !placement.links.keys().any(|link| link.is_within(&spec.at));
    is_below && is_private && is_alike && is_free
}

impl Builder<'_> {
    /// Plans the places at which commands make what is awaited. The directories that lead there exist
    /// inside as far as they do on the host.
    pub(super) fn awaited(&mut self) -> Result<(), PlanError> {
        let placement = self.placement;
        for awaited in &placement.awaited {
            let Some(stands) = self.in_private(&awaited.spec.at) else { continue };
            let depth = awaited.path.components().count();
            let leads = (0..depth).try_fold(awaited.spec.at.clone(), |at, _| at.parent());
            if let Some(leads) = leads {
                self.directory(&leads, 0o755)?;
            }
            self.await_one(awaited, stands)?;
        }
        Ok(())
    }

    fn in_private(&self, at: &GuestPath) -> Option<RunPath> {
        let above = self.placement.above(at)?;
        let directory = self.private.get(&above.spec.at)?;
        Some(RunPath(directory.0.join(at.below(&above.spec.at)?)))
    }

    fn await_one(&mut self, awaited: &AwaitedMount, stands: RunPath) -> Result<(), PlanError> {
        let AwaitedMount { spec, root, path, kind } = awaited;
        let (at, layer) = (spec.at.clone(), self.layer(false));
        let source = root.path.join(path).map_err(|_| PlanError::no_place(spec))?;
        let to = source.clone();
        if *kind == Create::File && path.components().count() == 1 {
            let step = PrepareStep::AwaitFile { at: stands.clone(), layer: layer.clone(), to };
            self.plan.prepare.push(step);
            self.plan.buffered.push(Buffered {
                at,
                source,
                id: root.id,
                directory: false,
                layer,
                published: publishes(self.sync).then_some(stands),
                in_memory: false,
                hidden: Vec::new(),
                foreign: Vec::new(),
                since: None,
            });
            return Ok(());
        }
        self.plan.prepare.push(PrepareStep::Await { at: stands, layer: layer.clone(), to });
        self.plan.awaited.push(Awaited {
            at,
            source,
            path: path.clone(),
            root: root.id,
            kind: *kind,
            layer,
            live: spec.access == Access::Rw,
            guarded: spec.access == Access::Rw && !matches!(spec.origin, Origin::Profile { .. }),
        });
        Ok(())
    }
}
