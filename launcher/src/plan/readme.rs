//! `/run/endow/README`: what a view says of itself to whoever reads in it. Nothing in the text
//! depends on the run or on the host.

use endow_policy::{GuestPath, MountSpec};

use super::PlanError;
use super::step::{InitStep, Source};
use super::view::{Builder, DATA_ONLY};

const TEXT: &str = include_str!("readme.txt");

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
