//! What changes where a run has no namespaces of its own: what these keep apart, the filter must.

use super::action::{Action, Errno};
use super::check::Check;
use super::group::Group;
use super::leaf::Leaf;

/// What a run shares with the host for want of namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// Nothing: it has namespaces of its own.
    Nothing,
    /// Processes, queues, shared memory and sockets; it is to have no network.
    NoNetwork,
    /// Processes, queues, shared memory and sockets; the network is the host's, as was asked for.
    Network,
}

impl Shared {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Nothing, Self::NoNetwork, Self::Network];

    /// Returns what happens to a group because of what is shared; `None` when nothing changes.
    ///
    /// No rule of Landlock is about sockets with a path, so that no Unix socket is made but pairs,
    /// and of these none that could be sent elsewhere.
    pub const fn leaf(self, group: Group) -> Option<Leaf> {
        Some(match (self, group) {
            (Self::Nothing, _) => return None,
            (Self::NoNetwork, Group::Socket) => Leaf::Do(Action::Errno(Errno::EAFNOSUPPORT)),
            (Self::Network, Group::Socket) => Leaf::Check(Check::SocketInternet),
            (_, Group::SocketPair) => Leaf::Check(Check::SocketPairConnected),
            (_, Group::SharedMemory) => Leaf::Do(Action::Errno(Errno::ENOSYS)),
            (_, Group::Limits) => Leaf::Check(Check::OwnCoreLimit),
            (_, Group::Scheduling) => Leaf::Check(Check::OwnProcess),
            (_, Group::Priority) => Leaf::Check(Check::OwnPriority),
            (_, Group::IoPriority) => Leaf::Check(Check::OwnIoPriority),
            _ => return None,
        })
    }
}
