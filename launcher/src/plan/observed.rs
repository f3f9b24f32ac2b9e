//! The file in which the command reads what was refused to it.

use std::path::PathBuf;

use endow_policy::GuestPath;

use super::PlanError;
use super::skeleton::fixed;
use super::step::{InitStep, MountFlags, PrepareStep, RunPath, Source};
use super::view::{Builder, DATA_ONLY};

/// Its name in the run's directory.
pub const DENIALS: &str = "denials.jsonl";

impl Builder<'_> {
    /// Shows the run's file read-only. A mount point can be neither removed nor renamed: with the
    /// directory one as well, nobody inside can put another file in its place.
    pub(super) fn denials(&mut self, own: &GuestPath) -> Result<(), PlanError> {
        self.directory(own, 0o755)?;
        self.mount_early(own);
        let run = RunPath(PathBuf::from(DENIALS));
        self.plan.prepare.push(PrepareStep::MakeFile { at: run.clone(), mode: 0o600 });
        let at = fixed(&format!("{own}/{DENIALS}"));
        self.file(&at)?;
        self.step(InitStep::Bind { source: Source::Run(run), at: at.clone(), flags: DATA_ONLY });
        self.mounted(&at, false);
        Ok(())
    }

    /// Makes a directory of the view a mount as soon as it is there: before anything is mounted below
    /// it, which would be hidden.
    fn mount_early(&mut self, at: &GuestPath) {
        let flags = MountFlags { noexec: true, ..MountFlags::default() };
        let mount = InitStep::Bind { source: Source::Guest(at.clone()), at: at.clone(), flags };
        let steps = &mut self.plan.init;
        let made = steps
            .iter()
            .position(|it| matches!(it, InitStep::Mkdir { at: made, .. } if made == at));
        steps.insert(made.map_or(steps.len(), |made| made + 1), mount);
    }
}
