//! Where a remote cache is.

use std::fmt;

use crate::port::port;

/// The port of TLS, where none is said.
const TLS_PORT: u16 = 443;

/// A directory, or who serves the Remote Execution API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteUrl {
    /// `file:DIR`: a directory, as Bazel's disk cache is one.
    Directory(String),
    /// `unix:PATH`: a server at a socket of this machine.
    Socket(String),
    /// `grpc://HOST:PORT`, or with TLS `grpcs://HOST[:PORT]`.
    Server {
        /// Whether it speaks TLS.
        tls: bool,
        /// Its name or address, without the brackets of one of IPv6.
        host: String,
        /// Its port.
        port: u16,
    },
}

/// Why a text names no remote cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteUrlError {
    /// It begins with none of the known words.
    #[error("not `file:DIR`, `unix:PATH`, `grpc://HOST:PORT` or `grpcs://HOST`")]
    Kind,
    /// A directory or socket is not named from the root on.
    #[error("the path must be a whole one")]
    Path,
    /// There is no host, or it has characters that no host's name has.
    #[error("no host is named")]
    Host,
    /// The port is none, or is missing where it must be said.
    #[error("a port from 1 to 65535 must follow the host")]
    Port,
    /// It has a name or a password.
    #[error("no credential can be in it: use `token`")]
    Credential,
    /// Something follows the port.
    #[error("nothing can follow host and port: use `instance`")]
    Rest,
}

impl RemoteUrl {
    /// Reads a place as it is written.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, RemoteUrlError> {
        let (kind, rest) = text.split_once(':').ok_or(RemoteUrlError::Kind)?;
        match (kind, rest.strip_prefix("//")) {
            ("file", behind) => Ok(Self::Directory(path(behind.unwrap_or(rest))?)),
            ("unix", behind) => Ok(Self::Socket(path(behind.unwrap_or(rest))?)),
            ("grpc", Some(place)) => server(place, None),
            ("grpcs", Some(place)) => server(place, Some(TLS_PORT)),
            _ => Err(RemoteUrlError::Kind),
        }
    }

    /// Returns whether nobody between can read along: TLS, or this machine alone.
    pub fn is_private(&self) -> bool {
        match self {
            Self::Directory(_) | Self::Socket(_) => true,
            Self::Server { tls, host, .. } => {
                let address = host.parse().ok();
                *tls || host == "localhost"
                    || address.is_some_and(|it: core::net::IpAddr| it.is_loopback())
            }
        }
    }
}

fn path(text: &str) -> Result<String, RemoteUrlError> {
    let is_whole = text.starts_with('/') && !text.contains('\0');
    is_whole.then(|| text.to_owned()).ok_or(RemoteUrlError::Path)
}

/// Reads a host and a port; one that has a usual port speaks TLS.
fn server(place: &str, usual: Option<u16>) -> Result<RemoteUrl, RemoteUrlError> {
    let place = place.strip_suffix('/').unwrap_or(place);
    if place.contains('@') {
        return Err(RemoteUrlError::Credential);
    }
    if place.contains(['/', '?', '#']) {
        return Err(RemoteUrlError::Rest);
    }
    let (host, behind) = match place.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or(RemoteUrlError::Host)?,
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    if host.is_empty() || !host.chars().all(is_plain) {
        return Err(RemoteUrlError::Host);
    }
    let port = match behind.strip_prefix(':') {
        Some(digits) => port(digits),
        None if behind.is_empty() => usual,
        None => None,
    };
    let port = port.ok_or(RemoteUrlError::Port)?;
    Ok(RemoteUrl::Server { tls: usual.is_some(), host: host.to_owned(), port })
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(f, "file:{path}"),
            Self::Socket(path) => write!(f, "unix:{path}"),
            Self::Server { tls, host, port } => {
                let s = if *tls { "s" } else { "" };
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(f, "grpc{s}://{open}{host}{close}:{port}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written_alike() {
        for (text, written) in [
            ("file:/a/b", "file:/a/b"),
            ("file:///a/b", "file:/a/b"),
            ("unix:/run/cas.sock", "unix:/run/cas.sock"),
            ("grpc://127.0.0.1:50051", "grpc://127.0.0.1:50051"),
            ("grpc://[::1]:1/", "grpc://[::1]:1"),
            ("grpcs://cache.example.com", "grpcs://cache.example.com:443"),
            ("grpcs://cache:8980", "grpcs://cache:8980"),
        ] {
            let read = RemoteUrl::parse(text).expect(text);
            assert_eq!(read.to_string(), written);
            assert_eq!(RemoteUrl::parse(written), Ok(read));
        }
    }

    #[test]
    fn other_places_are_refused() {
        use RemoteUrlError::{Credential, Host, Kind, Path, Port, Rest};
        for (text, why) in [
            ("", Kind),
            ("cache", Kind),
            ("http://cache:80", Kind),
            ("grpc:cache:80", Kind),
            ("file:cache", Path),
            ("unix:", Path),
            ("grpc://", Host),
            ("grpc://:1", Host),
            ("grpc://a b:1", Host),
            ("grpc://[::1:1", Host),
            ("grpc://cache", Port),
            ("grpc://cache:0", Port),
            ("grpc://cache:65536", Port),
            ("grpc://cache:+80", Port),
            ("grpc://cache:080", Port),
            ("grpcs://[::1]:", Port),
            ("grpcs://[::1]1", Port),
            ("grpcs://user:password@cache", Credential),
            ("grpcs://cache/main", Rest),
        ] {
            assert_eq!(RemoteUrl::parse(text), Err(why), "{text}");
        }
    }

    #[test]
    fn token_is_for_private_places() {
        let is_private = |text| RemoteUrl::parse(text).expect(text).is_private();
        for text in ["file:/a", "unix:/a", "grpcs://a", "grpc://127.0.0.2:1", "grpc://[::1]:1"] {
            assert!(is_private(text), "{text}");
        }
        for text in ["grpc://cache:1", "grpc://10.0.0.1:1", "grpc://localhost.example.com:1"] {
            assert!(!is_private(text), "{text}");
        }
    }
}
