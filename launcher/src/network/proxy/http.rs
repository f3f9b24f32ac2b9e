//! HTTP's `CONNECT`.

use std::net::Ipv6Addr;

use super::{Language, Said, Verdict, Wish};

/// What another method is told.
const OTHER_METHOD: &[u8] =
    b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

const MALFORMED: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

const END: &[u8] = b"\r\n\r\n";

/// Reads a request up to the end of its header.
pub(super) fn wish(bytes: &[u8]) -> Said {
    let Some(end) = bytes.windows(END.len()).position(|it| it == END) else { return Said::More };
    let header = bytes.get(..end).unwrap_or_default();
    let line = header.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let words: Vec<&str> = std::str::from_utf8(line).unwrap_or_default().split(' ').collect();
    let [method, authority, version] = words.as_slice() else { return Said::Wrong(MALFORMED) };
    if !version.starts_with("HTTP/1.") {
        return Said::Wrong(MALFORMED);
    }
    if !method.eq_ignore_ascii_case("CONNECT") {
        return Said::Wrong(OTHER_METHOD);
    }
    match parse(authority) {
        Some(wish) => Said::Wish(end + END.len(), wish),
        None => Said::Wrong(MALFORMED),
    }
}

fn parse(authority: &str) -> Option<Wish> {
    let (host, port) = authority.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().ok()?.to_string(),
        None if host.is_empty() || host.contains(['[', ']', ':']) => return None,
        None => host.to_owned(),
    };
    Some(Wish { host, port, language: Language::Http })
}

pub(super) fn reply(verdict: Verdict) -> &'static [u8] {
    match verdict {
        Verdict::Connected => b"HTTP/1.1 200 Connection established\r\n\r\n",
        Verdict::NotAllowed => {
            b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        }
        Verdict::Unreachable => {
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        }
    }
}
