//! What the process does to itself before it listens to anybody.

use std::io;

use endow_adapter::close_others;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior};
use rustix::process::{setpgid, setrlimit};

/// A part of the hardening that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HardenError {
    /// The kernel refused a setting.
    #[error("the ssh-agent filter can't {what}")]
    Refused {
        /// What was tried.
        what: &'static str,
        /// The kernel's word.
        source: Errno,
    },
    /// The open descriptors can't be listed.
    #[error("the ssh-agent filter can't list its descriptors")]
    Descriptors(#[source] io::Error),
}

/// Makes the process unreadable to others of the user, deaf to the terminal, and free of
/// descriptors that were left open for it by mistake.
///
/// SIGPIPE is ignored already: Rust's runtime does so before `main`.
pub(crate) fn harden() -> Result<(), HardenError> {
    let refused = |what| move |source| HardenError::Refused { what, source };
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(refused("be undumpable"))?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(refused("forbid core dumps"))?;
    match setpgid(None, None) {
        // The leader of a session has a group of its own, which it can't leave.
        Err(errno) if errno != Errno::PERM => return Err(refused("leave its group")(errno)),
        _ => {}
    }
    close_others().map_err(HardenError::Descriptors)
}
