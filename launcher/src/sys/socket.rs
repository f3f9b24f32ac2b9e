//! Unix sockets: the pair between supervisor and pid 1, with one message a packet and descriptors
//! beside it, and one that listens.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, chmodat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    bind, listen, recvmsg, sendmsg, socket_with, socketpair,
};
use rustix::thread::{Timespec, nanosleep};

/// The most descriptors that travel with one message.
pub(crate) const DESCRIPTORS_MAX: usize = 8;

/// Makes a pair of connected sockets that keep the borders of messages.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// How many clients may wait to be accepted.
const WAITING_MAX: i32 = 64;

/// Makes a socket that listens below an open directory, however long the directory's own path is;
/// nobody but its owner may connect.
pub(crate) fn listen_below(directory: BorrowedFd<'_>, name: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let opened = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string());
    bind(&socket, &SocketAddrUnix::new(opened.join(name))?)?;
    chmodat(directory, name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    listen(&socket, WAITING_MAX)?;
    Ok(socket)
}

/// How often a message is sent that the kernel takes later, and how long is waited in between.
const TRIES_MAX: u32 = 5000;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Sends one message with descriptors. Never raises SIGPIPE, never allocates.
///
/// All descriptors that a user has on the way, in every process, count against the sender's limit of open
/// files (`too_many_unix_fds` in net/core/scm.c): with a low one, other runs that start make it wait.
pub(crate) fn send(
    socket: impl AsFd,
    message: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    for _ in 0..TRIES_MAX {
        match send_with(&socket, message, descriptors, SendFlags::NOSIGNAL) {
            Err(Errno::TOOMANYREFS) => drop(nanosleep(&PAUSE)),
            sent => return sent,
        }
    }
    Err(Errno::TOOMANYREFS)
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

/// Receives one message; length 0 means that the other side is gone. One that came without all of its
/// descriptors, for there was no room for them, is lost with [`Errno::MFILE`] (recvmsg(2), MSG_CTRUNC).
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
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(Errno::MFILE);
    }
    Ok((received.bytes, descriptors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_listens_below_a_directory_with_a_long_path() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("d".repeat(200));
        std::fs::create_dir(&path).expect("a directory");
        let directory = std::fs::File::open(&path).expect("opened");
        let _listening = listen_below(directory.as_fd(), Path::new("s")).expect("made");
        let made = std::fs::metadata(path.join("s")).expect("there");
        assert_eq!(made.permissions().mode() & 0o7777, 0o600);
        let at = format!("/proc/self/fd/{}/s", directory.as_raw_fd());
        std::os::unix::net::UnixStream::connect(at).expect("connected");
        let again = listen_below(directory.as_fd(), Path::new("s"));
        assert_eq!(again.expect_err("there is one"), Errno::ADDRINUSE);
    }

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
