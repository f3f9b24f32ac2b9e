//! Names that no server is asked for: those of this machine, and numbers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What this machine is to itself.
pub(super) const LOOPBACK: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Tells whether a name is not for others.
pub(super) fn stays(name: &str) -> bool {
    is_number(name) || is_this_machine(name)
}

/// Tells whether a name is `localhost` or below it (RFC 6761, 6.3).
pub(super) fn is_this_machine(name: &str) -> bool {
    last_label(name) == "localhost"
}

/// Tells whether a name ends as addresses do, in any of the ways in which programs read them. No
/// name of the world does.
pub(super) fn is_number(name: &str) -> bool {
    let last = last_label(name);
    let is_hexadecimal = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(is_hexadecimal)
}

fn last_label(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_no_names() {
        for name in ["127.0.0.1", "2130706433", "0x7f000001", "127.1", "a.0x", "a.example.0x1"] {
            assert!(is_number(name) && stays(name), "{name}");
        }
    }

    #[test]
    fn names_of_this_machine_stay() {
        for name in ["localhost", "a.localhost"] {
            assert!(is_this_machine(name) && stays(name), "{name}");
        }
        for name in ["localhost.example.com", "notlocalhost", "1.example.com", "0xg", "x0", "a1"] {
            assert!(!stays(name), "{name}");
        }
    }
}
