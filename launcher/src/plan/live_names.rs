//! Protected names in live mounts: somebody else runs them later, and changes reach the host at once.
//! Those that are there are read-only, and the ways to them can't be moved. One that is not there
//! can't be prevented: the supervisor takes it away when it appears.

use std::path::{Path, PathBuf};

use endow_vfs::state::HELD;

use super::PlanError;
use super::host::{HiddenName, LiveNames};
use super::place::{Placed, PlacedSource};
use super::step::{Guard, PrepareStep, RunPath};
use super::view::Builder;

impl<'a> Builder<'a> {
    /// Covers protected names of live mounts, and plans the watch for others.
    pub(super) fn live_names(&mut self) -> Result<(), PlanError> {
        let (placement, host) = (self.placement, self.host);
        let live = placement.mounts.iter().filter(|placed| placed.is_live());
        for placed in live {
            let Some(source) = &placed.source else { continue };
            let Some(names) = host.live_names.get(&source.path) else { continue };
            let hidden = host.hidden.get(&source.path).map_or(&[][..], |it| &it.names);
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
        let shown = |path: &&PathBuf| is_shown(path) && Some(path.as_path()) != settings;
        for path in names.there.iter().filter(shown) {
            self.hold_entry(placed, path)?;
        }
        for way in names.ways.iter().filter(|way| is_shown(way)) {
            self.hold_way(&placed.spec, &way.join("*"))?;
        }
        Ok(())
    }

    /// The settings of a repository that the command has a copy of.
    fn copied_settings(&self, placed: &Placed) -> Option<&'a Path> {
        let repository = self.host.repositories.get(&placed.source.as_ref()?.path)?;
        repository.settings.as_ref().map(|(place, _)| place.as_path())
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
            prefix: names.prefix.clone(),
            there: names.there.clone(),
            ways: names.ways.clone(),
            hidden: hidden.to_vec(),
        });
    }
}
