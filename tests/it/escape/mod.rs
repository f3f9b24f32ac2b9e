//! Attacks on the sandbox, each with a control that shows the attack working without it.

pub(crate) mod prober;

mod calls;
mod descriptors;
mod files;
mod granted_sockets;
mod hidden;
mod links;
mod policies;
mod privilege;
mod processes;
mod races;
pub(crate) mod shared;
mod sockets;
mod stops;
mod terminal;
mod words;
