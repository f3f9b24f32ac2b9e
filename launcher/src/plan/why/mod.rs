//! Why a path, a connection or a call is what it is: answered from the plan that a run would carry
//! out, in the kernel's order.
//!
//! The view is the plan's own steps, replayed on paper; what the host has below a physical mount
//! is asked of a [`HostTree`]. A name is resolved part by part, links included, as the kernel does
//! it, and an operation is decided by the same layers in the same order: types, permission bits,
//! read-only mounts, Landlock.

mod answer;
mod call;
mod decide;
mod denial;
mod denied;
mod entry;
mod grant;
mod leads;
mod network;
mod node;
mod plain;
mod protected;
mod refusal;
mod rights;
mod tell;
mod view;
mod walk;

pub use answer::{Answer, Layer, Verdict};
pub use call::call;
pub use denial::{Denial, Need, Remedy, Subject};
pub use denied::undeny;
pub use entry::{AclEntry, Entry, EntryKind, HostTree, Readonly};
pub use network::{connection, hosts_loopback};
pub use refusal::Refusal;
pub use tell::{Questions, shell_word};

use serde::{Deserialize, Serialize};

/// What is to be done with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Open for reading, and list when it is a directory.
    Read,
    /// Open for writing, make it when it is missing, make a file in it when it is a directory.
    Write,
    /// Execute, and search when it is a directory.
    Execute,
    /// Connect to a socket by its path.
    Connect,
}

impl Operation {
    /// Returns the word by which it is asked for.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Connect => "connect",
        }
    }
}
