//! What the process does to itself before it listens to anybody.

use endow_adapter::{HardenError, close_others, hide};
use rustix::io::Errno;
use rustix::process::setsid;

/// Makes the process unreadable to others of the user, leaves the terminal with a session of its own,
/// in which all that is started stays, and closes descriptors that were left open by mistake.
///
/// SIGPIPE is ignored already: Rust's runtime does so before `main`, and gives it back to what it starts.
pub(crate) fn harden() -> Result<(), HardenError> {
    hide()?;
    match setsid() {
        // The leader of a group has a session that it can't leave; endow starts no such process.
        Ok(_) | Err(Errno::PERM) => {}
        Err(errno) => return Err(HardenError::on("leave the session")(errno)),
    }
    close_others()
}
