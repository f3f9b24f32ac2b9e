//! What the broker of secrets is told. It is a process of its own, which adds headers to requests
//! that nobody inside has seen.

use serde::{Deserialize, Serialize};

/// Everything the broker serves, in one message. It holds secrets: it is neither shown nor kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokerOrder {
    /// The hosts, which connections name by their number here.
    pub hosts: Vec<BrokeredHost>,
}

/// One host to which requests go, with a header that the broker adds.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokeredHost {
    /// Its name, which its certificate must be for.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The path below which requests may go, without a slash at its end; empty for all.
    pub path: String,
    /// Whether a connection may become a WebSocket.
    pub websocket: bool,
    /// The name of the header, as it was written.
    pub header: String,
    /// The header's whole value.
    pub value: String,
    /// The part of it that must be seen nowhere inside.
    pub secret: String,
}
