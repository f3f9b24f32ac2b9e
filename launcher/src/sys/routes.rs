//! What the routes of this network namespace say of its own addresses and of those beside it, by
//! rtnetlink(7).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

/// The lengths of `nlmsghdr`, of `rtmsg` and of the header of an attribute.
const HEADER: usize = 16;
const ROUTE: usize = 12;
const ATTRIBUTE: usize = 4;

/// Who made a route, as `linux/rtnetlink.h` numbers them: router advertisements, and DHCP.
const BY_ROUTER: u8 = 9;
const BY_DHCP: u8 = 16;

/// The longest message of a list: the kernel makes none of more than 32 KiB.
const MESSAGE_MAX: usize = 1 << 16;
/// How often a list is asked for that changes while it is read.
const ATTEMPTS: usize = 8;

/// A destination that no router is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Near {
    /// How near it is.
    pub(crate) nearness: Nearness,
    /// Its first address.
    pub(crate) address: IpAddr,
    /// How many bits its addresses share.
    pub(crate) prefix: u8,
}

/// Who has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nearness {
    /// The namespace itself.
    Own,
    /// Somebody on one of its links.
    Beside,
}

/// Returns a socket that is told when addresses or routes change.
pub(crate) fn changes() -> Result<OwnedFd, Errno> {
    let socket = routing(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
    let addresses = libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
    let routes = libc::RTMGRP_IPV4_ROUTE | libc::RTMGRP_IPV6_ROUTE;
    bind(&socket, &SocketAddrNetlink::new(0, (addresses | routes).cast_unsigned()))?;
    Ok(socket)
}

/// Returns whether anything was told since the last call.
pub(crate) fn have_changed(told: BorrowedFd<'_>) -> bool {
    let mut changed = false;
    loop {
        match recv(told, &mut [0; 256], RecvFlags::DONTWAIT) {
            // Too much was told to keep it all.
            Ok(_) | Err(Errno::NOBUFS) => changed = true,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return changed,
            Err(_) => return true,
        }
    }
}

/// Returns all that is near.
pub(crate) fn near() -> Result<Vec<Near>, Errno> {
    let mut found = list(libc::AF_INET)?;
    found.extend(list(libc::AF_INET6)?);
    Ok(found)
}

fn list(family: i32) -> Result<Vec<Near>, Errno> {
    let attempts = std::iter::repeat_with(|| list_once(family)).take(ATTEMPTS);
    let whole = attempts.into_iter().find(|list| *list != Err(Errno::INTR));
    whole.unwrap_or(Err(Errno::AGAIN))
}

fn list_once(family: i32) -> Result<Vec<Near>, Errno> {
    let socket = routing(SocketFlags::CLOEXEC)?;
    send(&socket, &request(family), SendFlags::empty())?;
    let (mut found, mut bytes) = (Vec::new(), vec![0; MESSAGE_MAX]);
    loop {
        let (_, length) = recv(&socket, &mut bytes, RecvFlags::TRUNC)?;
        let messages = bytes.get(..length).ok_or(Errno::MSGSIZE)?;
        if read(messages, &mut found)? == Then::End {
            return Ok(found);
        }
    }
}

fn routing(flags: SocketFlags) -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)
}

/// Asks for all routes of a family.
fn request(family: i32) -> Vec<u8> {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;
    let mut message = u32::try_from(HEADER + ROUTE).unwrap_or_default().to_ne_bytes().to_vec();
    message.extend(libc::RTM_GETROUTE.to_ne_bytes());
    message.extend(u16::try_from(flags).unwrap_or_default().to_ne_bytes());
    message.extend([0; 8]);
    message.push(u8::try_from(family).unwrap_or_default());
    message.resize(HEADER + ROUTE, 0);
    message
}

/// Whether more messages come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    More,
    End,
}

