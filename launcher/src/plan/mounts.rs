//! The steps of each kind of mount.

use endow_policy::{Access, BackendSpec, GuestPath, HostPath, Made, MountSpec};

use super::PlanError;
use super::host::{Found, HiddenName};
use super::place::{Placed, PlacedSource};
use super::step::{Cover, InitStep, MaskPoint, MountFlags, PrepareStep, RunPath, Source};
use super::view::{Builder, DATA_ONLY};

/// Where the run keeps the first stack of layers: private directories lie in it.
pub(super) const LAYER: &str = "layers/000";
/// What covers a hidden file or directory of a live mount: nobody may open it.
pub const HIDDEN_FILE: &str = "mask/hidden-file";
pub const HIDDEN_DIRECTORY: &str = "mask/hidden-directory";

/// Returns whether a mask layer stands before the source, which can hold names of its own.
pub(super) fn is_masked(placed: &Placed) -> bool {
    placed.spec.access != Access::Rw && placed.source.as_ref().is_some_and(|it| it.directory)
}

impl Placed {
    /// Returns the host path that this mount shows at `at`.
    pub(crate) fn host_path(&self, at: &GuestPath) -> Option<HostPath> {
        let relative = at.below(&self.spec.at)?;
        self.source.as_ref()?.path.join(relative).ok()
    }
}

