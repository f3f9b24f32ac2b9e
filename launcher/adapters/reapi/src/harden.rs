//! What the process gives up of whoever started it.

use endow_adapter::{HardenError, close_others, forbid_core_dumps, hide, leave_group};
use rustix::process::{Signal, set_parent_process_death_signal};

/// Hides the process's memory, which will hold a token, from other processes of the user, leaves the
/// terminal's signals, and closes descriptors that were left open by mistake.
pub(crate) fn stand_alone() -> Result<(), HardenError> {
    // Whoever asked may be killed while a server is waited for.
    let dies = set_parent_process_death_signal(Some(Signal::KILL));
    dies.map_err(HardenError::on("end with who started it"))?;
    hide()?;
    forbid_core_dumps()?;
    leave_group()?;
    close_others()
}
