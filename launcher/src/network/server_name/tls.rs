//! The name in the first message of TLS, in each of the forms that servers take.

use super::{Asked, BYTES_MAX};

/// The parts of TLS that are read (RFC 8446, 4 and 5.1).
const HANDSHAKE: u8 = 22;
const ALERT: u8 = 21;
/// The first and the last type of a record: some servers pass over alerts before a handshake.
const FIRST: u8 = 20;
const LAST: u8 = 24;
const MAJOR: u8 = 3;
pub(super) const CLIENT_HELLO: u8 = 1;
pub(super) const VERSION_AND_RANDOM: usize = 2 + 32;
pub(super) const SERVER_NAME: u16 = 0;
pub(super) const HOST_NAME: u8 = 0;
/// A second `ClientHello`, with another name, that the server alone can read (`encrypted_client_hello`).
pub(super) const ENCRYPTED_HELLO: u16 = 0xfe0d;

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
        Some(hello) => name_in(hello).map_or(Asked::Nobody, Asked::For),
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
