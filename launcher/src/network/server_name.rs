//! Which server a client asks for in the first bytes of a connection: by the name in a TLS
//! `ClientHello` (RFC 6066, 3), or by the `Host` of an HTTP request.

/// The most bytes that are looked at: more than a `ClientHello` with the longest keys in use.
pub(super) const BYTES_MAX: usize = 16 * 1024;

/// The parts of TLS that are read (RFC 8446, 4 and 5.1).
mod tls {
    pub(super) const HANDSHAKE: u8 = 22;
    /// The first and the last type of a record: some servers pass over alerts before a handshake.
    pub(super) const FIRST: u8 = 20;
    pub(super) const LAST: u8 = 24;
    pub(super) const MAJOR: u8 = 3;
    pub(super) const CLIENT_HELLO: u8 = 1;
    pub(super) const VERSION_AND_RANDOM: usize = 2 + 32;
    pub(super) const SERVER_NAME: u16 = 0;
    pub(super) const HOST_NAME: u8 = 0;
    /// A second `ClientHello`, with another name, that the server alone can read (`encrypted_client_hello`).
    pub(super) const ENCRYPTED_HELLO: u16 = 0xfe0d;
}

/// What the bytes so far say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing yet.
    More,
    /// This server.
    For(String),
    /// It is TLS or HTTP, and names no server, or none that can be read.
    Nobody,
    /// It is something else.
    Other,
}

/// Reads the first bytes of a connection.
pub(super) fn asked(bytes: &[u8]) -> Asked {
    // Servers pass over empty lines before a request (RFC 9112, 2.2).
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
    let first = start.and_then(|start| bytes.get(start..)).unwrap_or_default();
    let asked = match first {
        [tls::HANDSHAKE, ..] => of_tls(first),
        [] | [tls::FIRST..=tls::LAST] => Asked::More,
        [tls::FIRST..=tls::LAST, tls::MAJOR, ..] => Asked::Nobody,
        [letter, ..] if is_of_token(*letter) => of_http(first),
        _ => Asked::Other,
    };
    match asked {
        Asked::More if bytes.len() >= BYTES_MAX => Asked::Nobody,
        asked => asked,
    }
}

fn of_tls(bytes: &[u8]) -> Asked {
    let Some(message) = handshake(bytes) else { return Asked::More };
    let Some((&kind, rest)) = message.split_first() else { return Asked::More };
    if kind != tls::CLIENT_HELLO {
        return Asked::Nobody;
    }
    let Some((length, rest)) = rest.split_at_checked(3) else { return Asked::More };
    let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    match rest.get(..length) {
        None if length > BYTES_MAX => Asked::Nobody,
        None => Asked::More,
        Some(hello) => name_in(hello).map_or(Asked::Nobody, Asked::For),
    }
}

/// Joins what the records have of the handshake; `None` when that is nothing.
fn handshake(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    while let [tls::HANDSHAKE, _, _, high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let part = rest.get(..length.min(rest.len())).unwrap_or_default();
        message.extend_from_slice(part);
        bytes = rest.get(length..).unwrap_or_default();
    }
    (!message.is_empty()).then_some(message)
}

/// Finds the name among the extensions of a `ClientHello`.
fn name_in(hello: &[u8]) -> Option<String> {
    let mut rest = hello.get(tls::VERSION_AND_RANDOM..)?;
    vector::<1>(&mut rest)?;
    vector::<2>(&mut rest)?;
    vector::<1>(&mut rest)?;
    let mut extensions = vector::<2>(&mut rest)?;
    let mut name = None;
    while let Some((kind, after)) = extensions.split_first_chunk::<2>() {
        extensions = after;
        let extension = vector::<2>(&mut extensions)?;
        match u16::from_be_bytes(*kind) {
            // Two of them, or one that is hidden: which one the server takes nobody knows.
            tls::SERVER_NAME if name.is_some() => return None,
            tls::SERVER_NAME => name = Some(only_name(extension)?),
            tls::ENCRYPTED_HELLO => return None,
            _ => (),
        }
    }
    name
}

fn only_name(mut extension: &[u8]) -> Option<String> {
    let mut names = vector::<2>(&mut extension)?;
    let (&kind, after) = names.split_first()?;
    names = after;
    let name = vector::<2>(&mut names)?;
    // More than one name: which one the server takes nobody knows.
    let only = kind == tls::HOST_NAME && names.is_empty();
    only.then(|| text(name)).flatten()
}

/// Takes a vector with a length of `N` bytes before it.
fn vector<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<N>()?;
    let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let (vector, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(vector)
}

/// What a method is made of (RFC 9110, 5.6.2).
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn of_http(bytes: &[u8]) -> Asked {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let Some(request) = lines.next() else { return Asked::More };
    if !request.ends_with(b"\n") {
        let printable = request.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r' | b'\t'));
        return if printable { Asked::More } else { Asked::Other };
    }
    match request_target(request) {
        Some(Target::Of(server)) => of_headers(lines, server),
        Some(Target::Unclear) => Asked::Nobody,
        None => Asked::Other,
    }
}

