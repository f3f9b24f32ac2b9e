//! What the kernel does with a call.

use std::fmt;

use serde::{Serialize, Serializer};

/// An error number of the kernel that a filter answers with.
///
/// Numbers are those of the generic headers, which both architectures share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Errno {
    /// Operation not permitted.
    EPERM,
    /// No such file or directory; TCP's answer for an upper layer protocol it does not have.
    ENOENT,
    /// Function not implemented.
    ENOSYS,
    /// Protocol not supported.
    EPROTONOSUPPORT,
    /// Operation not supported.
    EOPNOTSUPP,
    /// Address family not supported.
    EAFNOSUPPORT,
}

impl Errno {
    /// Returns the kernel's number.
    pub const fn number(self) -> u16 {
        match self {
            Self::EPERM => 1,
            Self::ENOENT => 2,
            Self::ENOSYS => 38,
            Self::EPROTONOSUPPORT => 93,
            Self::EOPNOTSUPP => 95,
            Self::EAFNOSUPPORT => 97,
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What the kernel does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Lets it through.
    Allow,
    /// Lets the supervisor see it first, through the filter's listener.
    Notify,
    /// Answers with an error, without doing anything.
    Errno(Errno),
    /// Answers that it is done, without doing anything.
    Done,
    /// Kills the process.
    Kill,
}

impl Action {
    /// Returns the same with the supervisor giving the error.
    pub(super) fn announced(self) -> Self {
        if matches!(self, Self::Errno(_)) { Self::Notify } else { self }
    }

    /// Returns the value that a filter returns: `SECCOMP_RET_*`.
    pub fn code(self) -> u32 {
        match self {
            Self::Allow => 0x7fff_0000,
            Self::Notify => 0x7fc0_0000,
            Self::Errno(errno) => 0x0005_0000 | u32::from(errno.number()),
            Self::Done => 0x0005_0000,
            Self::Kill => 0x8000_0000,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow => f.write_str("allow"),
            Self::Notify => f.write_str("notify"),
            Self::Errno(errno) => errno.fmt(f),
            Self::Done => f.write_str("nothing done"),
            Self::Kill => f.write_str("kill"),
        }
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