/// Reads the messages of one datagram. What can't be read is an error: nothing is left out.
fn read(mut messages: &[u8], found: &mut Vec<Near>) -> Result<Then, Errno> {
    while !messages.is_empty() {
        let header = messages.first_chunk::<HEADER>().ok_or(Errno::BADMSG)?;
        let [l0, l1, l2, l3, t0, t1, f0, f1, ..] = *header;
        let length = usize::try_from(u32::from_ne_bytes([l0, l1, l2, l3]));
        let message = length.ok().and_then(|length| messages.get(HEADER..length));
        let message = message.ok_or(Errno::BADMSG)?;
        if i32::from(u16::from_ne_bytes([f0, f1])) & libc::NLM_F_DUMP_INTR != 0 {
            return Err(Errno::INTR);
        }
        match u16::from_ne_bytes([t0, t1]) {
            kind if i32::from(kind) == libc::NLMSG_DONE => return Ok(Then::End),
            kind if i32::from(kind) == libc::NLMSG_ERROR => return Err(failure(message)),
            libc::RTM_NEWROUTE => found.extend(route(message)?),
            _ => {}
        }
        messages = messages.get(aligned(HEADER + message.len())..).unwrap_or_default();
    }
    Ok(Then::More)
}

fn failure(message: &[u8]) -> Errno {
    let code = message.first_chunk().map(|code| i32::from_ne_bytes(*code));
    code.map_or(Errno::BADMSG, |code| Errno::from_raw_os_error(code.wrapping_neg()))
}

/// Reads a route, if it is to what is near. A route that the user made to a link as a whole may lead
/// anywhere, as into a tunnel: beside is what the kernel, a router or a DHCP server says.
fn route(message: &[u8]) -> Result<Option<Near>, Errno> {
    let (header, attributes) = message.split_first_chunk::<ROUTE>().ok_or(Errno::BADMSG)?;
    let [family, prefix, _, _, _, protocol, _, kind, f0, f1, f2, f3] = *header;
    let told = [libc::RTPROT_KERNEL, BY_ROUTER, BY_DHCP].contains(&protocol);
    let is_copy = u32::from_ne_bytes([f0, f1, f2, f3]) & libc::RTM_F_CLONED != 0;
    let attributes = self::attributes(attributes)?;
    let is_routed = attributes.iter().any(|(kind, _)| ROUTERS.contains(kind));
    let nearness = match kind {
        libc::RTN_LOCAL | libc::RTN_ANYCAST => Nearness::Own,
        libc::RTN_UNICAST if told && !is_routed && !is_copy && prefix > 0 => Nearness::Beside,
        _ => return Ok(None),
    };
    let mut to = attributes.iter().filter(|(kind, _)| *kind == libc::RTA_DST);
    let Some((_, to)) = to.next() else { return Ok(None) };
    let address = match i32::from(family) {
        libc::AF_INET => <[u8; 4]>::try_from(*to).map(|it| Ipv4Addr::from(it).into()),
        libc::AF_INET6 => <[u8; 16]>::try_from(*to).map(|it| Ipv6Addr::from(it).into()),
        _ => return Ok(None),
    };
    let address = address.map_err(|_| Errno::BADMSG)?;
    Ok(Some(Near { nearness, address, prefix }))
}

/// Attributes that name a router, or several.
const ROUTERS: [u16; 3] = [libc::RTA_GATEWAY, libc::RTA_VIA, libc::RTA_MULTIPATH];

