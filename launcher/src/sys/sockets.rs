//! The sockets of a network namespace, as the kernel lists them below `net` of one of its processes
//! (proc_pid_net(5)).

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The state of a listening socket in `tcp` and `tcp6`.
const LISTENS: &str = "0A";
/// The most bytes of a list that are read: tens of thousands of sockets.
const LIST_MAX: u64 = 8 << 20;
/// What stands before the name in a line of `unix`: address, references, protocol, flags, type, state,
/// inode.
const FIELDS: usize = 7;

/// Returns whether something has a port of TCP or UDP, at whatever address; `None` when that can't be
/// told.
pub(crate) fn has_port(net: &Path, port: u16) -> Option<bool> {
    let end = format!(":{port:04X}");
    let has = |list: &str| {
        Some(
            rows(&read(&net.join(list))?)
                .any(|row| row.get(1).is_some_and(|it| it.ends_with(&end))),
        )
    };
    // A kernel without IPv6 has no list of it.
    let [tcp6, udp6] = ["tcp6", "udp6"].map(|list| has(list).unwrap_or(false));
    Some(has("tcp")? || has("udp")? || tcp6 || udp6)
}

/// Returns whether something listens where a TCP connection to an address would arrive; `None` when
/// that can't be told.
pub(crate) fn listens(net: &Path, to: SocketAddr) -> Option<bool> {
    let places = places(to);
    let has = |list: &str| {
        let is_it = |row: Vec<&str>| {
            row.get(3) == Some(&LISTENS)
                && row.get(1).is_some_and(|it| places.iter().any(|place| place == it))
        };
        Some(rows(&read(&net.join(list))?).any(is_it))
    };
    Some(has("tcp")? || has("tcp6").unwrap_or(false))
}

/// Returns the local addresses, as the lists write them, at which connections to one arrive.
fn places(to: SocketAddr) -> Vec<String> {
    let words = |bytes: &[u8]| -> String {
        let (words, _) = bytes.as_chunks::<4>();
        words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect()
    };
    let (any4, any6) = ("0".repeat(8), "0".repeat(32));
    let addresses = match to.ip().to_canonical() {
        IpAddr::V4(own) => {
            vec![words(&own.octets()), any4, words(&own.to_ipv6_mapped().octets()), any6]
        }
        IpAddr::V6(own) => vec![words(&own.octets()), any6],
    };
    addresses.into_iter().map(|address| format!("{address}:{:04X}", to.port())).collect()
}

fn rows(list: &str) -> impl Iterator<Item = Vec<&str>> {
    list.lines().map(|line| line.split_whitespace().collect())
}

/// Returns whether there is an abstract Unix socket of a name; `None` when that can't be told.
pub(crate) fn has_abstract(net: &Path, name: &[u8]) -> Option<bool> {
    let list = read_bytes(&net.join("unix"))?;
    Some(abstract_names(&list).any(|it| is_name(it, name)))
}

/// Returns the inodes of the sockets that listen at a port.
pub(crate) fn listeners(list: &str, port: u16) -> Vec<String> {
    let end = format!(":{port:04X}");
    let is_it = |row: &Vec<&str>| {
        row.get(1).is_some_and(|local| local.ends_with(&end)) && row.get(3) == Some(&LISTENS)
    };
    rows(list).filter(is_it).filter_map(|row| row.get(9).map(ToString::to_string)).collect()
}

/// Returns the abstract names, without the `@` that they begin with.
fn abstract_names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let names = list.split(|byte| *byte == b'\n').filter_map(name_field);
    names.filter_map(|name| name.strip_prefix(b"@"))
}

/// Returns the path of a line, which is empty for a socket without one; `None` when the line goes
/// on with the path of the one before.
pub(crate) fn name_field(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let is_address = colon > 0 && line.iter().take(colon).all(u8::is_ascii_hexdigit);
    let mut rest = is_address.then_some(line)?;
    for _ in 0..FIELDS {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        rest = rest.get(end..).filter(|_| end > 0)?;
    }
    Some(rest.strip_prefix(b" ").unwrap_or(rest))
}

