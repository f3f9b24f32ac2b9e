//! Copy-on-write mounts: an upper layer of the run takes every change.

use endow_policy::{MountSpec, OnConflict, SyncMode, SyncRules};

use super::PlanError;
use super::host::HiddenName;
use super::mounts::{LAYER, flags_of, holds_state};
use super::place::{Placed, PlacedSource};
use super::step::{Buffered, InitStep, MaskPoint, MountFlags, PrepareStep, RunPath, Upper};
use super::view::Builder;

/// The first version whose file systems in memory take `user.*` attributes, without which they
/// can be no upper layer.
const MEMORY_UPPER: (u32, u32) = (6, 6);

/// Single files are published as they are closed where all that the command leaves is written back,
/// and no conflict elsewhere forbids it.
pub(super) fn publishes(rules: &SyncRules) -> bool {
    rules.mode == SyncMode::Apply && rules.on_conflict != OnConflict::Abort
}

impl Builder<'_> {
    pub(super) fn buffered(
        &mut self,
        placed: &Placed,
        source: &PlacedSource,
        hidden: &[HiddenName],
        points: Vec<MaskPoint>,
    ) -> Result<(), PlanError> {
        let spec = &placed.spec;
        self.must_be_whole(spec, source)?;
        let discard = spec.options.discard;
        let at = self.layer(discard);
        let in_memory = source.directory && holds_state(hidden);
        let published = if source.directory {
            self.layered(spec, source, (hidden, points), (&at, in_memory))?;
            self.mounted(&spec.at, false);
            None
        } else {
            let published = self.single(spec, source, &at)?;
            published.filter(|_| !discard && publishes(self.sync))
        };
        let list = if discard { &mut self.plan.dropped } else { &mut self.plan.buffered };
        list.push(Buffered {
            at: spec.at.clone(),
            source: source.path.clone(),
            id: source.id,
            directory: source.directory,
            layer: at,
            published,
            in_memory,
            hidden: hidden.to_vec(),
            foreign: self
                .host
                .buffered
                .get(&source.path)
                .map_or_else(Vec::new, |it| it.foreign.clone()),
            since: None,
        });
        Ok(())
    }

    /// Returns the place of a layer. A sweep takes one away that is named like a private directory.
    pub(super) fn layer(&self, discard: bool) -> RunPath {
        let name = if discard {
            format!("p{:03}", self.plan.prepare.len())
        } else {
            format!("m{:03}", self.plan.buffered.len() + self.plan.awaited.len())
        };
        RunPath(format!("{LAYER}/{name}").into())
    }

    fn layered(
        &mut self,
        spec: &MountSpec,
        source: &PlacedSource,
        (hidden, points): (&[HiddenName], Vec<MaskPoint>),
        (at, in_memory): (&RunPath, bool),
    ) -> Result<(), PlanError> {
        let upper = if in_memory {
            self.memory_upper(spec)?
        } else {
            let (like, expect) = (source.path.clone(), source.id);
            self.plan.prepare.push(PrepareStep::Layer { at: at.clone(), like, expect });
            Upper::Run(at.clone())
        };
        let masked = !(hidden.is_empty() && points.is_empty());
        let mask = masked.then(|| self.mask(source, hidden, points));
        let real = source.source();
        let lower = mask.into_iter().chain([real]).collect();
        let flags = MountFlags { recursive: false, ..flags_of(spec, true) };
        self.step(InitStep::Overlay { lower, upper: Some(upper), at: spec.at.clone(), flags });
        Ok(())
    }

    /// The layer can't lie in the tree that it stands above.
    fn memory_upper(&self, spec: &MountSpec) -> Result<Upper, PlanError> {
        let version = self.host.kernel.version;
        if version < MEMORY_UPPER {
            let reason = format!(
                "{}: endow's state lies in it, and the layer in memory needs Linux 6.6, not {}.{}",
                spec.at, version.0, version.1
            );
            return Err(PlanError::Unenforceable { word: "cow", reason });
        }
        let (size_bytes, inodes) = (self.limits.layer_size_bytes, self.limits.layer_files);
        Ok(Upper::Memory { size_bytes, inodes })
    }

    /// Overlayfs can't stand above a directory with mounts below it: the kernel locks these.
    fn must_be_whole(&self, spec: &MountSpec, source: &PlacedSource) -> Result<(), PlanError> {
        let Some(fact) = self.host.buffered.get(&source.path) else { return Ok(()) };
        let (path, origin) = (source.path.clone(), spec.origin.clone());
        match (fact.mounts.first().cloned(), fact.owner) {
            (Some(below), _) => Err(PlanError::MountBelow { path, below, origin }),
            // An owner or group without a number inside can't be copied up: EOVERFLOW.
            (None, Some(owner)) => Err(PlanError::ForeignRoot { path, owner, origin }),
            (None, None) => Ok(()),
        }
    }
}
