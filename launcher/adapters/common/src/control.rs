//! The socket to endow: an order, an answer, and messages with descriptors.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use endow_policy::AdapterAnswer;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketType,
    recv, recvmsg, send,
};
use zeroize::Zeroizing;

/// The most bytes of an order.
pub const ORDER_MAX: usize = 256 << 10;
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
    #[error("it is too long")]
    TooLong,
    /// The kernel said so.
    #[error("it can't be received")]
    Receive(#[from] Errno),
}

impl Control {
    /// Returns the socket, if that is what descriptor 0 is.
    pub fn inherited() -> Option<Self> {
        let socket = rustix::stdio::stdin();
        let is_ours = socket_domain(socket) == Ok(AddressFamily::UNIX)
            && socket_type(socket) == Ok(SocketType::SEQPACKET);
        is_ours.then_some(Self(socket))
    }

    /// Waits for the order. What it is in is wiped when it is dropped.
    ///
    /// # Errors
    /// There is none, or it is too long.
    pub fn order(self) -> Result<Zeroizing<Vec<u8>>, ControlError> {
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
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let mut parts = [IoSliceMut::new(bytes)];
        let length = recvmsg(self.0, &mut parts, &mut ancillary, flags)?.bytes;
        let rights = ancillary.drain().filter_map(|part| match part {
            RecvAncillaryMessage::ScmRights(passed) => Some(passed),
            _ => None,
        });
        Ok((length, rights.flatten().collect()))
    }
}

impl AsRawFd for Control {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
