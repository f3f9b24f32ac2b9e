//! Which socket is at the other end of a connection within a network namespace, by sock_diag(7).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// The message that asks for one socket, `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h.
const ASK: u16 = 20;
/// The length of `nlmsghdr`, and of `inet_diag_req_v2` behind it.
const HEADER: usize = 16;
const REQUEST: usize = 56;
/// Where `idiag_state` is in an answer, and the one of a socket that listens.
const STATE: usize = HEADER + 1;
const LISTENS: u8 = 10;
/// Where `idiag_inode` is in an answer: behind the header and 68 bytes of `inet_diag_msg`.
const INODE: usize = HEADER + 68;

/// Makes a socket that asks about the network namespace in which it is made.
pub(crate) fn socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let protocol = Some(netlink::SOCK_DIAG);
    socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)
}

/// Returns the inode of the TCP socket that has `own` as its address and is connected to `other`.
pub(crate) fn inode(by: BorrowedFd<'_>, own: SocketAddr, other: SocketAddr) -> Result<u64, Errno> {
    send(by, &request(own, other), SendFlags::empty())?;
    let mut answer = [0; 512];
    // The kernel answers before the request returns.
    let (_, length) = recv(by, &mut answer, RecvFlags::DONTWAIT)?;
    // An error repeats the request, so that it is long enough to be read as an answer. Where no
    // socket is connected so, the kernel tells of one that listens there.
    let is_answer = |it: &&[u8]| it.get(4..6) == Some(&ASK.to_ne_bytes());
    let answer = answer.get(..length).filter(is_answer);
    let answer = answer.filter(|it| it.get(STATE) != Some(&LISTENS));
    let inode = answer.and_then(|it| it.get(INODE..INODE + 4));
    let inode = inode.and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    inode.filter(|inode| *inode != 0).map(u64::from).ok_or(Errno::NOENT)
}

fn request(own: SocketAddr, other: SocketAddr) -> Vec<u8> {
    let length = u32::try_from(HEADER + REQUEST).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(ASK.to_ne_bytes());
    message.extend(u16::try_from(libc::NLM_F_REQUEST).unwrap_or_default().to_ne_bytes());
    // The number of the message, and of the sender, which the kernel fills in.
    message.extend([0; 8]);
    let family = if own.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    // Family, protocol, no extensions, and every state.
    message.extend([byte(family), byte(libc::IPPROTO_TCP), 0, 0]);
    message.extend(u32::MAX.to_ne_bytes());
    for address in [own, other] {
        message.extend(address.port().to_be_bytes());
    }
    for address in [own, other] {
        message.extend(octets(address.ip()));
    }
    // Any interface, and no cookie.
    message.extend(0u32.to_ne_bytes());
    message.extend([u8::MAX; 8]);
    message
}

/// An address of the fourth version stands in the first bytes.
fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            Ipv6Addr::from([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).octets()
        }
        IpAddr::V6(address) => address.octets(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::{AsFd, AsRawFd};

    use super::*;

    fn check(at: &str) {
        let listener = TcpListener::bind(at).expect("a listener");
        let client = TcpStream::connect(listener.local_addr().expect("at")).expect("connected");
        let (taken, _) = listener.accept().expect("taken");
        let by = socket().expect("a socket");
        let ends = (taken.peer_addr().expect("a peer"), taken.local_addr().expect("an address"));
        let link = format!("/proc/self/fd/{}", client.as_raw_fd());
        let expected = std::fs::read_link(link).expect("a link").display().to_string();
        let found = inode(by.as_fd(), ends.0, ends.1).expect("found");
        assert_eq!(format!("socket:[{found}]"), expected);
        let other = "192.0.2.1:9".parse().expect("one");
        assert_eq!(inode(by.as_fd(), ends.1, other), Err(Errno::NOENT), "it only listens");
        let nobody = SocketAddr::new(ends.0.ip(), 1);
        assert_eq!(inode(by.as_fd(), nobody, ends.1), Err(Errno::NOENT));
    }

    #[test]
    fn client_of_a_connection_is_found() {
        check("127.0.0.1:0");
        check("[::1]:0");
    }
}
