//! Where a process inside is about to connect to: read from its memory, which it may change at any
//! time. Nothing is allowed by it.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileExt;

use super::renames::of_process;
use crate::sys::announced::Announced;

/// The bytes of the addresses that are read: a `sockaddr_in6`.
const ADDRESS_BYTES: usize = 28;

/// Returns the address of the internet in a `connect`.
pub(super) fn address(call: &Announced) -> Option<SocketAddr> {
    let [_, place, ..] = call.arguments;
    let mut bytes = [0; ADDRESS_BYTES];
    let length = of_process(call.pid, "mem")?.read_at(&mut bytes, place).ok()?;
    parse(bytes.get(..length)?)
}

/// Reads `sockaddr_in` and `sockaddr_in6` (ip(7), ipv6(7)).
fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let address: IpAddr = match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => (*rest.first_chunk::<4>()?).into(),
        libc::AF_INET6 => (*rest.get(4..)?.first_chunk::<16>()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(address.to_canonical(), u16::from_be_bytes(*port)))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn both_families_and_nothing_else() {
        let head = |family: i32| u16::try_from(family).unwrap().to_ne_bytes();
        let fourth = [&head(libc::AF_INET)[..], &[1, 187, 10, 0, 0, 1], &[0; 8]].concat();
        assert_eq!(parse(&fourth), Some("10.0.0.1:443".parse().unwrap()));
        let address = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
        let sixth = [&head(libc::AF_INET6)[..], &[0, 80], &[0; 4], &address].concat();
        assert_eq!(parse(&sixth), Some("[fd00::9]:80".parse().unwrap()));
        assert_eq!(parse(&[&head(libc::AF_UNIX)[..], b"/tmp/socket"].concat()), None);
        assert_eq!(parse(sixth.get(..20).unwrap()), None);
    }
}