impl Builder<'_> {
    pub(super) fn physical(&mut self, placed: &Placed) -> Result<(), PlanError> {
        let Some(source) = &placed.source else { return Ok(()) };
        let spec = &placed.spec;
        let is_single = spec.access == Access::Cow && !source.directory;
        if !is_single {
            self.mount_point(&spec.at, source.directory)?;
        }
        self.must_be_walked(spec, source)?;
        let hidden = self.hidden_names(spec, source);
        let points = self.missing_points(placed, &hidden);
        if spec.access == Access::Cow {
            return self.buffered(placed, source, &hidden, points);
        }
        if spec.access == Access::Rw {
            self.bind(spec, source);
            self.cover_hidden(placed, &hidden)?;
            self.hold_granted(placed)?;
            return self.hold_policies(placed, source, &hidden);
        }
        if points.is_empty() && self.is_bound(source, &hidden) {
            self.bind(spec, source);
            return self.cover_hidden(placed, &hidden);
        }
        self.masked(spec, source, &hidden, points);
        Ok(())
    }

    /// Whether a read-only mount shows its source without a layer before it. One that has nothing
    /// to hide does; so does one with sockets alone and mounts of the host below, which no layer can
    /// stand before.
    fn is_bound(&self, source: &PlacedSource, hidden: &[HiddenName]) -> bool {
        let has_mounts = self.host.hidden.get(&source.path).is_some_and(|it| it.mounts_below);
        hidden.iter().all(|name| name.socket && has_mounts)
    }

    /// Whether a mount shows the source itself, with no layer before it.
    pub(super) fn shows_source(&self, placed: &Placed) -> bool {
        let Some(source) = &placed.source else { return false };
        let hidden = self.hidden_names(&placed.spec, source);
        let is_whole =
            || self.missing_points(placed, &hidden).is_empty() && self.is_bound(source, &hidden);
        match placed.spec.access {
            Access::Rw => true,
            Access::Ro => is_whole(),
            Access::Cow => false,
        }
    }

    fn mount_point(&mut self, at: &GuestPath, directory: bool) -> Result<(), PlanError> {
        if directory { self.directory(at, 0o755) } else { self.file(at) }
    }

    fn bind(&mut self, spec: &MountSpec, source: &PlacedSource) {
        let bound = source.source();
        let flags = flags_of(spec, source.directory);
        self.step(InitStep::Bind { source: bound, at: spec.at.clone(), flags });
        self.mounted(&spec.at, false);
    }

    /// A read-only mount with hidden names: the mask layer's whiteouts make them absent, whatever
    /// the host puts in their place later.
    fn masked(
        &mut self,
        spec: &MountSpec,
        source: &PlacedSource,
        hidden: &[HiddenName],
        points: Vec<MaskPoint>,
    ) {
        let mask = self.mask(source, hidden, points);
        let real = source.source();
        let flags = MountFlags { recursive: false, ..flags_of(spec, true) };
        let lower = vec![mask, real];
        self.step(InitStep::Overlay { lower, upper: None, at: spec.at.clone(), flags });
        self.mounted(&spec.at, false);
    }

    /// Plans the layer that hides names and provides mount points.
    pub(super) fn mask(
        &mut self,
        source: &PlacedSource,
        hidden: &[HiddenName],
        points: Vec<MaskPoint>,
    ) -> Source {
        let layer = RunPath(format!("mask/{}", self.plan.prepare.len()).into());
        self.plan.prepare.push(PrepareStep::Mask {
            at: layer.clone(),
            like: source.path.clone(),
            expect: source.id,
            hide: hidden.iter().map(|name| name.path.clone()).collect(),
            points,
        });
        if holds_state(hidden) { Source::Memory(layer) } else { Source::Run(layer) }
    }

    /// What could not be walked may hold names that must be hidden.
    fn must_be_walked(&self, spec: &MountSpec, source: &PlacedSource) -> Result<(), PlanError> {
        match self.host.hidden.get(&source.path).and_then(|hidden| hidden.failed) {
            Some(errno) => Err(PlanError::UnreadableSource {
                path: source.path.clone(),
                errno,
                origin: spec.origin.clone(),
            }),
            None => Ok(()),
        }
    }

    pub(super) fn hidden_names(&self, spec: &MountSpec, source: &PlacedSource) -> Vec<HiddenName> {
        let all = self.host.hidden.get(&source.path).map(|hidden| hidden.names.as_slice());
        let all = all.unwrap_or_default();
        let named = all.iter().filter(|name| !name.socket && name.is_for(spec));
        let mut names: Vec<HiddenName> = named.cloned().collect();
        let is_free = |it: &&HiddenName| !names.iter().any(|name| it.path.starts_with(&name.path));
        let sockets = all.iter().filter(|name| self.is_closed(spec, name)).filter(is_free);
        let sockets: Vec<HiddenName> = sockets.cloned().collect();
        names.extend(sockets);
        names
    }

    /// Whether a name is a socket that this mount must hide. Through an overlay none is reached
    /// (measured), and one that is mounted by itself is to be.
    fn is_closed(&self, spec: &MountSpec, name: &HiddenName) -> bool {
        let at = spec.at.join(&name.path);
        let is_mounted = at.is_ok_and(|at| self.placement.at(&at).is_some());
        name.socket && spec.access != Access::Cow && !is_mounted
    }

    /// Mount points directly below `placed` that the host does not have, or that are hidden with
    /// what is around them.
    fn missing_points(&self, placed: &Placed, hidden: &[HiddenName]) -> Vec<MaskPoint> {
        if !is_masked(placed) {
            return Vec::new();
        }
        let missing = |other: &&Placed| {
            let host = placed.host_path(&other.spec.at)?;
            let path = other.spec.at.below(&placed.spec.at)?.to_path_buf();
            let absent = self.host.paths.get(&host)?.found == Found::Missing
                || hidden.iter().any(|name| path.starts_with(&name.path));
            let directory = other.is_directory();
            absent.then_some(MaskPoint { path, directory })
        };
        self.below(placed).iter().filter_map(missing).collect()
    }

    /// What has no layer can only be covered: the names stay visible, opening them is EACCES, and the
    /// supervisor covers them again when the host replaces what lies below. What another mount
    /// covers is that one's matter.
    fn cover_hidden(&mut self, placed: &Placed, hidden: &[HiddenName]) -> Result<(), PlanError> {
        let spec = &placed.spec;
        for name in hidden.iter().filter(|name| name.is_own()) {
            self.hold_way(spec, &name.path)?;
        }
        for name in hidden {
            let at = spec.at.join(&name.path).map_err(|_| PlanError::no_place(spec))?;
            if self.placement.covering(&at) != Some(placed) {
                continue;
            }
            self.hide(placed, &at, name.directory);
        }
        Ok(())
    }

    /// Covers a name that nobody may open.
    pub(super) fn hide(&mut self, placed: &Placed, at: &GuestPath, directory: bool) {
        let source = self.hiding_source(directory);
        self.step(InitStep::Bind { source, at: at.clone(), flags: DATA_ONLY });
        self.mounted(at, false);
        self.renew(placed, at, Cover::Hidden);
    }

    /// Returns the hidden directory of a live mount in which `at` lies: an empty one stands there.
    pub(super) fn covered_above(&self, placed: &Placed, at: &GuestPath) -> Option<GuestPath> {
        let source = placed.source.as_ref().filter(|_| placed.spec.access == Access::Rw)?;
        let hidden = self.hidden_names(&placed.spec, source);
        let mut places = hidden.iter().filter_map(|name| placed.spec.at.join(&name.path).ok());
        places.find(|hidden| {
            at != hidden && at.is_within(hidden) && self.placement.covering(hidden) == Some(placed)
        })
    }

    pub(super) fn hiding_source(&mut self, directory: bool) -> Source {
        let (name, step): (_, fn(RunPath) -> PrepareStep) = if directory {
            (HIDDEN_DIRECTORY, |at| PrepareStep::MakeDir { at, mode: 0 })
        } else {
            (HIDDEN_FILE, |at| PrepareStep::MakeFile { at, mode: 0 })
        };
        let at = RunPath(name.into());
        let step = step(at.clone());
        if !self.plan.prepare.contains(&step) {
            self.plan.prepare.push(step);
        }
        Source::Run(at)
    }

    pub(super) fn memory(&mut self, spec: &MountSpec) -> Result<(), PlanError> {
        let BackendSpec::Memory { size_bytes, inodes, mode } = spec.backend else { return Ok(()) };
        self.directory(&spec.at, 0o755)?;
        let (at, flags) = (spec.at.clone(), flags_of(spec, false));
        self.step(InitStep::Tmpfs { at, size_bytes, inodes, mode, flags });
        self.mounted(&spec.at, true);
        Ok(())
    }

    pub(super) fn private(&mut self, spec: &MountSpec) -> Result<(), PlanError> {
        let BackendSpec::Private { seed, mode, .. } = &spec.backend else { return Ok(()) };
        // A sweep takes away a dead run whose layers hold nothing but directories of this name.
        let at = RunPath(format!("{LAYER}/p{:03}", self.plan.prepare.len()).into());
        self.plan.prepare.push(PrepareStep::MakeDir { at: at.clone(), mode: *mode });
        for from in seed {
            let to = seed_target(spec, &at, from)?;
            self.plan.prepare.push(PrepareStep::Seed { from: from.clone(), to });
        }
        self.directory(&spec.at, 0o755)?;
        self.private.insert(spec.at.clone(), at.clone());
        let (source, flags) = (Source::Run(at), flags_of(spec, false));
        self.step(InitStep::Bind { source, at: spec.at.clone(), flags });
        self.mounted(&spec.at, true);
        Ok(())
    }

    pub(super) fn small_file(&mut self, spec: &MountSpec) -> Result<(), PlanError> {
        match spec.backend {
            BackendSpec::Made { made: Made::SshAgent } => return self.ssh_agent(spec),
            BackendSpec::Made { made: Made::Bridges } => return self.bridges(spec),
            BackendSpec::Made { made: Made::Readme } => return self.readme(spec),
            BackendSpec::Made { made: Made::Editor } => return self.editor(spec),
            _ => {}
        }
        let parent = spec.at.parent().unwrap_or_else(GuestPath::root);
        if !self.is_fresh(&parent) {
            return Ok(());
        }
        let content = self.host.contents.get(&content_key(&spec.backend)).cloned();
        content.map_or(Ok(()), |content| self.content(&spec.at, content))
    }

    /// An agent that sees no process of the editor would take its file away.
    fn editor(&mut self, spec: &MountSpec) -> Result<(), PlanError> {
        let content = self.host.contents.get(&content_key(&spec.backend)).cloned();
        content.map_or(Ok(()), |content| self.kept_file(&spec.at, content))
    }
}

/// endow's own directories lie below: among them the run's, and in it the layers.
pub(super) fn holds_state(hidden: &[HiddenName]) -> bool {
    hidden.iter().any(HiddenName::is_own)
}

fn seed_target(spec: &MountSpec, at: &RunPath, from: &HostPath) -> Result<RunPath, PlanError> {
    let relative = from.below(&spec.at.to_host()).ok_or_else(|| PlanError::SeedElsewhere {
        seed: from.clone(),
        at: spec.at.clone(),
        origin: spec.origin.clone(),
    })?;
    Ok(RunPath(at.0.join(relative)))
}

/// The key under which the probe keeps the content of a small file.
pub fn content_key(backend: &BackendSpec) -> String {
    match backend {
        BackendSpec::Copy { host } => host.to_string(),
        BackendSpec::Made { made } => format!("{made:?}").to_lowercase(),
        _ => String::new(),
    }
}

pub(super) fn flags_of(spec: &MountSpec, recursive: bool) -> MountFlags {
    MountFlags {
        readonly: spec.access == Access::Ro,
        noexec: spec.options.noexec,
        devices: false,
        recursive,
    }
}
