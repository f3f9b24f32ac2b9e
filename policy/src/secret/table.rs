//! The table `[secrets]`, as one source says it.

use std::ffi::OsString;

use super::{Header, Server};
use crate::{AddressRange, Stated};

/// The table `[secrets]`: each name, and `None` where `false` takes it back.
pub type SecretTable = Vec<(Stated<String>, Option<SecretEntry>)>;

/// One secret as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretEntry {
    /// Where its value comes from.
    pub from: WrittenSource,
    /// How it is used.
    pub to: WrittenUse,
}

/// Where a value comes from, paths as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenSource {
    /// A variable.
    Variable(String),
    /// A file.
    File(OsString),
    /// A command.
    Command(String),
}

/// How a secret is used, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenUse {
    /// In a header.
    Header {
        /// For which server.
        server: Server,
        /// The header.
        header: Header,
        /// Where its address must be.
        address: Option<AddressRange>,
        /// The port inside, when it is to be a certain one.
        port: Option<u16>,
        /// The variable that names the place, when its name is to be another.
        url: Option<String>,
        /// Whether a connection may become a WebSocket.
        websocket: bool,
    },
    /// At a descriptor.
    Descriptor(u16),
}
