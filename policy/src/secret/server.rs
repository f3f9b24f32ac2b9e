//! The server for which a secret is.

use core::net::IpAddr;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::port::port;
use crate::{HostName, HostNameError};

/// The port of HTTP over TLS.
const HTTPS: u16 = 443;

/// A server, and what of it may be asked for, written `HOST[:PORT][/PATH]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub host: HostName,
    /// Its port.
    pub port: u16,
    /// The path below which requests may go, without a slash at its end; empty for all.
    pub path: String,
}

/// Why a text is no server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A scheme stands before the host.
    #[error("a host is written, not a URL")]
    Url,
    /// The port is no number from 1 to 65535.
    #[error("not a port from 1 to 65535")]
    Port,
    /// The path has parts that lead upward, or characters that must be written otherwise.
    #[error("path has a part that servers read in different ways")]
    Path,
    /// The loopback has no certificate.
    #[error("a secret is for a server with a certificate, not for the loopback")]
    Loopback,
    /// An address is no name that a certificate is checked for.
    #[error("a secret is for a host by its name, which its certificate shows, not for an address")]
    Address,
    /// The name can't be used.
    #[error(transparent)]
    Name(HostNameError),
}

impl Server {
    /// Reads a server.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, ServerError> {
        if text.contains("://") {
            return Err(ServerError::Url);
        }
        if is_address(text) {
            return Err(ServerError::Address);
        }
        let (place, path) = text.find('/').map_or((text, ""), |at| text.split_at(at));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, digits)) => (host, port(digits).ok_or(ServerError::Port)?),
            None => (place, HTTPS),
        };
        let host = HostName::parse(host).map_err(|error| match error {
            HostNameError::Number => ServerError::Address,
            error => ServerError::Name(error),
        })?;
        if host.is_loopback() {
            return Err(ServerError::Loopback);
        }
        Ok(Self { host, port, path: read_path(path)? })
    }
}

/// Whether an address stands before the port and the path, in brackets or not.
fn is_address(text: &str) -> bool {
    let place = text.split('/').next().unwrap_or_default();
    let place = place.trim_start_matches('[');
    let ends = [place.split(']').next(), place.rsplit_once(':').map(|(host, _)| host)];
    let mut all = ends.into_iter().flatten().chain([place]);
    all.any(|host| host.parse::<IpAddr>().is_ok())
}

fn read_path(path: &str) -> Result<String, ServerError> {
    let path = path.trim_end_matches('/');
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~@:+,=".contains(&byte);
    let mut parts = path.split('/').skip(1);
    if !path.bytes().all(fine) || parts.any(|part| matches!(part, "" | "." | "..")) {
        return Err(ServerError::Path);
    }
    Ok(path.to_owned())
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.host)?;
        if self.port != HTTPS {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)
    }
}

impl Serialize for Server {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
