//! The network of a sandbox, served from outside.
//!
//! The sandbox has a network namespace of its own, with a loopback alone. What listens there on
//! synthetic addresses are sockets of that namespace which the supervisor holds: it answers names,
//! takes connections, connects outward by itself and moves the bytes. A socket belongs to the
//! namespace in which it was made, so no route leads out, and no process inside needs a proxy.

mod datagrams;
mod dns;
mod listeners;
pub(crate) mod log;
mod names;
pub(crate) mod nearby;
mod outgoing;
mod poll;
mod processes;
mod proxy;
mod relay;
pub(crate) mod resolve;
mod served;
mod server_name;
mod silent;
mod slab;
mod spares;
mod synthetic;
mod target;
mod waiting;

pub(crate) use log::{Decision, Entry, Log, Special};
pub(crate) use processes::Process;
pub(crate) use served::{PublishError, Served, serve};
pub(crate) use spares::Inside;
