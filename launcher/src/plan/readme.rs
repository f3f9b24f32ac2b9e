//! `/run/endow/README`: what a view says of itself to whoever reads in it. Nothing in the text
//! depends on the run or on the host.

use endow_policy::{BackendSpec, GuestPath, Made, MountSpec};

use super::PlanError;
use super::place::{Placed, Placement};
use super::step::{InitStep, Source};
use super::view::{Builder, DATA_ONLY};

const TEXT: &str = include_str!("readme.txt");

/// Whether it is that file, and a mount of the host stands where it would be made: endow makes no
/// name there.
pub(super) fn is_without_room(placed: &Placed, placement: &Placement) -> bool {
    let at = &placed.spec.at;
    is_it(&placed.spec) && placement.above(at).is_some() && !placement.has_room(at)
}

fn is_it(spec: &MountSpec) -> bool {
    spec.backend == BackendSpec::Made { made: Made::Readme }
}

impl Placement {
    /// Returns whether the mount around `at` is empty at first.
    fn has_room(&self, at: &GuestPath) -> bool {
        let around = self.above(at).map(|placed| &placed.spec.backend);
        matches!(around, Some(BackendSpec::Memory { .. } | BackendSpec::Private { .. }))
    }
}

impl Builder<'_> {
    /// Plans the file.
    pub(super) fn readme(&mut self, spec: &MountSpec) -> Result<(), PlanError> {
        self.kept_file(&spec.at, TEXT.into())
    }

    /// Plans a file and mounts it over itself: around it everything can be written.
    pub(super) fn kept_file(&mut self, at: &GuestPath, text: Vec<u8>) -> Result<(), PlanError> {
        self.content(at, text)?;
        let source = Source::Guest(at.clone());
        self.step(InitStep::Bind { source, at: at.clone(), flags: DATA_ONLY });
        self.mounted(at, false);
        Ok(())
    }
}
