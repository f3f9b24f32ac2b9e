//! What the process that serves bridges is told, and what it tells.

use serde::{Deserialize, Serialize};

/// Which bridges are open. A listening socket comes with the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeOrder {
    /// The bridges, as they are written in a policy.
    pub open: Vec<String>,
    /// The directories in which programs are looked for.
    pub search: Vec<String>,
    /// What commands may write: no program is taken from there.
    pub reach: Vec<String>,
}

/// Something was asked for over a bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeNews {
    /// Over which one.
    pub bridge: String,
    /// What of it may be told: a URL without its details, a number of bytes, a title.
    pub what: String,
    /// Why it was not done.
    pub refused: Option<String>,
}
