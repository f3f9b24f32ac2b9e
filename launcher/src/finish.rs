//! `finish`: what follows when the last process of a run is gone.

use endow_vfs::state::StateError;

use crate::apply::Prepared;
use crate::plan::step::FinishStep;

/// Carries out the last steps.
pub(crate) fn finish(steps: &[FinishStep], prepared: Prepared) -> Result<(), StateError> {
    let mut prepared = Some(prepared);
    for step in steps {
        match step {
            FinishStep::WriteBack => {}
            FinishStep::RemoveRun => prepared.take().map_or(Ok(()), Prepared::remove)?,
        }
    }
    Ok(())
}
