//! The steps that build the view: what stands where, in the order in which it is made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use endow_policy::{
    AllowWord, BackendSpec, GuestPath, Level, Limits, MountSpec, Policy, SyncRules,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::awaited::Awaited;
use super::host::{Found, HostFacts};
use super::place::{Placed, Placement};
use super::repository::CopiedSettings;
use super::seccomp::Observe;
use super::skeleton::fixed;
use super::standing::Standing;
use super::step::{Buffered, Guard, InitStep, MountFlags, PrepareStep, Renew, RunPath};
use super::working_copy::ChangedTree;
use super::{PlanError, live_names};

/// Refuses what can't stand at `/`, as far as that is known before anybody looks at the host. Without namespaces
/// nothing stands anywhere: a grant of `/` is one like others.
pub(crate) fn refuse_root(policy: &Policy) -> Result<(), PlanError> {
    let is_root = |spec: &&MountSpec| spec.at.is_root();
    let mut roots = policy.mounts.iter().filter(is_root);
    let other = roots.find(|spec| !spec.backend.is_tree() && !spec.options.optional);
    match other.filter(|_| policy.require.level != Level::Landlock) {
        Some(spec) => Err(PlanError::Root { origin: spec.origin.clone() }),
        None => Ok(()),
    }
}

/// Where a view says something of itself, and by what word an endow inside knows of this one.
const OWN: &str = "/run/endow";
const LEVEL: &str = "/run/endow/level";

/// What the view needs from the host side, from pid 1 and from the supervisor.
#[derive(Debug, Default)]
pub(crate) struct ViewPlan {
    pub(crate) prepare: Vec<PrepareStep>,
    pub(crate) init: Vec<InitStep>,
    pub(crate) renew: Vec<Renew>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) buffered: Vec<Buffered>,
    pub(crate) dropped: Vec<Buffered>,
    pub(crate) awaited: Vec<Awaited>,
    pub(crate) trees: Vec<ChangedTree>,
    pub(crate) settings: Vec<CopiedSettings>,
}

/// Plans the whole view.
pub(crate) fn plan(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    (level, observe): (Level, Observe),
) -> Result<ViewPlan, PlanError> {
    let mut builder = Builder::new(placement, host, policy);
    let [early, late] = builder.begin_mounts(policy)?;
    early.into_iter().chain(late).try_for_each(|placed| builder.mount(placed))?;
    builder.awaited()?;
    builder.links()?;
    builder.repositories()?;
    builder.live_names()?;
    builder.work_trees()?;
    builder.own_names(level, observe)?;
    builder.end(policy);
    Ok(builder.plan)
}

/// Plans the mounts with which the view begins, until one that is made otherwise by what is protected in it.
pub(crate) fn ahead(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    observe: Observe,
) -> Result<ViewPlan, PlanError> {
    let mut builder = Builder::new(placement, host, policy);
    let [early, _] = builder.begin_mounts(policy)?;
    let is_covered = |placed: &Placed| {
        let source = placed.source.as_ref().filter(|_| placed.is_live());
        let hidden = source.and_then(|source| host.hidden.get(&source.path));
        hidden.is_some_and(|hidden| !hidden.names.is_empty())
    };
    let known = early.into_iter().take_while(|placed| !is_covered(placed));
    known.into_iter().try_for_each(|placed| builder.mount(placed))?;
    if builder.shows_denials(observe) {
        builder.denials_ahead(&fixed(OWN));
    }
    Ok(builder.plan)
}

/// Plans what comes before any mount of the policy, unless the root is one.
pub(super) fn first_steps(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
) -> Result<Vec<InitStep>, PlanError> {
    let mut builder = Builder::new(placement, host, policy);
    builder.begin();
    builder.kernel_file_systems(policy)?;
    Ok(builder.plan.init)
}

pub(super) struct Builder<'a> {
    pub(super) placement: &'a Placement,
    pub(super) host: &'a HostFacts,
    /// Where the command starts.
    pub(super) start: &'a GuestPath,
    /// What the run may use.
    pub(super) limits: &'a Limits,
    /// What is to become of changes.
    pub(super) sync: &'a SyncRules,
    /// The most bytes of all cached trees.
    pub(super) cache_bytes: u64,
    pub(super) plan: ViewPlan,
    standing: Standing,
    /// Where the run keeps what private directories show, by their places.
    pub(super) private: FxHashMap<GuestPath, RunPath>,
    /// The mounts right below each mount, by its place.
    below: FxHashMap<GuestPath, Vec<&'a Placed>>,
    /// Mount points made so far that are empty at first: what lies below must be made too.
    empty: FxHashSet<Vec<u8>>,
    /// Places of live mounts that are bound to themselves by now, and whether read-only.
    pub(super) bound: FxHashSet<(GuestPath, bool)>,
    /// Names further down in live mounts, by the mount's place.
    pub(super) deep: FxHashMap<GuestPath, BTreeSet<&'a Path>>,
}

