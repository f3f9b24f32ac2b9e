//! What the process does to itself before it listens to anybody.

use endow_adapter::{HardenError, close_others, forbid_core_dumps, hide, leave_group};

/// Makes the process unreadable to others of the user, deaf to the terminal, and free of
/// descriptors that were left open for it by mistake.
///
/// SIGPIPE is ignored already: Rust's runtime does so before `main`.
pub(crate) fn harden() -> Result<(), HardenError> {
    hide()?;
    forbid_core_dumps()?;
    leave_group()?;
    close_others()
}
