//! Where each mount really stands: symbolic links of the host become links of the view.

use std::collections::BTreeMap;
use std::path::PathBuf;

use endow_policy::{Access, BackendSpec, GuestPath, HostPath, Made, MountClass, MountSpec, Policy};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::awaited::{self, AwaitedMount};
use super::host::{Found, HostFacts, PathFact};
use super::made::is_without_room;
use super::mounts::content_key;
use super::step::{FileId, HostMount, Source};
use super::stronger::{Brought, keep_stronger};
use super::tree::{TreeFact, place_tree};
use super::{PlanError, planted, skeleton};

/// A mount of the policy, at the place where it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// The mount as the policy says it, its guest path with links resolved.
    pub spec: MountSpec,
    /// The source as found, for mounts that have one on the host.
    pub source: Option<PlacedSource>,
    /// The tree that it shows, for git and content-addressed mounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Box<TreeFact>>,
}

impl Placed {
    /// Returns whether a host path is mounted.
    pub fn is_physical(&self) -> bool {
        matches!(self.spec.backend, BackendSpec::Physical { .. })
    }

    /// Returns whether changes reach a directory of the host at once.
    pub fn is_live(&self) -> bool {
        self.is_physical() && self.spec.access == Access::Rw && self.is_directory()
    }

    /// Returns whether names that no step makes may stand in it.
    fn may_have_names(&self) -> bool {
        match &self.spec.backend {
            BackendSpec::Memory { .. } => false,
            BackendSpec::Private { seed, .. } => !seed.is_empty(),
            _ => true,
        }
    }

    /// Returns whether a directory is mounted, and not a single file.
    pub fn is_directory(&self) -> bool {
        match &self.spec.backend {
            BackendSpec::Physical { .. } => self.source.as_ref().is_some_and(|it| it.directory),
            BackendSpec::Copy { .. } | BackendSpec::Made { .. } => false,
            _ => true,
        }
    }
}

/// The source of a mount on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedSource {
    /// The canonical path.
    pub path: HostPath,
    /// What is there.
    pub id: FileId,
    /// Whether it is a directory.
    pub directory: bool,
    /// What the mount takes away that it is reached by.
    #[serde(skip_serializing_if = "HostMount::is_plain")]
    pub mount: HostMount,
}

impl PlacedSource {
    /// Returns it as a mount's source.
    pub fn source(&self) -> Source {
        Source::Host { path: self.path.clone(), expect: self.id, mount: self.mount }
    }
}

/// The mounts in the order in which they are made, and the links that lead to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Parents before what lies below them.
    pub mounts: Vec<Placed>,
    /// Symbolic links of the view.
    pub links: BTreeMap<GuestPath, PathBuf>,
    /// Optional mounts whose source is absent.
    pub absent: Vec<GuestPath>,
    /// Mounts whose source does not exist yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<AwaitedMount>,
    /// The number of each mount, by its place.
    #[serde(skip)]
    by_place: FxHashMap<Vec<u8>, usize>,
}

impl Placement {
    /// Returns the deepest mount that covers `path`.
    pub fn covering(&self, path: &GuestPath) -> Option<&Placed> {
        let number = path.way_up().find_map(|place| self.by_place.get(place))?;
        self.mounts.get(*number)
    }

    /// Returns the deepest mount that covers the directory above `path`.
    pub fn above(&self, path: &GuestPath) -> Option<&Placed> {
        let number = path.way_up().skip(1).find_map(|place| self.by_place.get(place))?;
        self.mounts.get(*number)
    }

    /// Returns the mount at exactly `place`.
    pub fn at(&self, place: &GuestPath) -> Option<&Placed> {
        self.named(place.as_bytes())
    }

    /// Returns likewise the mount at a place by its bytes.
    pub(super) fn named(&self, place: &[u8]) -> Option<&Placed> {
        self.by_place.get(place).and_then(|number| self.mounts.get(*number))
    }

    /// Returns the mount at exactly `place`, to be changed in what does not move it.
    pub(super) fn at_mut(&mut self, place: &GuestPath) -> Option<&mut Placed> {
        self.by_place.get(place.as_bytes()).and_then(|number| self.mounts.get_mut(*number))
    }

