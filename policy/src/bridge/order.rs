//! What the process that serves bridges is told, and what it tells.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Nearby;

/// How long a login may take.
pub const LOGIN_LASTS: Duration = Duration::from_mins(10);

/// Which bridges are open. A listening socket comes with the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeOrder {
    /// The bridges, as they are written in a policy.
    pub open: Vec<String>,
    /// The directories in which programs are looked for.
    pub search: Vec<String>,
    /// Ports of the host's loopback that lead to the same port inside.
    pub published: Vec<u16>,
    /// Ports inside at which endow itself serves: no login comes back there.
    pub served: Vec<u16>,
    /// What commands may write: no program is taken from there.
    pub reach: Vec<String>,
    /// What is this machine, or beside it: no URL leads there unless a bridge names it. Later it comes
    /// by itself, as a message, whenever it has changed.
    pub nearby: Nearby,
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
    /// The port inside to which a login may come back now, for [`LOGIN_LASTS`] from now on. The
    /// first time, a socket comes with the message that takes connections at the host's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<u16>,
}