impl<'a> Builder<'a> {
    fn new(placement: &'a Placement, host: &'a HostFacts, policy: &'a Policy) -> Self {
        let (start, limits, sync) = (&policy.chdir, &policy.limits, &policy.sync);
        let standing = Standing::new();
        let empty = FxHashSet::from_iter([b"/".to_vec()]);
        let below = below(placement);
        let plan = ViewPlan::default();
        let private = FxHashMap::default();
        let cache_bytes = policy.state.cache_bytes;
        Self {
            placement,
            host,
            start,
            limits,
            sync,
            cache_bytes,
            plan,
            standing,
            private,
            below,
            empty,
            bound: FxHashSet::default(),
            deep: live_names::deep(placement, host),
        }
    }

    /// Returns the mounts right below `placed`.
    pub(super) fn below(&self, placed: &Placed) -> &[&'a Placed] {
        self.below.get(&placed.spec.at).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns whether a mount shows something prepared, and neither lies in another nor has one in it.
    fn can_be_late(&self, placed: &Placed) -> bool {
        use BackendSpec::{Cas, Git, Private};
        let takes = matches!(placed.spec.backend, Private { .. } | Git { .. } | Cas { .. });
        let above = self.placement.above(&placed.spec.at);
        let is_apart = above.is_none_or(|above| above.spec.at.is_root());
        takes && is_apart && self.below(placed).is_empty()
    }

    /// Plans what comes before other mounts, and returns these: those last that take something prepared. Until then
    /// pid 1 need not wait for it.
    fn begin_mounts(&mut self, policy: &Policy) -> Result<[Vec<&'a Placed>; 2], PlanError> {
        self.refuse_policies_by_link()?;
        self.begin();
        let (root, others): (Vec<&'a Placed>, Vec<_>) =
            self.placement.mounts.iter().partition(|placed| placed.spec.at.is_root());
        root.into_iter().try_for_each(|placed| self.root(placed))?;
        self.kernel_file_systems(policy)?;
        let (late, early) = others.into_iter().partition(|placed| self.can_be_late(placed));
        Ok([early, late])
    }

    fn begin(&mut self) {
        if !self.host.kernel.builds_detached() {
            self.step(InitStep::AttachRoot);
        }
    }

    fn end(&mut self, policy: &Policy) {
        let is_own = self.empty.contains(&b"/"[..]);
        if is_own {
            self.step(InitStep::Seal { at: GuestPath::root() });
        }
        if self.host.kernel.builds_detached() {
            self.step(InitStep::AttachRoot);
        }
        // In a tree the devices have a file system of their own. The kernel changes it where it is attached.
        if !is_own {
            self.step(InitStep::Seal { at: fixed("/dev") });
        }
        self.step(InitStep::Pivot);
        if let Some(name) = policy.process.hostname.clone() {
            self.step(InitStep::Hostname { name });
        }
    }

    fn kernel_file_systems(&mut self, policy: &Policy) -> Result<(), PlanError> {
        self.proc(policy.process.allow.contains(&AllowWord::Userns))?;
        self.devices()
    }

    fn links(&mut self) -> Result<(), PlanError> {
        for (at, to) in &self.placement.links {
            if !self.standing.contains(at) {
                self.symlink(at, to.clone())?;
            }
        }
        Ok(())
    }

    /// The user's runtime directory, the word by which an endow inside knows of this one, and what was
    /// refused.
    fn own_names(&mut self, level: Level, observe: Observe) -> Result<(), PlanError> {
        if let Some(directory) = self.placement.runtime_directory(self.host.user.uid) {
            self.directory(&directory, 0o700)?;
        }
        let file = fixed(LEVEL);
        if self.placement.is_writable_and_empty(&file) {
            self.content(&file, format!("{}\n", level.word()).into_bytes())?;
        }
        if self.shows_denials(observe) {
            self.denials(&fixed(OWN))?;
        }
        Ok(())
    }

    fn shows_denials(&self, observe: Observe) -> bool {
        !observe.is_nothing() && self.placement.is_writable_and_empty(&fixed(LEVEL))
    }

    pub(super) fn step(&mut self, step: InitStep) {
        self.plan.init.push(step);
    }

    /// Makes a directory and what leads to it, unless it stands.
    pub(super) fn directory(&mut self, at: &GuestPath, mode: u32) -> Result<(), PlanError> {
        if self.needs_making(at, true)? {
            self.step(InitStep::Mkdir { at: at.clone(), mode });
        }
        Ok(())
    }

    /// Makes an empty file and the directories that lead to it, unless it stands.
    pub(super) fn file(&mut self, at: &GuestPath) -> Result<(), PlanError> {
        if self.needs_making(at, false)? {
            self.step(InitStep::Touch { at: at.clone() });
        }
        Ok(())
    }

    pub(super) fn symlink(&mut self, at: &GuestPath, to: PathBuf) -> Result<(), PlanError> {
        if self.needs_making(at, false)? {
            self.step(InitStep::Symlink { at: at.clone(), to });
        }
        Ok(())
    }

    pub(super) fn content(&mut self, at: &GuestPath, content: Vec<u8>) -> Result<(), PlanError> {
        if self.needs_making(at, false)? {
            self.step(InitStep::Write { at: at.clone(), content, mode: 0o644 });
        }
        Ok(())
    }

    /// Records that something stands at `at` that no step makes.
    pub(super) fn stands(&mut self, at: &GuestPath) {
        self.standing.add(at);
    }

    /// Records that a mount stands at `at`, empty or not.
    pub(super) fn mounted(&mut self, at: &GuestPath, empty: bool) {
        self.standing.cover(at);
        if empty {
            self.empty.insert(at.as_bytes().to_vec());
        } else {
            self.empty.remove(at.as_bytes());
        }
    }

    /// Returns whether a step must make `at`; an error when nothing may be made there.
    fn needs_making(&mut self, at: &GuestPath, directory: bool) -> Result<bool, PlanError> {
        let is_new = self.standing.add(at);
        let Some(parent) = at.parent().filter(|_| is_new) else { return Ok(false) };
        if self.is_fresh(&parent) {
            self.directory(&parent, 0o755)?;
            return Ok(true);
        }
        self.stands_on_host(at, directory).map(|()| false)
    }

    /// Returns whether what covers `path` was empty at first.
    pub(super) fn is_fresh(&self, path: &GuestPath) -> bool {
        let is_mount = |at: &[u8]| {
            self.placement.named(at).is_some_and(|placed| self.standing.contains(&placed.spec.at))
        };
        let mut above = path.way_up();
        let covering = above.find(|at| self.empty.contains(*at) || is_mount(at));
        covering.is_some_and(|at| self.empty.contains(at))
    }

    fn mount_over(&self, path: &GuestPath) -> Option<&'a Placed> {
        self.placement.covering(path).filter(|placed| self.standing.contains(&placed.spec.at))
    }

    fn stands_on_host(&self, at: &GuestPath, directory: bool) -> Result<(), PlanError> {
        let parent = at.parent().unwrap_or_else(GuestPath::root);
        let Some(placed) = self.mount_over(&parent) else { return Ok(()) };
        if placed.has_points() {
            return Ok(());
        }
        if let Some(hidden) = self.covered_above(placed, at) {
            return Err(PlanError::HiddenMountPoint { at: at.clone(), hidden });
        }
        match placed.host_path(at).and_then(|path| self.host.paths.get(&path)) {
            Some(fact) if fact.links.is_empty() && fact.found.is_directory() == Some(directory) => {
                Ok(())
            }
            Some(fact) if fact.found == Found::Missing && super::mounts::is_masked(placed) => {
                Ok(())
            }
            _ => Err(PlanError::NoMountPoint { at: at.clone(), within: placed.spec.at.clone() }),
        }
    }

    /// A directory of the host would bring its mounts along, and memory is there as it is.
    fn root(&mut self, placed: &Placed) -> Result<(), PlanError> {
        if placed.tree.is_none() {
            return Err(PlanError::Root { origin: placed.spec.origin.clone() });
        }
        self.mount(placed)?;
        // It takes the place of the one that is attached.
        self.begin();
        Ok(())
    }

    fn mount(&mut self, placed: &Placed) -> Result<(), PlanError> {
        self.refuse_own(placed)?;
        match &placed.spec.backend {
            BackendSpec::Physical { .. } => self.physical(placed),
            BackendSpec::Memory { .. } => self.memory(&placed.spec),
            BackendSpec::Private { .. } => self.private(&placed.spec),
            BackendSpec::Copy { .. } | BackendSpec::Made { .. } => self.small_file(&placed.spec),
            BackendSpec::Cgroup => self.group(&placed.spec.at),
            BackendSpec::Git { .. } | BackendSpec::Cas { .. } => self.tree(placed),
        }
    }
}

fn below(placement: &Placement) -> FxHashMap<GuestPath, Vec<&Placed>> {
    let mut below: FxHashMap<GuestPath, Vec<&Placed>> = FxHashMap::default();
    for placed in &placement.mounts {
        if let Some(above) = placement.above(&placed.spec.at) {
            below.entry(above.spec.at.clone()).or_default().push(placed);
        }
    }
    below
}

/// The attributes of a mount that carries nothing but data.
pub(super) const DATA_ONLY: MountFlags =
    MountFlags { readonly: true, noexec: true, devices: false, recursive: false };
