//! What is given up first, when nothing is known yet.

use endow_adapter::close_others;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getpgrp, getpid, getrlimit, setpgid, setrlimit};

use super::ConfineError;
use crate::serve::CONNECTIONS_MAX;

/// Descriptors besides those of connections: streams, the control socket, the event loop.
const DESCRIPTORS_OWN: u64 = 64;

/// Hides the process's memory, and keeps it out of core dumps.
pub(crate) fn hide() -> Result<(), ConfineError> {
    endow_adapter::hide().map_err(failed("hide the process's memory"))
}

/// Keeps nothing of whoever started it: neither descriptors nor the terminal's signals. SIGPIPE is
/// ignored by every program of Rust's.
pub(crate) fn stand_alone() -> Result<(), ConfineError> {
    close_others().map_err(ConfineError::Descriptors)?;
    leave_the_group().map_err(failed("leave the process group"))?;
    allow_descriptors().map_err(failed("allow enough descriptors"))
}

fn leave_the_group() -> Result<(), Errno> {
    // One that leads its session already can't, and need not.
    if getpgrp() == getpid() { Ok(()) } else { setpgid(None, None) }
}

fn allow_descriptors() -> Result<(), Errno> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let wanted = 2 * CONNECTIONS_MAX as u64 + DESCRIPTORS_OWN;
    let current = Some(maximum.map_or(wanted, |maximum| maximum.min(wanted)));
    setrlimit(Resource::Nofile, Rlimit { current, maximum })
}

fn failed(action: &'static str) -> impl FnOnce(Errno) -> ConfineError {
    move |errno| ConfineError::System { action, errno }
}
