//! The supervisor's own resolver: names to the addresses that the world gives them.
//!
//! It never waits. All its sockets are in one epoll instance, whose descriptor is all that a loop
//! has to watch: epoll instances nest (epoll(7)). What is found is no judgement: whether an address
//! may be reached is for the caller to say.

mod config;
mod hosts;
mod resolv_conf;

/// The most addresses of each family that are kept of a name.
const ADDRESSES_MAX: usize = 16;
