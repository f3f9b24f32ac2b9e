//! The socket to the supervisor: the order, the answer, and then one message for each connection.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use endow_policy::AdapterAnswer;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketType,
    recv, recvmsg, send,
};
use zeroize::Zeroizing;

/// The most bytes of an order.
pub(crate) const ORDER_MAX: usize = 256 << 10;

/// Room for more descriptors than a message may have: too many must be seen as such.
const DESCRIPTORS_MAX: usize = 4;

/// The socket that the process was started with, as descriptor 0.
#[derive(Debug)]
pub(crate) struct Control(BorrowedFd<'static>);

/// Why there is no order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    /// The supervisor is gone.
    #[error("the socket was closed")]
    Closed,
    /// It is longer than [`ORDER_MAX`].
    #[error("it is too long")]
    TooLong,
    /// The kernel said so.
    #[error("it can't be received")]
    Receive(#[from] Errno),
}

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

impl Control {
    /// Returns the socket, if that is what descriptor 0 is.
    pub(crate) fn inherited() -> Option<Self> {
        let socket = rustix::stdio::stdin();
        let is_ours = is(socket, AddressFamily::UNIX, SocketType::SEQPACKET);
        is_ours.then_some(Self(socket))
    }

    /// Waits for the order. What it is in is wiped when it is dropped.
    pub(crate) fn order(&self) -> Result<Zeroizing<Vec<u8>>, ControlError> {
        let mut bytes = Zeroizing::new(vec![0; ORDER_MAX]);
        let receive = || recv(self.0, bytes.as_mut_slice(), RecvFlags::TRUNC);
        let (_, length) = retry_on_intr(receive)?;
        match length {
            0 => Err(ControlError::Closed),
            // Only the length tells: the rest is gone.
            _ if length > ORDER_MAX => Err(ControlError::TooLong),
            _ => {
                bytes.truncate(length);
                Ok(bytes)
            }
        }
    }

    /// Answers the order. A supervisor that is gone is noticed by what comes next.
    pub(crate) fn answer(&self, answer: &AdapterAnswer) {
        if let Ok(text) = serde_json::to_vec(answer) {
            let _ = retry_on_intr(|| send(self.0, &text, SendFlags::NOSIGNAL));
        }
    }

    /// Receives the next message, if there is one.
    pub(crate) fn receive(&self) -> Result<Message, Errno> {
        let mut bytes = [0; 8];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let length = recvmsg(self.0, &mut parts, &mut ancillary, flags)?.bytes;
        if length == 0 {
            return Ok(Message::End);
        }
        let descriptors = descriptors(&mut ancillary);
        let arrival = Arrival::new(&bytes[..length], descriptors);
        Ok(arrival.map_or(Message::Malformed, Message::Connection))
    }
}

impl AsRawFd for Control {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
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

fn descriptors(ancillary: &mut RecvAncillaryBuffer<'_>) -> Vec<OwnedFd> {
    let rights = ancillary.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(passed) => Some(passed),
        _ => None,
    });
    rights.flatten().collect()
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
