//! Network namespaces for first processes, which a fork server enters before it makes one. To make such a namespace
//! and to take it apart costs the kernel more than anything else of a sandbox; one that nobody has used is as new
//! as another, and a later first process gets it.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{getgid, getuid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::init;
use crate::sys;
use crate::sys::identity::Identity;

/// What the kernel tells of all that went on in a network namespace, and any command can read: nothing is sent or
/// refused in it that is not counted here, and flow labels, which outlive their sockets, are listed (proc_pid_net(5)).
const TOLD: [&str; 5] = ["dev", "ip6_flowlabel", "netstat", "snmp", "snmp6"];
/// What is told of sockets: the first line says how many the namespace has, the others what all have together.
const SOCKETS: &str = "sockstat";
/// How many are kept that nobody uses. While one is in use the next is made.
const UNUSED_MAX: usize = 2;
/// How many are known that are in use. More are those of sandboxes that did not start: nobody brings them back.
const USED_MAX: usize = 4;

/// What this process has for first processes.
#[derive(Default)]
pub(super) struct Networks {
    place: Place,
    unused: Vec<Network>,
    used: Vec<Network>,
}

/// Whose the network namespaces are.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// This process is where it was started.
    #[default]
    Outside,
    /// It is in a user namespace of its own, which has them.
    Own,
    /// It can have none: each first process makes its own.
    None,
}

/// A network namespace.
pub(super) struct Network {
    namespace: OwnedFd,
    identity: Identity,
    /// What was told of it when it was new.
    told: Vec<Vec<u8>>,
}

impl Networks {
    /// Enters one that is as new; `None` where a first process is to make its own.
    pub(super) fn enter(&mut self) -> Option<Network> {
        if self.place == Place::Outside {
            self.place = if own_users().is_ok() { Place::Own } else { Place::None };
        }
        if self.place == Place::None {
            return None;
        }
        let network = self.unused.pop().map_or_else(Network::new, Ok).ok()?;
        network.enter().ok()?;
        Some(network)
    }

    /// Returns whether this process has left the network that it was started in.
    pub(super) fn are_entered(&self) -> bool {
        self.place == Place::Own
    }

    /// Keeps the one that a first process has.
    pub(super) fn lend(&mut self, network: Option<Network>) {
        if self.used.len() == USED_MAX {
            self.used.remove(0);
        }
        self.used.extend(network);
    }

    /// Keeps those of ended sandboxes that nobody has used, for others.
    pub(super) fn take_back(&mut self, ended: Vec<OwnedFd>) {
        for namespace in ended {
            let identity = sys::identity::of(&namespace).ok();
            let place = self.used.iter().position(|it| Some(it.identity) == identity);
            let network = place.map(|place| self.used.swap_remove(place));
            let is_kept = |it: &Network| self.unused.len() < UNUSED_MAX && it.is_as_new();
            self.unused.extend(network.filter(is_kept));
        }
    }
}

impl Network {
    fn new() -> Result<Self, Errno> {
        sys::clone::unshare(libc::CLONE_NEWNET)?;
        sys::net::loopback_up()?;
        let (path, flags) = (c"/proc/self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC);
        let namespace = openat(CWD, path, flags, Mode::empty())?;
        let identity = sys::identity::of(&namespace)?;
        Ok(Self { namespace, identity, told: told()? })
    }

    fn enter(&self) -> Result<(), Errno> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))
    }

    /// Returns whether nothing went on in it.
    fn is_as_new(&self) -> bool {
        self.enter().and_then(|()| told()).is_ok_and(|now| now == self.told)
    }
}

/// Makes a user namespace for this process, in which everybody is who they are outside.
fn own_users() -> Result<(), Errno> {
    let line = |id: u32| std::ffi::CString::new(format!("{id} {id} 1")).map_err(|_| Errno::INVAL);
    let (uid, gid) = (line(getuid().as_raw())?, line(getgid().as_raw())?);
    sys::clone::unshare(libc::CLONE_NEWUSER)?;
    // Without these, no first process can be anybody.
    init::id_maps(&uid, &gid).inspect_err(|_| sys::clone::exit_now(1))
}

/// Returns what is told of the network namespace that this process is in. What a kernel does not have, as without
/// IPv6, tells nothing.
fn told() -> Result<Vec<Vec<u8>>, Errno> {
    let read = |name: &str| match fs::read(format!("/proc/self/net/{name}")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    };
    let mut sockets = read(SOCKETS)?;
    sockets.truncate(sockets.iter().position(|byte| *byte == b'\n').ok_or(Errno::IO)?);
    TOLD.into_iter().map(read).chain([Ok(sockets)]).collect()
}
