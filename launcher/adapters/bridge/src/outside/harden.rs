//! What the process does to itself before it listens to anybody.

use std::io;

use endow_adapter::close_others;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior, setsid};

/// A part of the hardening that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HardenError {
    /// The kernel refused a setting.
    #[error("the bridges can't {what}")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// The kernel's word.
        source: Errno,
    },
    /// The open descriptors can't be listed.
    #[error("the bridges can't list their descriptors")]
    Descriptors(#[source] io::Error),
}

/// Makes the process unreadable to others of the user, leaves the terminal with a session of its own,
/// in which all that is started stays, and closes descriptors that were left open by mistake.
///
/// SIGPIPE is ignored already: Rust's runtime does so before `main`, and gives it back to what it starts.
pub(crate) fn harden() -> Result<(), HardenError> {
    let refused = |what| move |source| HardenError::Refused { what, source };
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(refused("be undumpable"))?;
    match setsid() {
        // The leader of a group has a session that it can't leave; endow starts no such process.
        Ok(_) | Err(Errno::PERM) => {}
        Err(errno) => return Err(refused("leave the session")(errno)),
    }
    close_others().map_err(HardenError::Descriptors)
}
