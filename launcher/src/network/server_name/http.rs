//! The server in the first line of an HTTP request, and in its headers.

use super::Asked;
use super::headers::of_headers;

/// Methods that may stand before a target and nothing else, as HTTP/0.9 has it, with some servers.
const METHODS: [&[u8]; 8] =
    [b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE", b"CONNECT"];

/// Reads the first bytes of a connection.
pub(super) fn asked(bytes: &[u8]) -> Asked {
    let (lead, rest) = bytes.split_at(bytes.iter().take_while(|byte| may_lead(**byte)).count());
    // Servers pass over empty lines before a request (RFC 9112, 2.2); some over much more.
    let is_plain = lead.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
    if rest.is_empty() {
        return if is_plain { Asked::More } else { Asked::Unlikely };
    }
    let mut lines = rest.split_inclusive(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    let Some(line) = line.strip_suffix(b"\n") else { return of_part(line, is_plain) };
    match first_line(line) {
        First::Request(_) if !is_plain => Asked::Nobody,
        First::Request(server) => of_headers(lines, line.ends_with(b"\r"), server),
        First::Unclear => Asked::Nobody,
        First::Alike => without_host(lines),
        // A proxy's preface (version 2 of the PROXY protocol), after which anything may come.
        First::Other if !is_plain && line == b"QUIT" => Asked::Nobody,
        First::Other => Asked::Other,
    }
}

/// Whether all of it may stand before a request.
pub(super) fn is_lead(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| may_lead(*byte))
}

/// Blanks and control bytes, of ASCII and of Latin 1.
fn may_lead(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | 0x7f..=0xa0)
}

/// What some servers take for a blank between words.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x0b..=b'\r' | 0x1c..=b' ' | 0x85 | 0xa0)
}

/// Reads a first line that has not ended yet. Of one that is likely none of HTTP nobody waits for
/// the end: other protocols may have none.
fn of_part(line: &[u8], is_plain: bool) -> Asked {
    let word = line.iter().take_while(|byte| is_of_token(**byte)).count();
    let after = line.get(word);
    let is_ascii = line.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\t'));
    let is_text = line.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\t' | 0x80..));
    let has_method = word > 0 && matches!(after, Some(b' ' | b'\t'));
    match after {
        _ if word == 0 => Asked::Other,
        _ if is_plain && (is_ascii || has_method && is_text) => Asked::More,
        Some(byte) if !is_blank(*byte) => Asked::Other,
        _ => Asked::Unlikely,
    }
}

/// What a first line is.
enum First {
    /// That of a request, for a path or for a URL of this server, which counts more than `Host`
    /// (RFC 9112, 3.2.2).
    Request(Option<String>),
    /// A line that servers read differently, or of a version that is not read here.
    Unclear,
    /// That of a protocol so much like HTTP that a server may take it for that.
    Alike,
    /// None of HTTP.
    Other,
}

fn first_line(line: &[u8]) -> First {
    let text = line.strip_suffix(b"\r").unwrap_or(line);
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    if let [method, target, b"HTTP/1.0" | b"HTTP/1.1"] = words[..] {
        let is_clear = method.iter().all(|byte| is_of_token(*byte))
            && !target.iter().any(u8::is_ascii_control);
        return if is_clear { request_for(target) } else { First::Unclear };
    }
    let mut words = text.split(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
    let words = [words.next(), words.next(), words.next()];
    match words {
        _ if text.windows(5).any(|it| it == b"HTTP/") || has_word(text, b"HTTP/") => First::Unclear,
        // Without a version it is one of HTTP/0.9, which can have a whole URL too. A proxy may say
        // in a line of its own for whom it asks (version 1 of the PROXY protocol).
        [Some(b"GET" | b"PROXY"), ..] => First::Unclear,
        [Some(method), Some(target), None] if METHODS.contains(&method) && is_target(target) => {
            First::Unclear
        }
        _ if has_word(text, b"RTSP/") || has_word(text, b"ICE/") => First::Alike,
        _ => First::Other,
    }
}

/// Whether a word begins so; `service/1` is none of `ICE/`.
fn has_word(text: &[u8], begin: &[u8]) -> bool {
    let words = text.split(|byte| is_blank(*byte));
    let mut beginnings = words.filter_map(|word| word.get(..begin.len()));
    beginnings.any(|it| it.eq_ignore_ascii_case(begin))
}

fn is_target(word: &[u8]) -> bool {
    word.starts_with(b"/") || word.windows(3).any(|it| it == b"://")
}

/// Reads headers up to the empty line: with `Host` it may be a request after all.
fn without_host<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Asked {
    for line in lines {
        match line {
            b"\n" | b"\r\n" => return Asked::Other,
            _ if !line.ends_with(b"\n") => return Asked::More,
            _ if names_host(line) => return Asked::Nobody,
            _ => {}
        }
    }
    Asked::More
}

/// Whether any part of it that a server may take for a line is the header `Host`.
fn names_host(line: &[u8]) -> bool {
    line.split(u8::is_ascii_control).any(|line| {
        let key = line.split(|byte| *byte == b':').next().unwrap_or_default();
        key.trim_ascii().eq_ignore_ascii_case(b"host")
    })
}

/// Reads the target of a request, which is a path or names a server.
fn request_for(target: &[u8]) -> First {
    if target == b"*" || target.starts_with(b"/") {
        return First::Request(None);
    }
    let colon = target.windows(3).position(|it| it == b"://");
    let (scheme, rest) = target.split_at(colon.unwrap_or_default());
    let rest = rest.strip_prefix(b"://").unwrap_or(rest);
    let end = rest.iter().position(|byte| b"/?#\\".contains(byte)).unwrap_or(rest.len());
    match host(rest.get(..end).unwrap_or_default()) {
        Some(name) if scheme.iter().all(u8::is_ascii_alphabetic) => First::Request(Some(name)),
        _ => First::Unclear,
    }
}

/// What a method is made of (RFC 9110, 5.6.2).
pub(super) fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether there is a byte at which a server may end a line or a word.
pub(super) fn has_control(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t')
}

/// Reads a host that may have a port after it.
pub(super) fn host(bytes: &[u8]) -> Option<String> {
    let bracket = bytes.iter().position(|byte| *byte == b']').unwrap_or_default();
    let colon = bytes.iter().skip(bracket).position(|byte| *byte == b':');
    let (host, port) = bytes.split_at(colon.map_or(bytes.len(), |at| bracket + at));
    let is_port = port.iter().skip(1).all(u8::is_ascii_digit);
    text(host).filter(|host| is_port && !host.contains('@'))
}

/// Reads a name.
pub(super) fn text(name: &[u8]) -> Option<String> {
    let printable = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    let text = printable.then(|| std::str::from_utf8(name).ok()).flatten()?;
    Some(text.to_ascii_lowercase())
}
