//! Which server a client asks for in the first bytes of a connection: by the name in a TLS
//! `ClientHello` (RFC 6066, 3), or by the `Host` of an HTTP request.
//!
//! Servers are more tolerant than what is written of both, each in its own way. What any of them
//! would still read as TLS or HTTP is nothing else here.

mod headers;
mod http;
#[cfg(test)]
pub(in crate::network) mod tests;
mod tls;

pub(super) use tls::{again, answer, hello_length};

/// The most bytes that are looked at: more than a `ClientHello` with the longest keys in use.
pub(super) const BYTES_MAX: usize = 16 * 1024;

/// The most bytes that go on and are looked at again: more than the longest first line that a server
/// takes.
const UNLIKELY_MAX: usize = 96 * 1024;

/// What the bytes so far say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing yet: what they begin must be whole before any of it goes on.
    More,
    /// Hardly TLS or HTTP, but what follows may still make it that. No server can do anything with
    /// them alone, so they may go on, if they are looked at again with what follows.
    Unlikely,
    /// This server.
    For(String),
    /// TLS or HTTP that names no server, or none that can be read.
    Nobody,
    /// Something else than TLS or HTTP.
    Other,
}

/// What a server says to a `ClientHello`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Not enough to tell.
    More,
    /// It asks for another one (RFC 8446, 4.1.4).
    Retry,
    /// Something else, after which there is no other one that can be read.
    Other,
}

/// What a client says when it was asked for another `ClientHello`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Not enough to tell.
    More,
    /// A record of so many bytes that a server passes over before it: data that came too early, an
    /// alert, or one for old machines in between.
    Record(usize),
    /// That, or nothing that TLS has there: to be read as first bytes are.
    Hello,
}

/// The most bytes of an answer that are looked at.
pub(super) const ANSWER_MAX: usize = 512;

/// Reads the first bytes of a connection.
pub(super) fn asked(bytes: &[u8]) -> Asked {
    let asked = match tls::asked(bytes) {
        None => http::asked(bytes),
        Some(Asked::Unlikely) => match http::asked(bytes) {
            Asked::Other => Asked::Unlikely,
            asked => asked,
        },
        Some(asked) => asked,
    };
    match asked {
        Asked::More if bytes.len() >= BYTES_MAX => Asked::Nobody,
        Asked::Unlikely if bytes.len() >= UNLIKELY_MAX && !http::is_lead(bytes) => Asked::Other,
        asked => asked,
    }
}

/// Returns what is remembered of bytes that have gone on, to be looked at with those that follow.
/// Of what may stand before a request servers pass over any number.
pub(super) fn remembered(mut bytes: Vec<u8>) -> Vec<u8> {
    if http::is_lead(&bytes) {
        bytes.truncate(tls::TOLD_MAX);
    }
    bytes
}
