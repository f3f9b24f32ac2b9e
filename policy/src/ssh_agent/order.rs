//! What the filter before the user's ssh-agent is told. It is a process of its own outside, to which
//! the sandbox speaks instead of the agent. It answers as a broker does.

use serde::{Deserialize, Serialize};

/// Which keys of which agent a sandbox may use. A listening socket comes with the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshAgentOrder {
    /// The absolute path of the real agent's socket.
    pub agent: String,
    /// The keys, each by the fingerprint that `ssh-keygen -l` prints (`SHA256:...`) or by its
    /// comment; `*` stands for all, also those that the agent gets later.
    pub keys: Vec<String>,
    /// A program that asks the user, with its arguments, to which the question is added. Empty: a
    /// chosen key signs without a question.
    pub confirm: Vec<String>,
    /// The directories in which it is looked for, and what it starts: their absolute paths.
    pub search: Vec<String>,
}
