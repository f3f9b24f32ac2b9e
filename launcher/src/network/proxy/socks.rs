//! SOCKS 5, without authentication.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Language, Said, Verdict, Wish};

pub(super) const VERSION: u8 = 5;

/// Words of the protocol (RFC 1928, 3 to 6).
const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;
const ADDRESS_4: u8 = 1;
const NAME: u8 = 3;
const ADDRESS_6: u8 = 4;

/// Refuses a command that is no `CONNECT`, and an address of another kind.
const OTHER_COMMAND: &[u8] = &[VERSION, 7, 0, ADDRESS_4, 0, 0, 0, 0, 0, 0];
const OTHER_ADDRESS: &[u8] = &[VERSION, 8, 0, ADDRESS_4, 0, 0, 0, 0, 0, 0];

/// Reads which ways of authentication a client offers.
pub(super) fn greeting(bytes: &[u8]) -> Said {
    let [_, count, rest @ ..] = bytes else { return Said::More };
    let Some(methods) = rest.get(..usize::from(*count)) else { return Said::More };
    if methods.contains(&NO_AUTHENTICATION) {
        Said::Greeting(2 + methods.len(), &[VERSION, NO_AUTHENTICATION])
    } else {
        Said::Wrong(&[VERSION, 0xff])
    }
}

/// Reads a request.
pub(super) fn wish(bytes: &[u8]) -> Said {
    let [_, command, _, kind, rest @ ..] = bytes else { return Said::More };
    if *command != CONNECT {
        return Said::Wrong(OTHER_COMMAND);
    }
    let (host, rest) = match (*kind, rest) {
        (ADDRESS_4, rest) => match rest.split_first_chunk::<4>() {
            Some((address, rest)) => (Ipv4Addr::from(*address).to_string(), rest),
            None => return Said::More,
        },
        (ADDRESS_6, rest) => match rest.split_first_chunk::<16>() {
            Some((address, rest)) => (Ipv6Addr::from(*address).to_string(), rest),
            None => return Said::More,
        },
        (NAME, []) => return Said::More,
        (NAME, [length, rest @ ..]) => match rest.split_at_checked((*length).into()) {
            Some((name, rest)) if name.is_ascii() => {
                (String::from_utf8_lossy(name).into_owned(), rest)
            }
            Some(_) => return Said::Wrong(OTHER_ADDRESS),
            None => return Said::More,
        },
        _ => return Said::Wrong(OTHER_ADDRESS),
    };
    let Some((port, left)) = rest.split_first_chunk::<2>() else { return Said::More };
    let port = u16::from_be_bytes(*port);
    Said::Wish(bytes.len() - left.len(), Wish { host, port, language: Language::Socks })
}

pub(super) fn reply(verdict: Verdict) -> &'static [u8] {
    match verdict {
        Verdict::Connected => &[VERSION, 0, 0, ADDRESS_4, 0, 0, 0, 0, 0, 0],
        Verdict::NotAllowed => &[VERSION, 2, 0, ADDRESS_4, 0, 0, 0, 0, 0, 0],
        Verdict::Unreachable => &[VERSION, 4, 0, ADDRESS_4, 0, 0, 0, 0, 0, 0],
    }
}