    fn set_mounts(&mut self, mounts: Vec<Placed>) {
        let places = mounts.iter().enumerate();
        self.by_place =
            places.map(|(number, placed)| (placed.spec.at.as_bytes().to_vec(), number)).collect();
        self.mounts = mounts;
    }
}

impl Placement {
    /// Returns the same links with other mounts.
    pub(super) fn with_mounts(&self, mounts: Vec<Placed>, absent: Vec<GuestPath>) -> Self {
        let by_path: BTreeMap<_, _> =
            mounts.into_iter().map(|placed| (placed.spec.at.clone(), placed)).collect();
        let mut placement = Self { links: self.links.clone(), absent, ..Self::default() };
        placement.set_mounts(by_path.into_values().collect());
        placement
    }

    /// Returns the place of `XDG_RUNTIME_DIR`, where the view has room for one.
    pub fn runtime_directory(&self, uid: u32) -> Option<GuestPath> {
        let path = GuestPath::new(format!("/run/user/{uid}")).ok()?;
        self.is_writable_and_empty(&path).then_some(path)
    }

    /// Returns whether a directory may stand at `path`: one that leads to a mount or is one, or that
    /// something of the host may have. What is empty at first has nothing else.
    pub fn may_have(&self, path: &GuestPath, uid: u32) -> bool {
        let made = ["/proc", "/dev", "/run/endow"].iter().any(|it| path.as_path().starts_with(it));
        let linked = self.links.keys().any(|link| path.is_within(link));
        let leads = self.mounts.iter().any(|placed| placed.spec.at.is_within(path));
        let own = self.runtime_directory(uid).is_some_and(|own| own.is_within(path));
        let root = path.is_root();
        root || made
            || linked
            || leads
            || own
            || self.covering(path).is_some_and(Placed::may_have_names)
    }

    /// Returns whether a memory mount or private directory covers `path`.
    pub fn is_writable_and_empty(&self, path: &GuestPath) -> bool {
        self.covering(path).is_some_and(|placed| placed.spec.backend.is_made_empty())
    }
}

/// Places every mount of the policy.
pub fn place(policy: &Policy, host: &HostFacts) -> Result<Placement, PlanError> {
    let mounts = policy.mounts.as_slice();
    let mut placement = Placement::default();
    let mut all = Vec::with_capacity(mounts.len());
    let live = planted::live_sources(mounts, host);
    let mut waiting = Vec::new();
    for spec in mounts {
        if is_waiting(spec, host) {
            waiting.push(spec);
            continue;
        }
        if is_planted(spec, host, &live)? {
            placement.absent.push(spec.at.clone());
            continue;
        }
        let placed = place_one((spec, mounts), host, &mut placement)?;
        all.extend(placed.map(|placed| Brought { placed, named: spec.at.clone() }));
    }
    placement.set_mounts(keep_stronger(all, &policy.chdir)?);
    let is_needless =
        |placed: &Placed| is_repeated(placed, &placement) || is_without_room(placed, &placement);
    if placement.mounts.iter().any(is_needless) {
        let kept = placement.mounts.iter().filter(|placed| !is_needless(placed));
        placement.set_mounts(kept.cloned().collect());
    }
    let rooms = super::single::rooms(&placement);
    if !rooms.is_empty() {
        let absent = std::mem::take(&mut placement.absent);
        let mounts = placement.mounts.iter().cloned().chain(rooms).collect();
        placement = placement.with_mounts(mounts, absent);
    }
    awaited::place(&waiting, host, &live, &mut placement)?;
    let links = std::mem::take(&mut placement.links);
    let shown = |link: &GuestPath| placement.covering(link).is_some_and(Placed::is_physical);
    placement.links = links.into_iter().filter(|(link, _)| !shown(link)).collect();
    Ok(placement)
}

fn is_waiting(spec: &MountSpec, host: &HostFacts) -> bool {
    let BackendSpec::Physical { host: source } = &spec.backend else { return false };
    host.paths.get(source).is_some_and(|fact| awaited::waits(spec, fact))
}

