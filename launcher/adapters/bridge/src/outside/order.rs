//! What the launcher sends at the start, the answer to it, and what it is told later.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;

use endow_policy::{AdapterAnswer, BridgeNews, BridgeOrder, Nearby};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SendFlags, SocketType, recv, send};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, sendmsg};

/// The most bytes of an order.
const ORDER_MAX: usize = 256 * 1024;
/// The most descriptors that are looked at, to see that there are too many.
const DESCRIPTORS_MAX: usize = 4;

/// An order that can't be followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    /// The socket to the launcher fails.
    #[error("no order can be received")]
    Receive(#[source] Errno),
    /// The message is too long.
    #[error("the order is longer than {ORDER_MAX} bytes")]
    TooLong,
    /// It isn't the JSON of an order.
    #[error("the order can't be read")]
    Malformed(#[source] serde_json::Error),
    /// Not one socket came with it.
    #[error("the order comes with {0} descriptors instead of one")]
    Descriptors(usize),
    /// What came is no such socket.
    #[error("the descriptor of the order is no listening Unix socket")]
    NotListening,
}

/// Whether a descriptor can be the launcher's: a Unix socket that keeps messages apart.
pub(crate) fn is_launcher(socket: BorrowedFd<'_>) -> bool {
    is_unix(socket, SocketType::SEQPACKET)
}

/// Receives the order, and the socket at which clients arrive.
pub(crate) fn receive(launcher: BorrowedFd<'_>) -> Result<(BridgeOrder, UnixListener), OrderError> {
    let (text, descriptors) = message(launcher)?;
    let order: BridgeOrder = serde_json::from_slice(&text).map_err(OrderError::Malformed)?;
    let [listener] = <[OwnedFd; 1]>::try_from(descriptors)
        .map_err(|other| OrderError::Descriptors(other.len()))?;
    if !is_unix(&listener, SocketType::STREAM) || socket_acceptconn(&listener) != Ok(true) {
        return Err(OrderError::NotListening);
    }
    Ok((order, UnixListener::from(listener)))
}

/// Says how it went.
pub(crate) fn answer(launcher: BorrowedFd<'_>, answer: &AdapterAnswer) -> io::Result<()> {
    let text = serde_json::to_vec(answer)?;
    send(launcher, &text, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// What the launcher says while it is served.
#[derive(Debug)]
pub(crate) enum Told {
    /// What is near has changed. Where that can't be read, every address may be.
    Nearby(Nearby),
    /// Nothing, after all.
    Nothing,
    /// It will say nothing more.
    End,
}

/// Reads one message of the launcher's, without waiting.
pub(crate) fn told(launcher: BorrowedFd<'_>) -> Told {
    let mut bytes = vec![0; ORDER_MAX];
    match recv(launcher, &mut bytes[..], RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
        Ok((_, length @ 1..)) => {
            let text = bytes.get(..length).unwrap_or_default();
            Told::Nearby(serde_json::from_slice(text).unwrap_or_else(|_| Nearby::unread()))
        }
        Err(Errno::AGAIN | Errno::INTR) => Told::Nothing,
        Ok((_, 0)) | Err(_) => Told::End,
    }
}

/// Tells what was done or refused, and hands over the socket of a login. A launcher that doesn't
/// listen misses it: nothing here waits. Returns whether it was told.
pub(crate) fn tell(
    launcher: BorrowedFd<'_>,
    news: &BridgeNews,
    with: Option<BorrowedFd<'_>>,
) -> bool {
    let Ok(text) = serde_json::to_vec(news) else { return false };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let with: Vec<BorrowedFd<'_>> = with.into_iter().collect();
    let has_room = with.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(&with));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    has_room && sendmsg(launcher, &[IoSlice::new(&text)], &mut ancillary, flags).is_ok()
}

fn message(launcher: BorrowedFd<'_>) -> Result<(Vec<u8>, Vec<OwnedFd>), OrderError> {
    let mut bytes = vec![0; ORDER_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let received = recvmsg(launcher, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .map_err(OrderError::Receive)?;
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Err(OrderError::TooLong);
    }
    let mut descriptors = Vec::new();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = part {
            descriptors.extend(passed);
        }
    }
    bytes.truncate(received.bytes);
    Ok((bytes, descriptors))
}

fn is_unix(socket: impl AsFd, kind: SocketType) -> bool {
    socket_domain(&socket) == Ok(AddressFamily::UNIX) && socket_type(&socket) == Ok(kind)
}
