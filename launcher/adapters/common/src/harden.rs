//! What is given up first, when nothing is known yet.

use std::io;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Hides the process's memory from other processes of the user, and keeps it out of core dumps.
///
/// # Errors
/// What the kernel says.
pub fn hide() -> Result<(), Errno> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
}

/// Closes all descriptors but 0, 1 and 2. To be called while nothing here owns one.
///
/// # Errors
/// The open descriptors can't be listed.
pub fn close_others() -> io::Result<()> {
    let mut others = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
        others.extend(number.filter(|number| *number > 2));
    }
    for number in others {
        // Among them is the one of the listing, which is closed.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
