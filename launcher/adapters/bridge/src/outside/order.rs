//! What the launcher sends at the start, and what it is told later.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixListener;

use endow_adapter::{Control, ControlError};
use endow_policy::{BridgeNews, BridgeOrder, Nearby, ORDER_MAX};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// How long the launcher may have no room for what it is told.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// An order that can't be followed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OrderError {
    /// There is none.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// It isn't the JSON of an order.
    #[error("the order can't be read")]
    Malformed(#[source] serde_json::Error),
}

/// Receives the order, and the socket at which clients arrive.
pub(crate) fn receive(control: Control) -> Result<(BridgeOrder, UnixListener), OrderError> {
    let (text, listener) = control.order_with_listener()?;
    let order = serde_json::from_slice(&text).map_err(OrderError::Malformed)?;
    Ok((order, listener))
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
pub(crate) fn told(control: Control) -> Told {
    let mut bytes = vec![0; ORDER_MAX];
    match control.receive(&mut bytes) {
        Ok((length @ 1.., _)) => {
            // One that was too long is cut, and so can't be read either.
            let text = bytes.get(..length).unwrap_or_default();
            Told::Nearby(serde_json::from_slice(text).unwrap_or_else(|_| Nearby::unread()))
        }
        Err(Errno::AGAIN | Errno::INTR) => Told::Nothing,
        Ok((0, _)) | Err(_) => Told::End,
    }
}

/// Waits a moment until the launcher can be told of one more request; returns whether it can. Such a socket takes
/// messages while a quarter of its room is in use, so one of any length fits then (`unix_writable`, net/unix/af_unix.c).
pub(crate) fn has_room(control: Control) -> bool {
    let mut polled = [PollFd::new(&control, PollFlags::OUT)];
    poll(&mut polled, Some(&PATIENCE)).is_ok() && polled[0].revents() == PollFlags::OUT
}

/// Tells what was done or refused, and hands over the socket of a login. What can't travel with it stays behind, as
/// the kernel refuses it where too many do: a login has no way back then, and is told as a request all the same.
/// Returns whether all of it was told.
pub(crate) fn tell(control: Control, news: &BridgeNews, with: Option<BorrowedFd<'_>>) -> bool {
    let all_told = sent(control, news, with);
    if !all_told {
        sent(control, &BridgeNews { login: None, ..news.clone() }, None);
    }
    all_told
}

fn sent(control: Control, news: &BridgeNews, with: Option<BorrowedFd<'_>>) -> bool {
    let Ok(text) = serde_json::to_vec(news) else { return false };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let with: Vec<BorrowedFd<'_>> = with.into_iter().collect();
    let has_room = with.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(&with));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    has_room && sendmsg(control, &[IoSlice::new(&text)], &mut ancillary, flags).is_ok()
}
