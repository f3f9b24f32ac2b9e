//! The socket to endow: an order, an answer, and messages with descriptors.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;

use endow_policy::{AdapterAnswer, ORDER_MAX};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendFlags,
    SocketType, recvmsg, send,
};
use zeroize::Zeroizing;

/// Room for more descriptors than a message may have: too many must be seen as such.
const DESCRIPTORS_MAX: usize = 4;

/// The socket that the process was started with, as descriptor 0.
#[derive(Clone, Copy, Debug)]
pub struct Control(BorrowedFd<'static>);

/// Why there is no order.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Whoever started the process is gone.
    #[error("the socket was closed")]
    Closed,
    /// It is longer than [`ORDER_MAX`].
    #[error("the order is longer than {ORDER_MAX} bytes")]
    TooLong,
    /// The kernel said so.
    #[error("it can't be received")]
    Receive(#[from] Errno),
    /// Not as many sockets came with it as do with such an order.
    #[error("the order comes with {0} descriptors instead of one")]
    Descriptors(usize),
    /// What came with it is no socket at which clients arrive.
    #[error("the descriptor of the order is no listening Unix socket")]
    NotListening,
}

impl Control {
    /// Returns the socket, if that is what descriptor 0 is.
    pub fn inherited() -> Option<Self> {
        let socket = rustix::stdio::stdin();
        is_unix(socket, SocketType::SEQPACKET).then_some(Self(socket))
    }

    /// Waits for the order. What it is in is wiped when it is dropped.
    ///
    /// # Errors
    /// There is none, or it is too long.
    pub fn order(self) -> Result<Zeroizing<Vec<u8>>, ControlError> {
        self.order_with().map(|(text, _)| text)
    }

    /// Waits for the order, and for the socket at which clients arrive.
    ///
    /// # Errors
    /// There is none, it is too long, or no such socket comes with it.
    pub fn order_with_listener(self) -> Result<(Zeroizing<Vec<u8>>, UnixListener), ControlError> {
        let (text, descriptors) = self.order_with()?;
        let [listener] = <[OwnedFd; 1]>::try_from(descriptors)
            .map_err(|other| ControlError::Descriptors(other.len()))?;
        if !is_unix(&listener, SocketType::STREAM) || socket_acceptconn(&listener) != Ok(true) {
            return Err(ControlError::NotListening);
        }
        Ok((text, UnixListener::from(listener)))
    }

    fn order_with(self) -> Result<(Zeroizing<Vec<u8>>, Vec<OwnedFd>), ControlError> {
        let mut bytes = Zeroizing::new(vec![0; ORDER_MAX]);
        let received = retry_on_intr(|| self.take(&mut bytes, RecvFlags::empty()))?;
        match received {
            Taken { is_cut: true, .. } => Err(ControlError::TooLong),
            Taken { length: 0, .. } => Err(ControlError::Closed),
            Taken { length, descriptors, .. } => {
                bytes.truncate(length);
                Ok((bytes, descriptors))
            }
        }
    }

    /// Answers the order. One who is gone is noticed by what comes next.
    pub fn answer(self, answer: &AdapterAnswer) {
        if let Ok(text) = serde_json::to_vec(answer) {
            let _ = self.send(&text);
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(self, message: &[u8]) -> Result<(), Errno> {
        retry_on_intr(|| send(self.0, message, SendFlags::NOSIGNAL)).map(drop)
    }

    /// Receives the next message, if there is one, with its descriptors; length 0 is the end.
    ///
    /// # Errors
    /// What the kernel says; `EAGAIN` when there is none yet.
    pub fn receive(self, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>), Errno> {
        let taken = self.take(bytes, RecvFlags::DONTWAIT)?;
        Ok((taken.length, taken.descriptors))
    }

    fn take(self, bytes: &mut [u8], flags: RecvFlags) -> Result<Taken, Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(bytes)];
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(self.0, &mut parts, &mut ancillary, flags)?;
        let rights = ancillary.drain().filter_map(|part| match part {
            RecvAncillaryMessage::ScmRights(passed) => Some(passed),
            _ => None,
        });
        Ok(Taken {
            length: received.bytes,
            is_cut: received.flags.contains(ReturnFlags::TRUNC),
            descriptors: rights.flatten().collect(),
        })
    }
}

/// A message that was received.
struct Taken {
    length: usize,
    /// It was longer than there was room for: the rest is gone.
    is_cut: bool,
    descriptors: Vec<OwnedFd>,
}

fn is_unix(socket: impl AsFd, kind: SocketType) -> bool {
    socket_domain(&socket) == Ok(AddressFamily::UNIX) && socket_type(&socket) == Ok(kind)
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0
    }
}

impl AsRawFd for Control {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
