//! The broker: it adds a secret to requests, in a process that nothing inside can reach but by
//! these requests.

use std::os::fd::{AsFd, OwnedFd};

use endow_policy::BrokerOrder;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use zeroize::Zeroize;

use super::environment::Environment;
use super::process::{Adapter, AdapterError, End, Helper, secret_order};

/// The broker of a run.
#[derive(Debug)]
pub(crate) struct Broker(Adapter);

impl Broker {
    /// Starts the broker. What is told to it is wiped here.
    pub(super) fn start(mut order: BrokerOrder, withheld: &[String]) -> Result<Self, AdapterError> {
        let message = secret_order(&order);
        for host in &mut order.hosts {
            host.value.zeroize();
            host.secret.zeroize();
        }
        let environment = Environment::Network(withheld);
        Adapter::start(Helper::Broker.name(), &message?, &[], environment).map(Self)
    }

    /// Returns what tells that the broker has ended.
    pub(crate) fn end(&self) -> Option<End> {
        self.0.end(Helper::Broker)
    }

    /// Puts the broker before a connection to the host of this number. Returns the side of the client, who
    /// says and hears what stands between plain HTTP and TLS.
    pub(crate) fn stand_before(&self, number: usize, far: OwnedFd) -> Result<OwnedFd, Errno> {
        let number = u32::try_from(number).map_err(|_| Errno::INVAL)?;
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        self.0.send(&number.to_ne_bytes(), &[theirs.as_fd(), far.as_fd()])?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok(ours)
    }
}
