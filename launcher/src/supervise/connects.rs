//! Where a process inside is about to connect to: read from its memory, which it may change at any
//! time. Nothing is allowed by it.

use std::ffi::OsStr;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::sys::announced::Announced;
use crate::sys::memory;

/// The bytes of the longest address that is read: a `sockaddr_un`.
const ADDRESS_BYTES: usize = 110;

/// Where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// An address of the internet.
    Internet(SocketAddr),
    /// A socket with a path.
    Unix(PathBuf),
    /// One with an abstract name.
    Abstract(Vec<u8>),
}

/// Returns the address in a `connect`.
pub(super) fn peer(call: &Announced) -> Option<Peer> {
    let [_, place, length, ..] = call.arguments;
    let mut bytes = [0; ADDRESS_BYTES];
    let length = usize::try_from(length & u64::from(u32::MAX)).ok()?.min(ADDRESS_BYTES);
    let read = memory::read(call.pid, place, bytes.get_mut(..length)?).ok()?;
    parse(bytes.get(..read)?)
}

/// Reads `sockaddr_in`, `sockaddr_in6` and `sockaddr_un` (ip(7), ipv6(7), unix(7)).
fn parse(bytes: &[u8]) -> Option<Peer> {
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    let family = i32::from(u16::from_ne_bytes(*family));
    if family == libc::AF_UNIX {
        if let Some(name) = rest.strip_prefix(b"\0") {
            return Some(Peer::Abstract(name.to_vec())).filter(|_| !name.is_empty());
        }
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let path = rest.get(..end).filter(|path| !path.is_empty())?;
        return Some(Peer::Unix(OsStr::from_bytes(path).into()));
    }
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let address: IpAddr = match family {
        libc::AF_INET => (*rest.first_chunk::<4>()?).into(),
        libc::AF_INET6 => (*rest.get(4..)?.first_chunk::<16>()?).into(),
        _ => return None,
    };
    Some(Peer::Internet(SocketAddr::new(address.to_canonical(), u16::from_be_bytes(*port))))
}

#[cfg(test)]
mod tests {
    use super::{Peer, parse};

    #[test]
    fn three_families_and_nothing_else() {
        let head = |family: i32| u16::try_from(family).unwrap().to_ne_bytes();
        let fourth = [&head(libc::AF_INET)[..], &[1, 187, 10, 0, 0, 1], &[0; 8]].concat();
        let internet = |text: &str| Some(Peer::Internet(text.parse().unwrap()));
        assert_eq!(parse(&fourth), internet("10.0.0.1:443"));
        let address = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
        let sixth = [&head(libc::AF_INET6)[..], &[0, 80], &[0; 4], &address].concat();
        assert_eq!(parse(&sixth), internet("[fd00::9]:80"));
        let unix = |name: &[u8]| parse(&[&head(libc::AF_UNIX)[..], name].concat());
        assert_eq!(unix(b"/tmp/socket"), Some(Peer::Unix("/tmp/socket".into())));
        assert_eq!(unix(b"/tmp/socket\0rest"), Some(Peer::Unix("/tmp/socket".into())));
        assert_eq!(unix(b"\0a\0b"), Some(Peer::Abstract(b"a\0b".to_vec())));
        assert_eq!((unix(b"\0"), unix(b"")), (None, None));
        assert_eq!(parse(&head(libc::AF_UNSPEC)), None);
        assert_eq!(parse(sixth.get(..20).unwrap()), None);
    }
}
