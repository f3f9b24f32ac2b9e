//! Every unsafe block of the project: thin wrappers over system calls that no crate offers.
//!
//! Nothing here knows a policy or a plan. Each function is one call, returns the kernel's errno
//! and hands out owned descriptors.

pub(crate) mod announced;
pub(crate) mod arguments;
pub(crate) mod clone;
pub(crate) mod diagnosis;
pub(crate) mod exec;
pub(crate) mod fd;
pub(crate) mod heap;
pub(crate) mod holders;
pub(crate) mod identity;
pub(crate) mod internet;
pub(crate) mod keyring;
pub(crate) mod landlock;
pub(crate) mod lease;
pub(crate) mod memory;
pub(crate) mod mount;
pub(crate) mod mountinfo;
pub(crate) mod net;
pub(crate) mod notify;
pub(crate) mod processor;
pub(crate) mod program;
pub(crate) mod refused;
pub(crate) mod route;
pub(crate) mod routes;
pub(crate) mod seccomp;
pub(crate) mod signal;
pub(crate) mod socket;
pub(crate) mod sockets;
pub(crate) mod start;
pub(crate) mod terminal;
pub(crate) mod wait;

use rustix::io::Errno;

/// Turns the result of a raw system call into a value or the kernel's error.
fn check(result: libc::c_long) -> Result<libc::c_long, Errno> {
    if result < 0 { Err(last_errno()) } else { Ok(result) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
