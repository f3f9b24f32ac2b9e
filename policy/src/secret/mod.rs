//! Secrets that the command can use and never sees, and those that it is given at one place alone.

mod header;
mod placed;
mod server;
mod source;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

pub use header::{CARRYING, Header, HeaderError, is_hop_by_hop};
pub(crate) use placed::{place, tell};
pub use server::{Server, ServerError};
pub use source::{SecretSource, SourceError};
pub use table::{SecretEntry, SecretTable, WrittenSource, WrittenUse};

use crate::AddressRange;

/// The port inside at which the first secret is served that has none of its own.
pub(crate) const FIRST_PORT: u16 = 8601;
/// Descriptors that a secret may have: below are the standard streams.
pub(crate) const DESCRIPTORS: core::ops::RangeInclusive<u16> = 3..=255;

/// One secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Secret {
    /// The name that the policy gives it.
    pub name: String,
    /// Where its value comes from.
    pub from: SecretSource,
    /// How it is used.
    #[serde(flatten)]
    pub to: SecretUse,
}

/// How a secret is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretUse {
    /// In a header that the broker adds to requests.
    Header(Endpoint),
    /// The command reads it from this descriptor, once.
    #[serde(rename = "fd")]
    Descriptor(u16),
    /// Not at all: the network in which it would be served was taken away.
    Withheld,
}

/// A place inside at which requests to one server are taken, without the header that they need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// The name of the secret.
    pub secret: String,
    /// The server.
    pub server: Server,
    /// The header that is added.
    pub header: Header,
    /// Where the server's address must be; without it, anywhere but in special ranges.
    pub address: Option<AddressRange>,
    /// The port of the loopback inside.
    pub port: u16,
    /// The variable that names it to the command.
    pub variable: String,
    /// Whether a connection may become a WebSocket, in whose frames a server can take the value apart.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub websocket: bool,
}

impl Endpoint {
    /// Returns the address that stands in for the server's.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.port, self.server.path)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.name, self.from)?;
        match &self.to {
            SecretUse::Header(it) => {
                write!(f, "{} to {}, asked at {}", it.header, it.server, it.url())
            }
            SecretUse::Descriptor(number) => write!(f, "descriptor {number}"),
            SecretUse::Withheld => f.write_str("withheld, for its network was taken away"),
        }
    }
}

/// Returns whether a text can be a variable's name in every shell.
pub(crate) fn is_variable(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(fine)
}