/// What the first line of a request says of the server.
enum Target {
    /// A path, or a URL of this server, which counts more than `Host` (RFC 9112, 3.2.2).
    Of(Option<String>),
    /// A line that servers read differently, or of a version that is not read here.
    Unclear,
}

/// Reads the first line; `None` where it is none of HTTP.
fn request_target(line: &[u8]) -> Option<Target> {
    let words: Vec<&[u8]> = line.trim_ascii_end().split(|byte| *byte == b' ').collect();
    match words[..] {
        [_, target, version] if version.starts_with(b"HTTP/1.") => Some(server_of(target)),
        // Without a version it is one of HTTP/0.9, which can have a whole URL too.
        [b"GET", ..] => Some(Target::Unclear),
        _ => line.windows(5).any(|it| it == b"HTTP/").then_some(Target::Unclear),
    }
}

fn server_of(target: &[u8]) -> Target {
    if target == b"*" || target.starts_with(b"/") {
        return Target::Of(None);
    }
    let after = target.windows(3).position(|it| it == b"://").map_or(0, |at| at + 3);
    let rest = target.get(after..).unwrap_or_default();
    let end = rest.iter().position(|byte| b"/?#\\".contains(byte)).unwrap_or(rest.len());
    let server = rest.get(..end).unwrap_or_default();
    let name = if server.contains(&b'@') { None } else { text(without_port(server)) };
    name.map_or(Target::Unclear, |name| Target::Of(Some(name)))
}

/// Reads the headers up to the empty line; a server that the first line names must be the same.
fn of_headers<'a>(lines: impl Iterator<Item = &'a [u8]>, server: Option<String>) -> Asked {
    let mut found = None;
    for line in lines {
        if !line.ends_with(b"\n") {
            return Asked::More;
        }
        if line.trim_ascii().is_empty() {
            let is_one = server.is_none() || server == found;
            return found.filter(|_| is_one).map_or(Asked::Nobody, Asked::For);
        }
        let Some((key, value)) = split(line) else { return Asked::Nobody };
        if !key.iter().all(|byte| is_of_token(*byte)) {
            return Asked::Nobody;
        }
        if key.eq_ignore_ascii_case(b"host") {
            let host = text(without_port(value.trim_ascii()));
            // Two of them: which one the server takes nobody knows.
            let (None, Some(host)) = (&found, host) else { return Asked::Nobody };
            found = Some(host);
        }
    }
    Asked::More
}

fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b':')?;
    Some((line.get(..at)?, line.get(at + 1..)?))
}

fn without_port(host: &[u8]) -> &[u8] {
    let bracket = host.iter().position(|byte| *byte == b']').unwrap_or_default();
    let colon = host.iter().skip(bracket).position(|byte| *byte == b':');
    colon.and_then(|at| host.get(..bracket + at)).unwrap_or(host)
}

