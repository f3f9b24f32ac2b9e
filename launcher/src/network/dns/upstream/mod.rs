//! The supervisor's own resolver: names to the addresses that the world gives them.
//!
//! It never waits. All its sockets are in one epoll instance, whose descriptor is all that a loop
//! has to watch: epoll instances nest (epoll(7)). What is found is no judgement: whether an address
//! may be reached is for the caller to say.

mod config;
mod hosts;
mod reading;
mod resolv_conf;
mod sent;

#[cfg(test)]
mod tests;

/// The most addresses of each family that are kept of a name.
const ADDRESSES_MAX: usize = 16;

/// Why a name could not be looked up: what the last server that was asked left to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No server answered in time.
    TimedOut,
    /// No server could be reached.
    Unreachable,
    /// A server says that it failed.
    Server,
    /// A server refuses to answer.
    Refused,
    /// An answer can't be read.
    Malformed,
    /// It is an alias of an alias, and so on.
    Aliases,
    /// There are as many lookups as there may be.
    Busy,
}
