//! Protected names in live mounts: somebody else runs them later, and changes reach the host at once.
//! Those that are there are read-only, and the ways to them can't be moved. One that is not there
//! can't be prevented: the supervisor takes it away when it appears.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use endow_policy::{GuestPath, HostPath};
use endow_vfs::state::HELD;
use rustc_hash::FxHashMap;

use super::PlanError;
use super::host::{HiddenName, HostFacts, LiveNames, RepositoryFacts};
use super::place::{Placed, PlacedSource, Placement};
use super::step::{Guard, PrepareStep, RunPath};
use super::view::Builder;

/// Returns the names further down in live mounts, by the mount's place.
pub(super) fn deep<'a>(
    placement: &Placement,
    host: &'a HostFacts,
) -> FxHashMap<GuestPath, BTreeSet<&'a Path>> {
    let live = placement.mounts.iter().filter(|placed| placed.is_live());
    let named = live.filter_map(|placed| {
        let names = host.live_names.get(&placed.source.as_ref()?.path)?;
        let deep = names.deep.iter().map(|name| name.path.as_path());
        Some((placed.spec.at.clone(), deep.collect()))
    });
    named.collect()
}

/// Notes the live directories for runs that begin meanwhile.
pub(super) fn noted(placement: &Placement) -> Option<PrepareStep> {
    let live = placement.mounts.iter().filter(|placed| placed.is_live());
    let roots = live.filter_map(|placed| Some(placed.source.as_ref()?.path.clone()));
    let roots: BTreeSet<HostPath> = roots.collect();
    (!roots.is_empty()).then(|| PrepareStep::Live { roots: roots.into_iter().collect() })
}

impl<'a> Builder<'a> {
    /// Covers protected names of live mounts, and plans the watch for others.
    pub(super) fn live_names(&mut self) -> Result<(), PlanError> {
        let (placement, host) = (self.placement, self.host);
        let live = placement.mounts.iter().filter(|placed| placed.is_live());
        for placed in live {
            let Some(source) = &placed.source else { continue };
            let Some(names) = host.live_names.get(&source.path) else { continue };
            let hidden = &self.hidden_names(&placed.spec, source);
            self.cover_names(placed, names, hidden)?;
            if !self.plan.guards.iter().any(|guard| guard.source == source.path) {
                self.guard(placed, source, names, hidden);
            }
        }
        Ok(())
    }

    fn cover_names(
        &mut self,
        placed: &Placed,
        names: &LiveNames,
        hidden: &[HiddenName],
    ) -> Result<(), PlanError> {
        let is_shown = |path: &Path| !hidden.iter().any(|name| path.starts_with(&name.path));
        let settings = self.copied_settings(placed);
        let shown = |path: &&PathBuf| is_shown(path) && !settings.contains(path.as_path());
        for path in names.there.iter().chain(&names.below).filter(shown) {
            self.hold_entry(placed, path)?;
        }
        Ok(())
    }

    /// The settings of repositories that the command has copies of.
    fn copied_settings(&self, placed: &Placed) -> BTreeSet<&'a Path> {
        let source = placed.source.as_ref().map(|source| &source.path);
        let repository = source.and_then(|path| self.host.repositories.get(path));
        repository.map(RepositoryFacts::copied).unwrap_or_default()
    }

    fn guard(
        &mut self,
        placed: &Placed,
        source: &PlacedSource,
        names: &LiveNames,
        hidden: &[HiddenName],
    ) {
        let number = self.plan.guards.len();
        let layer = RunPath(Path::new(HELD).join(number.to_string()));
        let (like, expect) = (source.path.clone(), source.id);
        self.plan.prepare.push(PrepareStep::Layer { at: layer.clone(), like, expect });
        self.plan.guards.push(Guard {
            at: placed.spec.at.clone(),
            source: source.path.clone(),
            id: source.id,
            layer,
            names: names.clone(),
            hidden: hidden.to_vec(),
        });
    }
}
