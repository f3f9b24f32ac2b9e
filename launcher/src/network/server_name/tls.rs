//! The name in the first message of TLS, in each of the forms that servers take.

use super::{Again, Answer, Asked, BYTES_MAX};

/// The parts of TLS that are read (RFC 8446, 4 and 5.1).
const CHANGE_CIPHER: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// The first and the last type of a record: some servers pass over alerts before a handshake.
const FIRST: u8 = 20;
const LAST: u8 = 24;
const MAJOR: u8 = 3;
pub(super) const CLIENT_HELLO: u8 = 1;
pub(super) const SERVER_HELLO: u8 = 2;
pub(super) const VERSION_AND_RANDOM: usize = 2 + 32;
pub(super) const SERVER_NAME: u16 = 0;
pub(super) const HOST_NAME: u8 = 0;
/// A second `ClientHello`, with another name, that the server alone can read (`encrypted_client_hello`).
pub(super) const ENCRYPTED_HELLO: u16 = 0xfe0d;

/// What stands before the content of a record, and how long one with an alert is.
const HEAD: usize = 5;
const ALERT_BYTES: usize = HEAD + 2;

/// Where the random bytes stand in a `ServerHello`, and those of one that asks for another `ClientHello`
/// (RFC 8446, 4.1.3).
const RANDOM: std::ops::Range<usize> = 6..6 + 32;
pub(super) const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// What stands before the lists of an old `ClientHello`: its type, the version, three lengths.
const OLD_HEAD: usize = 1 + 2 + 3 * 2;
/// The most bytes of one that a server has room for.
const OLD_MAX: usize = 0x4200;
/// The most bytes at the start that tell these forms from something else.
pub(super) const TOLD_MAX: usize = 3 + OLD_HEAD;

/// Reads the first bytes of a connection; `None` where they are none of TLS.
pub(super) fn asked(bytes: &[u8]) -> Option<Asked> {
    match bytes {
        [HANDSHAKE, ..] => Some(of_handshake(bytes)),
        [] | [FIRST..=LAST] => Some(Asked::More),
        [FIRST..=LAST, MAJOR, ..] => Some(Asked::Nobody),
        // Whatever the version of an alert, servers that read it as a warning go on after it.
        [ALERT, rest @ ..] => of_alert(rest).or_else(|| of_old_hello(bytes)),
        _ => of_old_hello(bytes),
    }
}

/// Reads what follows the type of an alert: the version, its length, the level and the description.
fn of_alert(bytes: &[u8]) -> Option<Asked> {
    match bytes {
        [_, _, 0, 2, 1 | 2, ..] => Some(Asked::Nobody),
        [_, _, 0, 2] | [_, _, 0] | [_, _] | [_] => Some(Asked::Unlikely),
        _ => None,
    }
}

/// Reads a `ClientHello` as SSL 2 had it (RFC 5246, E.2), which names nobody. Other protocols may
/// begin like one, but not with lengths that fit.
fn of_old_hello(bytes: &[u8]) -> Option<Asked> {
    let (length, body) = match bytes {
        [high @ 0x80..=0xff, low, body @ ..] => (sum(&[high & 0x7f, *low]), body),
        [high @ 0..0x40, low, padding, body @ ..] => {
            (sum(&[*high, *low]).checked_sub(usize::from(*padding))?, body)
        }
        [0x80..=0xff | 0..0x40] | [0..0x40, _] => return Some(Asked::Unlikely),
        _ => return None,
    };
    let is_begun = body.first().is_none_or(|kind| *kind == CLIENT_HELLO);
    if !is_begun || !(OLD_HEAD..=OLD_MAX).contains(&length) {
        return None;
    }
    let lengths = body.get(3..OLD_HEAD);
    let Some([c1, c2, s1, s2, r1, r2]) = lengths else { return Some(Asked::Unlikely) };
    let ciphers = sum(&[*c1, *c2]);
    let lists = [ciphers, sum(&[*s1, *s2]), sum(&[*r1, *r2])];
    let fits = OLD_HEAD + lists.iter().sum::<usize>() == length && ciphers.is_multiple_of(3);
    fits.then_some(Asked::Nobody)
}

