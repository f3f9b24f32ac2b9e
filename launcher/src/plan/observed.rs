//! The file in which the command reads what was refused to it.

use std::path::PathBuf;

use endow_policy::GuestPath;

use super::PlanError;
use super::skeleton::fixed;
use super::step::{InitStep, MountFlags, PrepareStep, RunPath, Source};
use super::view::{Builder, DATA_ONLY};

/// The name of the file of refusals in the run's directory.
pub const DENIALS: &str = "denials.jsonl";

impl Builder<'_> {
    /// Shows the run's file read-only. A mount point can be neither removed nor renamed: with the
    /// directory one as well, nobody inside can put another file in its place.
    pub(super) fn denials(&mut self, own: &GuestPath) -> Result<(), PlanError> {
        self.directory(own, 0o755)?;
        self.mount_early(own, true);
        let run = RunPath(PathBuf::from(DENIALS));
        self.plan.prepare.push(PrepareStep::MakeFile { at: run.clone(), mode: 0o600 });
        let at = fixed(&format!("{own}/{DENIALS}"));
        self.file(&at)?;
        self.step(InitStep::Bind { source: Source::Run(run), at: at.clone(), flags: DATA_ONLY });
        self.mounted(&at, false);
        Ok(())
    }

    /// Does as [`denials`](Self::denials) will with the steps that are planned so far.
    pub(super) fn denials_ahead(&mut self, own: &GuestPath) {
        self.mount_early(own, false);
    }

    /// Makes a directory of the view a mount as soon as it is there: before anything is mounted below
    /// it, which would be hidden.
    fn mount_early(&mut self, at: &GuestPath, is_made: bool) {
        let flags = MountFlags { noexec: true, ..MountFlags::default() };
        let mount = InitStep::Bind { source: Source::Guest(at.clone()), at: at.clone(), flags };
        let steps = &mut self.plan.init;
        let made = steps
            .iter()
            .position(|it| matches!(it, InitStep::Mkdir { at: made, .. } if made == at));
        match made {
            Some(made) => steps.insert(made + 1, mount),
            None if is_made => steps.push(mount),
            None => {}
        }
    }
}
