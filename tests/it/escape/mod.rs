//! Attacks on the sandbox, each with a control that shows the attack working without it.

pub(crate) mod prober;

mod calls;
mod processes;
mod sockets;
