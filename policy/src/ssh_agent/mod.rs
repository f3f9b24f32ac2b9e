//! Keys of the user's ssh-agent that the command may use.

mod order;
mod placed;
mod table;

use serde::Serialize;

pub use order::SshAgentOrder;
pub(crate) use placed::place;
pub use table::SshAgentTable;

use crate::{HostPath, Stated};

/// The word for all keys.
pub(crate) const ALL_KEYS: &str = "*";

/// Which keys of which agent the command may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SshAgent {
    /// The agent's socket; `None` is the one that the caller's environment names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Stated<HostPath>>,
    /// The keys, by fingerprint or comment; `*` is all.
    pub keys: Vec<Stated<String>>,
    /// The program that asks before a key is used, with its arguments; nobody is asked when
    /// there is none, or no word of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Stated<Vec<String>>>,
}
