//! What is given up first, when nothing is known yet.

use nix::unistd::close;
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getpgrp, getpid, getrlimit, set_dumpable_behavior, setpgid,
    setrlimit,
};

use super::ConfineError;
use crate::serve::CONNECTIONS_MAX;

/// Descriptors besides those of connections: streams, the control socket, the event loop.
const DESCRIPTORS_OWN: u64 = 64;

/// Hides the process's memory from other processes of the user, and keeps it out of core dumps.
pub(crate) fn hide() -> Result<(), ConfineError> {
    let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    hidden.map_err(failed("hide the process's memory"))?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(failed("forbid core dumps"))
}

/// Keeps nothing of whoever started it: neither descriptors nor the terminal's signals. SIGPIPE is
/// ignored by every program of Rust's.
pub(crate) fn stand_alone() -> Result<(), ConfineError> {
    close_others().map_err(failed("close what else is open"))?;
    leave_the_group().map_err(failed("leave the process group"))?;
    allow_descriptors().map_err(failed("allow enough descriptors"))
}

fn close_others() -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut list = Dir::new(openat(CWD, "/proc/self/fd", flags, Mode::empty())?)?;
    let mut open = Vec::new();
    for entry in &mut list {
        let name = entry?.file_name().to_str().map(str::parse::<i32>);
        open.extend(name.ok().and_then(Result::ok).filter(|number| *number > 2));
    }
    drop(list);
    // The list's own descriptor is among them and gone by now.
    for number in open {
        let _ = close(number);
    }
    Ok(())
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
