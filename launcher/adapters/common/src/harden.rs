//! What is given up first, when nothing is known yet.

use std::io;

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setpgid, setrlimit,
};

/// What can't be given up.
#[derive(Debug, thiserror::Error)]
pub enum HardenError {
    /// The kernel refuses a step.
    #[error("can't {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// The open descriptors can't be listed.
    #[error("can't list descriptors")]
    Descriptors(#[source] io::Error),
}

impl HardenError {
    /// Says in which step the kernel refused.
    pub fn on(action: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::System { action, errno }
    }
}

/// Hides the process's memory from other processes of the user.
///
/// # Errors
/// What the kernel says.
pub fn hide() -> Result<(), HardenError> {
    let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    hidden.map_err(HardenError::on("hide the process's memory"))
}

/// Keeps the process's memory out of core dumps, and that of all that it starts.
///
/// # Errors
/// What the kernel says.
pub fn forbid_core_dumps() -> Result<(), HardenError> {
    let forbidden = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    forbidden.map_err(HardenError::on("forbid core dumps"))
}

/// Leaves the process group of whoever started the process, and with it the terminal's signals.
///
/// # Errors
/// What the kernel says.
pub fn leave_group() -> Result<(), HardenError> {
    match setpgid(None, None) {
        // The leader of a session has a group of its own, which it can't leave.
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(errno) => Err(HardenError::on("leave the process group")(errno)),
    }
}

/// Closes all descriptors but 0, 1 and 2. To be called while nothing here owns one.
///
/// # Errors
/// The open descriptors can't be listed.
pub fn close_others() -> Result<(), HardenError> {
    let mut others = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").map_err(HardenError::Descriptors)? {
        let name = entry.map_err(HardenError::Descriptors)?.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
        others.extend(number.filter(|number| *number > 2));
    }
    for number in others {
        // Among them is the one of the listing, which is closed.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
