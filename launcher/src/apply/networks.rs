//! Network namespaces for first processes, which a fork server enters before it makes one. To make such a namespace
//! and to take it apart costs the kernel more than anything else of a sandbox; one that nobody has used is as new
//! as another, and a later first process gets it.

use std::collections::VecDeque;
use std::ffi::CString;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{getgid, getuid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::init;
use crate::sys;
use crate::sys::identity::Identity;

/// What a network namespace remembers of what its processes did, as far as the kernel tells: packets, lookups of
/// routes, flow labels and a key that the first listener has made (proc_pid_net(5), tcp(7)).
const TOLD: [&str; 9] = [
    "/proc/self/net/dev",
    "/proc/self/net/fib_triestat",
    FLOW_LABELS,
    "/proc/self/net/ipv6_route",
    "/proc/self/net/netstat",
    "/proc/self/net/rt6_stats",
    "/proc/self/net/snmp",
    "/proc/self/net/snmp6",
    "/proc/sys/net/ipv4/tcp_fastopen_key",
];
const FLOW_LABELS: &str = "/proc/self/net/ip6_flowlabel";
/// What is told of sockets: the first line says how many the namespace has.
const SOCKETS: &str = "/proc/self/net/sockstat";
/// Reports of multicast groups follow their processes: the first of them three ticks later, of which there are a
/// hundred a second at least (`igmp_ifc_start_timer` in net/ipv4/igmp.c).
const SETTLED: Duration = Duration::from_millis(50);
/// A flow label is listed for six seconds, and what it changes stays (`FL_MIN_LINGER` in net/ipv6/ip6_flowlabel.c):
/// what had a namespace for longer may have had one.
const USE_MAX: Duration = Duration::from_secs(5);
/// How many are kept that nobody uses: as many short actions as there may be until the first has settled.
const UNUSED_MAX: usize = 20;
/// How many are known that are in use. More are those of sandboxes that did not start: nobody brings them back.
const USED_MAX: usize = 4;

/// The network namespaces that this process has for first processes.
#[derive(Default)]
pub(super) struct Networks {
    /// Whether this process has left the network it was started in, for a user namespace of its own, which has the
    /// network namespaces.
    are_entered: bool,
    /// Whether a namespace could not be made or entered: none is tried again, and each first process makes its own.
    have_failed: bool,
    /// Namespaces that came back, the first of them first.
    unused: VecDeque<Network>,
    used: Vec<Network>,
}

/// A network namespace.
pub(super) struct Network {
    namespace: OwnedFd,
    identity: Identity,
    /// When it was lent, or came back.
    since: Instant,
    /// What was told of it when it was new.
    told: Vec<Vec<u8>>,
}

impl Networks {
    /// What a process has that has left its network.
    #[cfg(test)]
    pub(super) fn entered() -> Self {
        Self { are_entered: true, ..Self::default() }
    }

    /// Enters a network namespace that is as new; `None` where a first process is to make its own.
    pub(super) fn enter(&mut self) -> Option<Network> {
        if !self.are_entered && !self.have_failed {
            self.are_entered = own_users().is_ok();
            self.have_failed = !self.are_entered;
        }
        if self.have_failed {
            return None;
        }
        let is_settled = |it: &mut Network| it.since.elapsed() >= SETTLED;
        let again = self.unused.pop_front_if(is_settled).filter(Network::is_as_new);
        let network = again.map_or_else(Network::new, Ok);
        let entered = network.and_then(|it| it.enter().map(|()| it));
        self.have_failed = entered.is_err();
        entered.ok().map(|it| Network { since: Instant::now(), ..it })
    }

    /// Returns whether this process has left the network that it was started in.
    pub(super) fn are_entered(&self) -> bool {
        self.are_entered
    }

    /// Notes the namespace that a first process has.
    pub(super) fn lend(&mut self, network: Option<Network>) {
        self.used.extend(network);
        if self.used.len() > USED_MAX {
            self.used.remove(0);
        }
    }

    /// Keeps the namespaces of ended sandboxes, for others if they turn out to be as new.
    pub(super) fn take_back(&mut self, ended: Vec<OwnedFd>) {
        for namespace in ended {
            let identity = sys::identity::of(&namespace).ok();
            let place = self.used.iter().position(|it| Some(it.identity) == identity);
            let network = place.map(|place| self.used.swap_remove(place));
            let is_short = |it: &Network| it.since.elapsed() < USE_MAX && it.has_no_label();
            let kept = network.filter(|it| self.unused.len() < UNUSED_MAX && is_short(it));
            self.unused.extend(kept.map(|it| Network { since: Instant::now(), ..it }));
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
        Ok(Self { namespace, identity, since: Instant::now(), told: told()? })
    }

    fn enter(&self) -> Result<(), Errno> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))
    }

    /// Returns whether no flow label is listed. Afterwards this process is in it.
    fn has_no_label(&self) -> bool {
        let new = TOLD.iter().zip(&self.told).find(|(path, _)| **path == FLOW_LABELS);
        let now = self.enter().and_then(|()| read(FLOW_LABELS));
        now.is_ok_and(|now| new.is_some_and(|(_, new)| *new == now))
    }

    /// Returns whether nothing went on in it. Afterwards this process is in it.
    fn is_as_new(&self) -> bool {
        self.enter().and_then(|()| told()).is_ok_and(|now| now == self.told)
    }
}

/// Makes a user namespace for this process, in which everybody is who they are outside.
fn own_users() -> Result<(), Errno> {
    let line = |id: u32| CString::new(format!("{id} {id} 1")).map_err(|_| Errno::INVAL);
    let (uid, gid) = (line(getuid().as_raw())?, line(getgid().as_raw())?);
    sys::clone::unshare(libc::CLONE_NEWUSER)?;
    // Without these, no first process can be anybody.
    init::id_maps(&uid, &gid).inspect_err(|_| sys::clone::exit_now(1))
}

/// Returns what is told of the network namespace that this process is in.
fn told() -> Result<Vec<Vec<u8>>, Errno> {
    let mut sockets = read(SOCKETS)?;
    sockets.truncate(sockets.iter().position(|byte| *byte == b'\n').ok_or(Errno::IO)?);
    TOLD.into_iter().map(read).chain([Ok(sockets)]).collect()
}

/// Reads a file of the kernel's. What a kernel does not have, as without IPv6, tells nothing.
fn read(path: &str) -> Result<Vec<u8>, Errno> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    }
}
