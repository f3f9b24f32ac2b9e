//! Routes of a network namespace, by rtnetlink(7).

use std::net::IpAddr;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// The number of the loopback interface, the first of every network namespace.
const LOOPBACK: u32 = 1;

/// The lengths of `nlmsghdr` and of the error number after it.
const HEADER: usize = 16;
const ANSWER: usize = HEADER + 4;

/// Makes every address of a range the namespace's own: sockets can be bound to each, and what is
/// sent to it stays inside.
pub(crate) fn make_local(range: IpAddr, prefix_len: u8) -> Result<(), Errno> {
    let kind = (SocketType::RAW, SocketFlags::CLOEXEC);
    let socket = socket_with(AddressFamily::NETLINK, kind.0, kind.1, None)?;
    send(&socket, &request(range, prefix_len), SendFlags::empty())?;
    let mut answer = [0; 512];
    let (_, length) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let code = answer.get(HEADER..ANSWER.min(length)).and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes).ok_or(Errno::BADMSG)? {
        0 => Ok(()),
        code => Err(Errno::from_raw_os_error(-code)),
    }
}

/// A request for a new route of the table of local addresses, which is to be answered.
fn request(range: IpAddr, prefix_len: u8) -> Vec<u8> {
    let (family, address, scope) = match range {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec(), libc::RT_SCOPE_HOST),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec(), libc::RT_SCOPE_UNIVERSE),
    };
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    // struct rtmsg: family, lengths, type of service, table, protocol, scope, type, flags.
    let mut body = vec![byte(family), prefix_len, 0, 0];
    body.extend([libc::RT_TABLE_LOCAL, libc::RTPROT_BOOT, scope, libc::RTN_LOCAL]);
    body.extend([0; 4]);
    attribute(&mut body, libc::RTA_DST, &address);
    attribute(&mut body, libc::RTA_OIF, &LOOPBACK.to_ne_bytes());
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE;
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(libc::RTM_NEWROUTE.to_ne_bytes());
    message.extend(u16::try_from(flags).unwrap_or_default().to_ne_bytes());
    // The number of the message, and of the sender, which the kernel fills in.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Adds an attribute whose value needs no padding.
fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    body.extend(length.to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
}
