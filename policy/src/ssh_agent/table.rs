//! The table `[ssh_agent]`, as one source says it.

use std::ffi::OsString;

use crate::Stated;

/// The table `[ssh_agent]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SshAgentTable {
    /// Keys by fingerprint or comment; `!X` takes X back.
    pub keys: Vec<Stated<String>>,
    /// The program that asks, with its arguments; empty when nobody is to be asked.
    pub confirm: Option<Stated<Vec<String>>>,
    /// The agent's socket, as written.
    pub agent: Option<Stated<OsString>>,
}