fn attributes(mut bytes: &[u8]) -> Result<Vec<(u16, &[u8])>, Errno> {
    let mut found = Vec::new();
    while let Some([l0, l1, t0, t1]) = bytes.first_chunk::<ATTRIBUTE>() {
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        let value = bytes.get(ATTRIBUTE..length).ok_or(Errno::BADMSG)?;
        found.push((u16::from_ne_bytes([*t0, *t1]), value));
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Ok(found)
}

/// Messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of a list, with padding behind it.
    fn message(kind: u16, flags: i32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER + body.len()).expect("short");
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(u16::try_from(flags).expect("flags").to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    /// A route to `192.0.2.0` or `2001:db8::`, by kind, protocol and prefix.
    fn route_to(family: i32, kind: u8, (protocol, prefix): (u8, u8), routers: &[u16]) -> Vec<u8> {
        let family = u8::try_from(family).expect("a family");
        let mut body = vec![family, prefix, 0, 0, libc::RT_TABLE_MAIN, protocol, 0, kind];
        body.extend([0; 4]);
        let to: &[u8] = match i32::from(family) {
            libc::AF_INET => &[192, 0, 2, 0],
            _ => &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        };
        for (kind, value) in
            [(libc::RTA_DST, to)].into_iter().chain(routers.iter().map(|it| (*it, &[1; 4][..])))
        {
            body.extend(u16::try_from(ATTRIBUTE + value.len()).expect("short").to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(value);
        }
        message(libc::RTM_NEWROUTE, libc::NLM_F_MULTI, &body)
    }

    fn found(messages: &[u8]) -> Result<(Vec<String>, Then), Errno> {
        let mut found = Vec::new();
        let then = read(messages, &mut found)?;
        let shown = |it: &Near| format!("{:?} {}/{}", it.nearness, it.address, it.prefix);
        Ok((found.iter().map(shown).collect(), then))
    }

    #[test]
    fn near_is_what_needs_no_router() {
        let (four, six) = (libc::AF_INET, libc::AF_INET6);
        let (kernel, dhcp) = (libc::RTPROT_KERNEL, BY_DHCP);
        let messages = [
            route_to(four, libc::RTN_LOCAL, (kernel, 32), &[]),
            route_to(four, libc::RTN_UNICAST, (kernel, 24), &[]),
            route_to(four, libc::RTN_UNICAST, (dhcp, 20), &[libc::RTA_GATEWAY]),
            route_to(four, libc::RTN_UNICAST, (kernel, 20), &[libc::RTA_VIA]),
            route_to(four, libc::RTN_UNICAST, (libc::RTPROT_BOOT, 1), &[]),
            route_to(four, libc::RTN_BROADCAST, (kernel, 32), &[]),
            route_to(six, libc::RTN_LOCAL, (libc::RTPROT_BOOT, 48), &[]),
            route_to(six, libc::RTN_UNICAST, (BY_ROUTER, 64), &[]),
            route_to(six, libc::RTN_UNICAST, (kernel, 0), &[]),
            message(u16::try_from(libc::NLMSG_DONE).expect("short"), 2, &[0; 4]),
        ];
        let near = [
            "Own 192.0.2.0/32",
            "Beside 192.0.2.0/24",
            "Own 2001:db8::/48",
            "Beside 2001:db8::/64",
        ];
        assert_eq!(found(&messages.concat()), Ok((near.map(str::to_owned).into(), Then::End)));
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let route = route_to(libc::AF_INET, libc::RTN_LOCAL, (libc::RTPROT_KERNEL, 32), &[]);
        assert!(matches!(found(&route), Ok((_, Then::More))));
        for length in 1..route.len() {
            assert_eq!(found(&route[..length]), Err(Errno::BADMSG), "{length}");
        }
        let error = u16::try_from(libc::NLMSG_ERROR).expect("short");
        let refused = message(error, 0, &(-libc::EPERM).to_ne_bytes());
        assert_eq!(found(&refused), Err(Errno::PERM));
        let changed = message(libc::RTM_NEWROUTE, libc::NLM_F_DUMP_INTR, &[]);
        assert_eq!(found(&changed), Err(Errno::INTR));
    }

    #[test]
    fn loopback_of_this_machine_is_its_own() {
        let loopback = |it: &Near| it.address.is_loopback() && it.nearness == Nearness::Own;
        assert!(near().expect("routes").iter().any(loopback));
    }
}
