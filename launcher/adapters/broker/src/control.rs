//! What the supervisor says once the broker serves: one message for each connection.

use std::os::fd::{AsFd, OwnedFd};

use endow_adapter::Control;
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};

/// One message of the supervisor's.
#[derive(Debug)]
pub(crate) enum Message {
    /// A connection.
    Connection(Arrival),
    /// Something else, which means nothing.
    Malformed,
    /// There will be no more.
    End,
}

/// A connection that was taken inside, and the one to its server.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The number of the host in the order.
    pub(crate) host: usize,
    /// Where the client speaks HTTP.
    pub(crate) client: OwnedFd,
    /// Where the server expects TLS.
    pub(crate) server: OwnedFd,
}

impl Message {
    /// Receives the next one, if there is one.
    pub(crate) fn receive(control: Control) -> Result<Self, Errno> {
        let mut bytes = [0; 8];
        let (length, descriptors) = control.receive(&mut bytes)?;
        if length == 0 {
            return Ok(Self::End);
        }
        let arrival = Arrival::new(&bytes[..length], descriptors);
        Ok(arrival.map_or(Self::Malformed, Self::Connection))
    }
}

impl Arrival {
    fn new(message: &[u8], descriptors: Vec<OwnedFd>) -> Option<Self> {
        let host = u32::from_ne_bytes(message.try_into().ok()?);
        let [client, server] = <[OwnedFd; 2]>::try_from(descriptors).ok()?;
        let tcp = [AddressFamily::INET, AddressFamily::INET6];
        let fits = is(&client, AddressFamily::UNIX, SocketType::STREAM)
            && tcp.into_iter().any(|family| is(&server, family, SocketType::STREAM));
        fits.then_some(Self { host: usize::try_from(host).ok()?, client, server })
    }
}

fn is(socket: impl AsFd, family: AddressFamily, kind: SocketType) -> bool {
    socket_domain(&socket) == Ok(family) && socket_type(&socket) == Ok(kind)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn tcp() -> OwnedFd {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        TcpStream::connect(address).expect("connected").into()
    }

    fn unix() -> OwnedFd {
        UnixStream::pair().expect("a pair").0.into()
    }

    #[test]
    fn arrival_has_a_number_and_two_sockets() {
        let number = 3_u32.to_ne_bytes();
        let arrival = Arrival::new(&number, vec![unix(), tcp()]).expect("an arrival");
        assert_eq!(arrival.host, 3);
        assert!(Arrival::new(&number[..3], vec![unix(), tcp()]).is_none());
        assert!(Arrival::new(&[0; 8], vec![unix(), tcp()]).is_none());
    }

    #[test]
    fn arrival_with_other_descriptors_is_none() {
        let number = 0_u32.to_ne_bytes();
        for wrong in [vec![], vec![unix()], vec![unix(), tcp(), tcp()]] {
            assert!(Arrival::new(&number, wrong).is_none());
        }
        assert!(Arrival::new(&number, vec![tcp(), unix()]).is_none());
        assert!(Arrival::new(&number, vec![unix(), unix()]).is_none());
    }
}
