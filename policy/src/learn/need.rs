//! What a run asked for and did not get.

use crate::{AllowWord, GuestPath, HostRule};

/// Something that a run asked for and did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// A path that the host has.
    Path(PathNeed),
    /// One host at one port.
    Host(HostRule),
    /// A call that a word of `--allow` lifts.
    Call(AllowWord),
}

/// A path that the host has, and what was to be done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNeed {
    /// The path, as the guest asked for it.
    pub at: GuestPath,
    /// What was to be done.
    pub usage: Usage,
    /// What the host has there.
    pub what: What,
    /// Where it is on the host, when links lead there from another path.
    pub leads_to: Option<GuestPath>,
    /// A deny pattern hides it where it is.
    pub hidden: bool,
}

/// What was to be done with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Usage {
    /// Read, list, execute or look at it.
    Read,
    /// Change it, or make something in it.
    Write,
    /// Connect to it.
    Connect,
}

/// What the host has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A socket.
    Socket,
    /// A device or a pipe.
    Special,
}