/// In the list zero bytes are written as `@`, too.
fn is_name(listed: &[u8], name: &[u8]) -> bool {
    let written = name.iter().map(|byte| if *byte == 0 { b'@' } else { *byte });
    listed.iter().copied().eq(written)
}

fn read(list: &Path) -> Option<String> {
    String::from_utf8(read_bytes(list)?).ok()
}

/// Reads a list; half of one tells nothing.
fn read_bytes(list: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(list).ok()?.take(LIST_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LIST_MAX).then_some(bytes)
}

/// Returns how an abstract name is written: `@` and the name, as programs write it.
pub(crate) fn written(name: &[u8]) -> String {
    format!("@{}", OsStr::from_bytes(name).display()).replace('\0', "@")
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
    use std::time::{Duration, Instant};

    use super::*;

    const OWN: &str = "/proc/self/net";

    #[test]
    fn rows_are_read() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 x\n\
            \x20  1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 x\n\
            \x20  2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 x\n";
        assert_eq!(listeners(list, 8080), ["4711"]);
        assert!(listeners("", 8080).is_empty());
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0: 00000002 00000000 00010000 0001 01 1 @/tmp/a b\n\
            0: 00000002 00000000 00010000 0001 01 2 /run/x\n\
            0: 00000003 00000000 00000000 0001 03     3\n\
            0: 00000002 00000000 00010000 0001 01 4 @a@b\n";
        let names: Vec<&[u8]> = abstract_names(list).collect();
        assert_eq!(names, [&b"/tmp/a b"[..], b"a@b"]);
        assert!(is_name(b"a@b", b"a\0b") && !is_name(b"a@b", b"a\0") && !is_name(b"a", b"ab"));
        assert_eq!(written(b"a\0b"), "@a@b");
    }

    #[test]
    fn own_sockets_are_found_as_long_as_they_are_there() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("an address");
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], at.port()));
        let name = format!("endow-sockets-{}", std::process::id());
        let address = UnixAddress::from_abstract_name(&name).expect("a name");
        let abstract_one = UnixListener::bind_addr(&address).expect("bound");
        let found = |net: &str| {
            let net = Path::new(net);
            (listens(net, at), has_port(net, at.port()), has_abstract(net, name.as_bytes()))
        };
        assert_eq!(found(OWN), (Some(true), Some(true), Some(true)));
        assert_eq!(listens(Path::new(OWN), elsewhere), Some(false));
        drop((listener, abstract_one));
        // A process that another test cloned meanwhile has them until it ends.
        let (gone, until) =
            ((Some(false), Some(false), Some(false)), Instant::now() + Duration::from_secs(20));
        while found(OWN) != gone && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(found(OWN), gone);
        assert_eq!(found("/proc/self/nonesuch"), (None, None, None));
        let datagrams = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let at = datagrams.local_addr().expect("an address");
        let of = |net| (listens(net, at), has_port(net, at.port()));
        assert_eq!(of(Path::new(OWN)), (Some(false), Some(true)));
    }

    #[test]
    fn connections_arrive_at_every_address_that_is_all() {
        for (listening, to) in [
            ("0.0.0.0:0", "127.0.0.1"),
            ("[::]:0", "127.0.0.1"),
            ("[::]:0", "::1"),
            ("[::1]:0", "::1"),
            ("127.0.0.3:0", "127.0.0.3"),
        ] {
            // Without IPv6 there is nothing to find.
            let Ok(listener) = TcpListener::bind(listening) else { continue };
            let port = listener.local_addr().expect("an address").port();
            let to = SocketAddr::new(to.parse().expect("an address"), port);
            assert_eq!(listens(Path::new(OWN), to), Some(true), "{listening} {to}");
        }
    }
}
