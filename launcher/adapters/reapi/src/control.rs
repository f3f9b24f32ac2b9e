//! The socket to endow: the order, the answer, then a question and an answer at a time.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use endow_policy::{AdapterAnswer, RemoteAnswer, RemoteRequest};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketType,
    recv, recvmsg, send,
};
use serde_json::{from_slice, to_vec};
use zeroize::Zeroizing;

/// The most bytes of an order, or of a question.
const MESSAGE_MAX: usize = 192 << 10;
/// Room for more descriptors than a message may have: too many must be seen as such.
const DESCRIPTORS_MAX: usize = 4;

/// The socket that the process was started with, as descriptor 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control(BorrowedFd<'static>);

/// Why there is no order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    /// Whoever started the process is gone.
    #[error("the socket was closed")]
    Closed,
    /// It is longer than an order may be.
    #[error("it is too long")]
    TooLong,
    /// The kernel said so.
    #[error("it can't be received")]
    Receive(#[from] Errno),
}

/// What arrives.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A question, and the file that comes with it.
    Question(RemoteRequest, Option<OwnedFd>),
    /// Something else, which means nothing.
    Malformed,
    /// There will be no more.
    End,
}

impl Control {
    /// Returns the socket, if that is what descriptor 0 is.
    pub(crate) fn inherited() -> Option<Self> {
        let socket = rustix::stdio::stdin();
        let is_ours = socket_domain(socket) == Ok(AddressFamily::UNIX)
            && socket_type(socket) == Ok(SocketType::SEQPACKET);
        is_ours.then_some(Self(socket))
    }

    /// Waits for the order. What it is in is wiped when it is dropped.
    pub(crate) fn order(self) -> Result<Zeroizing<Vec<u8>>, ControlError> {
        let mut bytes = Zeroizing::new(vec![0; MESSAGE_MAX]);
        let receive = || recv(self.0, bytes.as_mut_slice(), RecvFlags::TRUNC);
        let (_, length) = retry_on_intr(receive)?;
        match length {
            0 => Err(ControlError::Closed),
            // Only the length tells: the rest is gone.
            _ if length > MESSAGE_MAX => Err(ControlError::TooLong),
            _ => {
                bytes.truncate(length);
                Ok(bytes)
            }
        }
    }

    /// Answers the order. One who is gone is noticed by what comes next.
    pub(crate) fn answer_order(self, answer: &AdapterAnswer) {
        if let Ok(text) = to_vec(answer) {
            let _ = retry_on_intr(|| send(self.0, &text, SendFlags::NOSIGNAL));
        }
    }

    /// Answers a question. An answer that can't be sent must end the process: whoever asked waits for it.
    pub(crate) fn answer(self, answer: &RemoteAnswer) -> Result<(), Errno> {
        let text = to_vec(answer).map_err(|_| Errno::INVAL)?;
        retry_on_intr(|| send(self.0, &text, SendFlags::NOSIGNAL)).map(drop)
    }

    /// Receives what has arrived, if anything has.
    pub(crate) fn receive(self) -> Result<Arrival, Errno> {
        let mut bytes = vec![0; MESSAGE_MAX];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let length = recvmsg(self.0, &mut parts, &mut ancillary, flags)?.bytes;
        if length == 0 {
            return Ok(Arrival::End);
        }
        let rights = ancillary.drain().filter_map(|part| match part {
            RecvAncillaryMessage::ScmRights(passed) => Some(passed),
            _ => None,
        });
        let file = rights.flatten().last();
        let question = bytes.get(..length).and_then(|text| from_slice(text).ok());
        Ok(question.map_or(Arrival::Malformed, |question| Arrival::Question(question, file)))
    }
}

impl AsRawFd for Control {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