/// Refuses a grant that goes through a link which a command may have made; what the base has where
/// it finds it is left out instead.
fn is_planted(spec: &MountSpec, host: &HostFacts, live: &[&HostPath]) -> Result<bool, PlanError> {
    let (BackendSpec::Physical { host: source } | BackendSpec::Copy { host: source }) =
        &spec.backend
    else {
        return Ok(false);
    };
    let Some(fact) = host.paths.get(source) else { return Ok(false) };
    match planted::find(fact, live) {
        None => Ok(false),
        // There is nothing to show.
        Some(_) if fact.found == Found::Missing => Ok(false),
        Some(_) if spec.class == MountClass::System && spec.options.optional => Ok(true),
        Some(planted) => Err(PlanError::PlantedLink {
            link: planted.link.clone(),
            to: fact.resolved.clone(),
            within: planted.within.clone(),
            origin: spec.origin.clone(),
        }),
    }
}

fn place_one(
    (spec, all): (&MountSpec, &[MountSpec]),
    host: &HostFacts,
    placement: &mut Placement,
) -> Result<Option<Placed>, PlanError> {
    match &spec.backend {
        BackendSpec::Physical { host: source } => {
            place_physical((spec, all), source, host, placement)
        }
        BackendSpec::Copy { host: source } => place_copy(spec, source, host, placement),
        BackendSpec::Private { .. } => Ok(Some(place_private(spec, host, placement))),
        BackendSpec::Memory { .. } => {
            Ok(Some(Placed { spec: spec.clone(), source: None, tree: None }))
        }
        BackendSpec::Made { made: Made::Gitignore }
            if !host.contents.contains_key(&content_key(&spec.backend)) =>
        {
            Ok(None)
        }
        BackendSpec::Made { .. } => Ok(Some(place_made(spec, host))),
        BackendSpec::Cgroup if !host.cgroup.is_own => Ok(None),
        BackendSpec::Cgroup => Ok(Some(Placed { spec: spec.clone(), source: None, tree: None })),
        BackendSpec::Git { .. } | BackendSpec::Cas { .. } => {
            let placed = place_tree(spec, host)?;
            if placed.is_none() {
                placement.absent.push(spec.at.clone());
            }
            Ok(placed)
        }
    }
}

fn place_physical(
    (spec, all): (&MountSpec, &[MountSpec]),
    source: &HostPath,
    host: &HostFacts,
    placement: &mut Placement,
) -> Result<Option<Placed>, PlanError> {
    let fact = host.paths.get(source).ok_or_else(|| PlanError::Unprobed(source.clone()))?;
    let Some(found) = source_of(fact) else {
        return missing(spec, source, fact, placement);
    };
    if spec.options.socket && !matches!(fact.found, Found::Socket(_)) {
        return Err(PlanError::NoSocket { path: source.clone(), origin: spec.origin.clone() });
    }
    let mut spec = spec.clone();
    let by_name = matches!(fact.found, Found::File(_)) && stands_by_name(&spec, all);
    if spec.at.as_path() == source.as_path() && !by_name {
        adopt_links(placement, fact);
        spec.at = fact.resolved.to_guest();
    }
    if skeleton::is_given(&spec.at, &fact.resolved) {
        return Ok(None);
    }
    if spec.access == Access::Cow && matches!(fact.found, Found::Socket(_) | Found::Special(_)) {
        return Err(PlanError::Unbuffered { path: source.clone(), origin: spec.origin.clone() });
    }
    Ok(Some(Placed { spec, source: Some(found), tree: None }))
}

/// Whether a file stands where it is named, and not where links lead: a tree at `/` takes no links, and no
/// other mount shows the host's. Nothing lies below a file whose place would have to follow.
fn stands_by_name(spec: &MountSpec, all: &[MountSpec]) -> bool {
    let is_tree = |it: &MountSpec| it.at.is_root() && it.backend.is_tree();
    let shows = |it: &MountSpec| {
        it.at != spec.at
            && spec.at.is_within(&it.at)
            && matches!(it.backend, BackendSpec::Physical { .. })
    };
    all.iter().any(is_tree) && !all.iter().any(shows)
}