fn text(name: &[u8]) -> Option<String> {
    let printable = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    let text = printable.then(|| std::str::from_utf8(name).ok()).flatten()?;
    Some(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_length<const N: usize>(bytes: &[u8]) -> Vec<u8> {
        let length = bytes.len().to_be_bytes();
        [&length[length.len() - N..], bytes].concat()
    }

    /// A `ClientHello` with these extensions, in records of `size` bytes.
    fn hello(extensions: &[(u16, Vec<u8>)], size: usize) -> Vec<u8> {
        let extension = |(kind, data): &(u16, Vec<u8>)| {
            [&kind.to_be_bytes()[..], &with_length::<2>(data)].concat()
        };
        let extensions: Vec<u8> = extensions.iter().flat_map(extension).collect();
        let mut body = vec![3; tls::VERSION_AND_RANDOM];
        body.extend(with_length::<1>(&[9; 32]));
        body.extend(with_length::<2>(&[0x13, 0x01]));
        body.extend(with_length::<1>(&[0]));
        body.extend(with_length::<2>(&extensions));
        let message = [&[tls::CLIENT_HELLO][..], &with_length::<3>(&body)].concat();
        let record = |part: &[u8]| [&[tls::HANDSHAKE, 3, 1][..], &with_length::<2>(part)].concat();
        message.chunks(size).flat_map(record).collect()
    }

    fn server_name(name: &str) -> (u16, Vec<u8>) {
        let entry = [&[tls::HOST_NAME][..], &with_length::<2>(name.as_bytes())].concat();
        (tls::SERVER_NAME, with_length::<2>(&entry))
    }

    #[test]
    fn the_name_of_a_client_hello_whole_and_in_pieces() {
        let extensions = [(43, vec![2, 3, 4]), server_name("Web.Example.test"), (0xff01, vec![0])];
        for size in [1, 7, 100, 16_000] {
            let bytes = hello(&extensions, size);
            let expected = Asked::For("web.example.test".to_owned());
            assert_eq!(asked(&bytes), expected, "{size}");
            for length in 0..bytes.len() {
                assert_eq!(asked(&bytes[..length]), Asked::More, "{length} of {size}");
            }
        }
    }

    #[test]
    fn a_client_hello_that_names_nobody() {
        let two = [server_name("a.example").1, b"\0\0\x01b".to_vec()].concat();
        let mut two_names = two;
        two_names[1] += 4;
        for extensions in [vec![], vec![(43, vec![1])], vec![(tls::SERVER_NAME, two_names)]] {
            assert_eq!(asked(&hello(&extensions, 1000)), Asked::Nobody, "{extensions:?}");
        }
        let outer = server_name("a.example");
        let inner = (tls::ENCRYPTED_HELLO, vec![0; 40]);
        for extensions in [[outer.clone(), inner.clone()], [inner, outer]] {
            assert_eq!(asked(&hello(&extensions, 1000)), Asked::Nobody, "{extensions:?}");
        }
        assert_eq!(asked(&[tls::HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0]), Asked::Nobody);
        let alert = [21, 3, 1, 0, 2, 1, 90];
        let hidden = [&alert[..], &hello(&[server_name("a.example")], 1000)].concat();
        assert_eq!(asked(&hidden), Asked::Nobody);
        assert_eq!(asked(&alert[..1]), Asked::More);
        let endless = [tls::HANDSHAKE, 3, 1, 0, 0].repeat(BYTES_MAX / 5 + 1);
        assert_eq!(asked(&endless), Asked::Nobody);
    }

    #[test]
    fn the_host_of_a_request() {
        let hosts = [
            ("GET / HTTP/1.1\r\nHost: A.example\r\n\r\n", Asked::For("a.example".to_owned())),
            ("GET / HTTP/1.1\nhost:a.example:8080\n\n", Asked::For("a.example".to_owned())),
            ("\r\n\nGET / HTTP/1.1\r\nHost: b.example\r\n\r\n", Asked::For("b.example".to_owned())),
            ("POST /x HTTP/1.0\r\nX: y\r\nHost: [::1]:80\r\n\r\n", Asked::For("[::1]".to_owned())),
            ("GET / HTTP/1.1\r\nX: y\r\n\r\n", Asked::Nobody),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Asked::Nobody),
            ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", Asked::Nobody),
            ("GET / HTTP/1.1\r\nno header\r\n\r\n", Asked::Nobody),
            ("PRI * HTTP/2.0\r\n", Asked::Nobody),
            ("get / HTTP/1.1\r\nHost: a\r\n\r\n", Asked::For("a".to_owned())),
            ("_X / HTTP/1.1\r\nHost: a\r\n\r\n", Asked::For("a".to_owned())),
            ("GET http://a:80/x HTTP/1.1\r\nHost: A\r\n\r\n", Asked::For("a".to_owned())),
            ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", Asked::Nobody),
            ("GET http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n", Asked::Nobody),
            ("GET http://b\\/ HTTP/1.1\r\nHost: b\\\r\n\r\n", Asked::Nobody),
            ("CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n", Asked::Nobody),
            ("GET / HTTP/1.1\r\nHost : b\r\nHost: a\r\n\r\n", Asked::Nobody),
            ("GET / HTTP/1.1\r\nX: y\r\n Host: b\r\nHost: a\r\n\r\n", Asked::Nobody),
            ("GET /\tHTTP/1.1\r\nHost: b\r\n\r\n", Asked::Nobody),
            ("GET  / HTTP/1.1\r\nHost: b\r\n\r\n", Asked::Nobody),
            ("GET http://b/\r\n", Asked::Nobody),
            ("EHLO client.example\r\n", Asked::Other),
        ];
        for (text, expected) in hosts {
            assert_eq!(asked(text.as_bytes()), expected, "{text:?}");
        }
        for more in ["G", "GET / HTT", "GET / HTTP/1.1\r\nHost: a.exam", ""] {
            assert_eq!(asked(more.as_bytes()), Asked::More, "{more:?}");
        }
        let long = format!("GET /{} HTTP/1.1", "a".repeat(BYTES_MAX));
        assert_eq!(asked(long.as_bytes()), Asked::Nobody);
        assert_eq!(asked("\r\n".as_bytes()), Asked::More);
        assert_eq!(asked(&[b'\n'; BYTES_MAX]), Asked::Nobody);
    }

    #[test]
    fn what_is_neither_is_not_waited_for() {
        for bytes in
            [&b"SSH-2.0-client\r\n"[..], b"\x00\x01", b"get key\r\n", b"\x15\x02", b"PRI\x01"]
        {
            assert_eq!(asked(bytes), Asked::Other, "{bytes:?}");
        }
    }
}
