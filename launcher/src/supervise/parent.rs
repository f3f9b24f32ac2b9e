//! The process that started endow.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::sys;

/// Ends endow, and with it the run, when the process that started it ends.
pub(crate) fn die_with_parent() -> Result<(), Errno> {
    die_with(sys::start::parent())
}

/// Ends this process when its parent ends. A parent that has ended already sends no signal any more: that is an error.
pub(crate) fn die_with(parent: Option<Pid>) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == parent { Ok(()) } else { Err(Errno::SRCH) }
}