fn place_copy(
    spec: &MountSpec,
    source: &HostPath,
    host: &HostFacts,
    placement: &mut Placement,
) -> Result<Option<Placed>, PlanError> {
    let fact = host.paths.get(source).ok_or_else(|| PlanError::Unprobed(source.clone()))?;
    match fact.found {
        Found::File(_) => {
            Ok(Some(Placed { spec: spec.clone(), source: source_of(fact), tree: None }))
        }
        _ => missing(spec, source, fact, placement),
    }
}

/// A private directory at a path that is a link on the host stands where the link leads, so that
/// both spellings name one place inside, as they do outside.
fn place_private(spec: &MountSpec, host: &HostFacts, placement: &mut Placement) -> Placed {
    let mut spec = spec.clone();
    if let Some(fact) = host.paths.get(&spec.at.to_host())
        && matches!(fact.found, Found::Directory(_))
    {
        adopt_links(placement, fact);
        spec.at = fact.resolved.to_guest();
    }
    Placed { spec, source: None, tree: None }
}

/// A file that is made stands where links of the host lead on the way to it, as what is mounted there does.
fn place_made(spec: &MountSpec, host: &HostFacts) -> Placed {
    let led = |above: GuestPath| {
        let fact = host.paths.get(&above.to_host())?;
        let is_led = !fact.links.is_empty() && matches!(fact.found, Found::Directory(_));
        let below = is_led.then(|| spec.at.below(&above)).flatten()?;
        fact.resolved.to_guest().join(below).ok()
    };
    let at = std::iter::successors(spec.at.parent(), GuestPath::parent).find_map(led);
    let at = at.unwrap_or_else(|| spec.at.clone());
    Placed { spec: MountSpec { at, ..spec.clone() }, source: None, tree: None }
}

/// The view's own `/proc` has links of its own.
fn adopt_links(placement: &mut Placement, fact: &PathFact) {
    let links = fact.links.iter().filter(|(at, _)| !at.as_path().starts_with("/proc"));
    let links = links.map(|(at, to)| (at.to_guest(), to.clone()));
    placement.links.extend(links);
}

fn source_of(fact: &PathFact) -> Option<PlacedSource> {
    let directory = matches!(fact.found, Found::Directory(_));
    let id = fact.found.id()?;
    Some(PlacedSource { path: fact.resolved.clone(), id, directory, mount: fact.mount })
}

fn missing(
    spec: &MountSpec,
    source: &HostPath,
    fact: &PathFact,
    placement: &mut Placement,
) -> Result<Option<Placed>, PlanError> {
    match fact.found {
        _ if spec.options.optional => {
            placement.absent.push(spec.at.clone());
            Ok(None)
        }
        Found::Unreadable(errno) => Err(PlanError::UnreadableSource {
            path: source.clone(),
            errno,
            origin: spec.origin.clone(),
        }),
        _ => Err(PlanError::MissingSource { path: source.clone(), origin: spec.origin.clone() }),
    }
}

/// A mount that shows what the mount above it shows already, with the same rules, is left out:
/// `/bin` is a link to `usr/bin` on most systems, and `/usr` is there.
fn is_repeated(placed: &Placed, placement: &Placement) -> bool {
    placement.above(&placed.spec.at).is_some_and(|above| shows_the_same(placed, above))
}

fn shows_the_same(placed: &Placed, above: &Placed) -> bool {
    let (Some(source), Some(above_source)) = (&placed.source, &above.source) else { return false };
    placed.spec.access == above.spec.access
        && !placed.spec.options.socket
        && placed.spec.options.noexec == above.spec.options.noexec
        && placed.spec.class == above.spec.class
        && placed.is_physical()
        && above.is_physical()
        && source.path.below(&above_source.path).is_some()
        && source.path.below(&above_source.path) == placed.spec.at.below(&above.spec.at)
}
