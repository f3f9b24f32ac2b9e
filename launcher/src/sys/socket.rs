//! The socket pair between supervisor and pid 1: one message a packet, descriptors beside it.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// The most descriptors that travel with one message.
pub(crate) const DESCRIPTORS_MAX: usize = 8;

/// Makes a pair of connected sockets that keep the borders of messages.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Sends one message with descriptors. Never raises SIGPIPE, never allocates.
pub(crate) fn send(
    socket: impl AsFd,
    message: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    send_with(socket, message, descriptors, SendFlags::NOSIGNAL)
}

/// Sends one message with descriptors, or fails when the other side takes none now.
pub(crate) fn send_at_once(
    socket: impl AsFd,
    message: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    send_with(socket, message, descriptors, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

fn send_with(
    socket: impl AsFd,
    message: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    sendmsg(socket, &[IoSlice::new(message)], &mut ancillary, flags).map(drop)
}

/// Receives one message; length 0 means that the other side is gone.
///
/// A side that went without having read all that it was sent leaves an error, which is told once
/// and before what it had said itself (unix(7)).
pub(crate) fn receive(
    socket: impl AsFd,
    message: &mut [u8],
    flags: RecvFlags,
) -> Result<(usize, Vec<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(message)];
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received = match recvmsg(&socket, &mut parts, &mut ancillary, flags) {
        Err(Errno::CONNRESET) => recvmsg(&socket, &mut parts, &mut ancillary, flags),
        other => other,
    }?;
    let mut descriptors = Vec::new();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = part {
            descriptors.extend(passed);
        }
    }
    Ok((received.bytes, descriptors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_arrive_from_who_did_not_listen() {
        let (ours, theirs) = pair().expect("a pair");
        send(&theirs, b"failed", &[]).expect("sent");
        send(&ours, b"never read", &[]).expect("sent");
        drop(theirs);
        let mut bytes = [0; 16];
        let mut said = || receive(&ours, &mut bytes, RecvFlags::DONTWAIT).map(|(length, _)| length);
        assert_eq!((said(), said()), (Ok(6), Ok(0)));
    }
}
