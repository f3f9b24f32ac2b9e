//! What the process is told and asked that speaks with a remote cache, and what it answers. It is a process
//! of its own, so that endow itself has no gRPC; it answers its order as a broker does.

use serde::{Deserialize, Serialize};

/// With whom it speaks. It may hold secrets: it is neither shown nor kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteOrder {
    /// The socket of a server on this machine.
    pub socket: Option<String>,
    /// The server's name or address, without brackets; empty with a socket.
    pub host: String,
    /// The server's port.
    pub port: u16,
    /// How the server is spoken with in secret; without it, it is not.
    pub tls: Option<RemoteTls>,
    /// The part of the server that is meant.
    pub instance: String,
    /// What says who asks: `Authorization: Bearer TOKEN`.
    pub token: Option<String>,
    /// Whether results will be put there: a server that takes none is refused then.
    pub writes: bool,
    /// How often a call is tried once more that failed for now.
    pub retries: u32,
    /// How long one call may take.
    pub patience_ms: u64,
}

/// How a server is spoken with in secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteTls {
    /// Certificates by which the server's is believed, as PEM; without them, the host's.
    pub ca: Option<String>,
    /// The certificate that says who asks and its key, as PEM.
    pub identity: Option<(String, String)>,
}

/// A content, and where it is in the file that comes with the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteContent {
    /// The digits of its hash.
    pub hash: String,
    /// Its bytes.
    pub size: u64,
    /// Where it begins in the file.
    pub at: u64,
}

/// What is asked. A file comes with every message but [`RemoteRequest::Lacking`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemoteRequest {
    /// Write the results of the actions with these hashes and sizes into the file.
    Results(Vec<(String, u64)>),
    /// Say which of these the server has not.
    Lacking(Vec<RemoteContent>),
    /// Write these into the file, each at its place.
    Fetch(Vec<RemoteContent>),
    /// Put these there, each from its place in the file.
    Put(Vec<RemoteContent>),
    /// Put what is in the file there as the result of the action with this hash and size.
    PutResult(String, u64),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemoteAnswer {
    /// What was found, in the order of the actions.
    Results(Vec<RemoteFound>),
    /// The server has not those with these numbers in the request.
    Lacking(Vec<usize>),
    /// What was asked for is done, but for these.
    Done(Vec<RemoteProblem>),
    /// Nothing could be done. The server said so or, when it is `gone`, nobody did.
    Failed {
        /// What went wrong.
        why: String,
        /// Whether there is no use in asking more.
        gone: bool,
    },
}

/// What is there for an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemoteFound {
    /// No result.
    Nothing,
    /// A result of so many bytes, from this place of the file on.
    Result {
        /// Where it begins.
        at: u64,
        /// How many bytes it has.
        length: u64,
    },
    /// It could not be had, by this reason.
    Problem(String),
}

/// A content that could not be fetched or put.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteProblem {
    /// Its number in the request.
    pub number: usize,
    /// What went wrong.
    pub why: String,
}
