//! What is given up first, when nothing is known yet.

use endow_adapter::{HardenError, close_others, forbid_core_dumps, leave_group};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::serve::CONNECTIONS_MAX;

/// Descriptors besides those of connections: streams, the control socket, the event loop.
const DESCRIPTORS_OWN: u64 = 64;

/// Hides the process's memory, and keeps it out of core dumps.
pub(crate) fn hide() -> Result<(), HardenError> {
    endow_adapter::hide()?;
    forbid_core_dumps()
}

/// Keeps nothing of whoever started it: neither descriptors nor the terminal's signals. SIGPIPE is
/// ignored by every program of Rust's.
pub(crate) fn stand_alone() -> Result<(), HardenError> {
    close_others()?;
    leave_group()?;
    allow_descriptors().map_err(HardenError::on("allow enough descriptors"))
}

fn allow_descriptors() -> Result<(), Errno> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let wanted = 2 * CONNECTIONS_MAX as u64 + DESCRIPTORS_OWN;
    let current = Some(maximum.map_or(wanted, |maximum| maximum.min(wanted)));
    setrlimit(Resource::Nofile, Rlimit { current, maximum })
}
