//! What a policy expects to hold in the running sandbox, for `endow verify`.

use core::net::IpAddr;

use serde::Serialize;

use crate::{GuestPath, HostName, Origin};

/// What is tried in the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// Reading a path.
    Read,
    /// Writing a path.
    Write,
    /// Executing a path.
    Execute,
    /// Connecting to `HOST:PORT`.
    Connect,
}

/// What shall come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The name does not exist inside (ENOENT).
    Absent,
    /// The kernel refuses (EACCES, EPERM, EROFS), or the name is absent.
    Denied,
    /// It works.
    Allowed,
}

impl Probe {
    /// All probes with the key that asks for each.
    pub const ALL: &[(&'static str, Self)] = &[
        ("read", Self::Read),
        ("write", Self::Write),
        ("execute", Self::Execute),
        ("connect", Self::Connect),
    ];
}

impl Verdict {
    /// All verdicts with the word of `is` for each.
    pub const ALL: &[(&'static str, Self)] = &[
        (Self::Absent.word(), Self::Absent),
        (Self::Denied.word(), Self::Denied),
        (Self::Allowed.word(), Self::Allowed),
    ];

    /// Returns the word of `is`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Denied => "denied",
            Self::Allowed => "allowed",
        }
    }
}

/// One `[[expect]]` table as it is written: `read = "~/.ssh/id_rsa", is = "absent"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// What is tried.
    pub probe: Probe,
    /// On which path or host, as written; paths are the guest's.
    pub object: String,
    /// What shall come of it.
    pub is: Verdict,
    /// Who expects it.
    pub origin: Origin,
}

/// An expectation with its variables out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Expected {
    /// What is tried.
    #[serde(flatten)]
    pub tried: Tried,
    /// What shall come of it.
    pub is: Verdict,
    /// On which path or host, as written.
    pub object: String,
    /// Who expects it.
    pub origin: Origin,
}

/// What is tried in the sandbox, and on what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tried {
    /// Reading.
    Read(GuestPath),
    /// Writing.
    Write(GuestPath),
    /// Executing.
    Execute(GuestPath),
    /// Connecting to a host by name or address, at a TCP port.
    Connect(String, u16),
}

/// Reads `HOST:PORT`: a name, an IPv4 address or an IPv6 address in brackets, and a TCP port.
pub fn server(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let port = crate::port::port(port)?;
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match bracketed {
        Some(address) => matches!(address.parse(), Ok(IpAddr::V6(_))),
        None => matches!(host.parse(), Ok(IpAddr::V4(_))) || HostName::parse(host).is_ok(),
    };
    is_host.then(|| (bracketed.unwrap_or(host).to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::server;

    #[test]
    fn server_is_a_host_and_a_port() {
        let read = |text| server(text).map(|(host, port)| format!("{host} {port}"));
        assert_eq!(read("example.com:443").as_deref(), Some("example.com 443"));
        assert_eq!(read("192.0.2.1:80").as_deref(), Some("192.0.2.1 80"));
        assert_eq!(read("[2001:db8::1]:80").as_deref(), Some("2001:db8::1 80"));
        for wrong in ["", "example.com", "example.com:0", "example.com:65536", ":80", "a b:80"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read("2001:db8::1:80"), None);
        assert_eq!(read("[192.0.2.1]:80"), None);
    }
}
