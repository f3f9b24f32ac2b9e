//! Attacks that need more than one attempt: what is prepared, what happens meanwhile, what a second run
//! finds. Each has a control. All that is one attempt is in `attacks`.

pub(crate) mod prober;

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
mod words;