fn of_handshake(bytes: &[u8]) -> Asked {
    let Some(message) = handshake(bytes) else { return Asked::More };
    let Some((&kind, rest)) = message.split_first() else { return Asked::More };
    if kind != CLIENT_HELLO {
        return Asked::Nobody;
    }
    let Some((length, rest)) = rest.split_at_checked(3) else { return Asked::More };
    let length = sum(length);
    match rest.get(..length) {
        None if length > BYTES_MAX => Asked::Nobody,
        None => Asked::More,
        // The record has more than this one: what a server makes of that nobody knows.
        Some(_) if hello_length(bytes).is_none() => Asked::Nobody,
        Some(hello) => name_in(hello).map_or(Asked::Nobody, Asked::For),
    }
}

/// Returns how long the records of a whole `ClientHello` are that have nothing else.
pub(in crate::network) fn hello_length(bytes: &[u8]) -> Option<usize> {
    let message = handshake(bytes)?;
    let [CLIENT_HELLO, l1, l2, l3, ..] = message[..] else { return None };
    let (mut left, mut rest) = (4 + sum(&[l1, l2, l3]), bytes);
    while left > 0 {
        let [HANDSHAKE, _, _, high, low, after @ ..] = rest else { return None };
        let length = sum(&[*high, *low]);
        left = left.checked_sub(length)?;
        rest = after.get(length..)?;
    }
    Some(bytes.len() - rest.len())
}

/// Reads what a server says to a `ClientHello`.
pub(in crate::network) fn answer(mut bytes: &[u8]) -> Answer {
    // A server may warn that it does not know the name, and go on.
    while let [ALERT, MAJOR, _, 0, 2, 1, _, rest @ ..] = bytes {
        bytes = rest;
    }
    let message = match bytes {
        [HANDSHAKE, ..] => handshake(bytes).unwrap_or_default(),
        [] | [ALERT, ..] if bytes.len() < ALERT_BYTES => return Answer::More,
        _ => return Answer::Other,
    };
    let random = message.get(RANDOM);
    match message.first() {
        None | Some(&SERVER_HELLO) if random.is_none() => Answer::More,
        Some(&SERVER_HELLO) if random == Some(&RETRY[..]) => Answer::Retry,
        _ => Answer::Other,
    }
}

/// Reads what a client says after a server has asked for another `ClientHello`.
pub(in crate::network) fn again(bytes: &[u8]) -> Again {
    match bytes {
        [CHANGE_CIPHER | ALERT | DATA, _, _, high, low, ..] => {
            Again::Record(HEAD + sum(&[*high, *low]))
        }
        [] | [CHANGE_CIPHER | ALERT | DATA, ..] => Again::More,
        _ => Again::Hello,
    }
}

/// Joins what the records have of the handshake; `None` when that is nothing.
fn handshake(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    while let [HANDSHAKE, _, _, high, low, rest @ ..] = bytes {
        let length = sum(&[*high, *low]);
        let part = rest.get(..length.min(rest.len())).unwrap_or_default();
        message.extend_from_slice(part);
        bytes = rest.get(length..).unwrap_or_default();
    }
    (!message.is_empty()).then_some(message)
}

/// Finds the name among the extensions of a `ClientHello`.
fn name_in(hello: &[u8]) -> Option<String> {
    let mut rest = hello.get(VERSION_AND_RANDOM..)?;
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
            SERVER_NAME if name.is_some() => return None,
            SERVER_NAME => name = Some(only_name(extension)?),
            ENCRYPTED_HELLO => return None,
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
    let only = kind == HOST_NAME && names.is_empty();
    only.then(|| super::http::text(name)).flatten()
}

/// Takes a vector with a length of `N` bytes before it.
fn vector<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<N>()?;
    let (vector, rest) = rest.split_at_checked(sum(length))?;
    *bytes = rest;
    Some(vector)
}

/// Reads a number, its highest byte first.
fn sum(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}
