//! What the launcher sends at the start, and what it is told later.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixListener;

use endow_adapter::{Control, ControlError};
use endow_policy::{BridgeNews, BridgeOrder, Nearby, ORDER_MAX};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

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

/// Tells what was done or refused, and hands over the socket of a login. A launcher that doesn't
/// listen misses it: nothing here waits. Returns whether it was told.
pub(crate) fn tell(control: Control, news: &BridgeNews, with: Option<BorrowedFd<'_>>) -> bool {
    let Ok(text) = serde_json::to_vec(news) else { return false };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let with: Vec<BorrowedFd<'_>> = with.into_iter().collect();
    let has_room = with.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(&with));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    has_room && sendmsg(control, &[IoSlice::new(&text)], &mut ancillary, flags).is_ok()
}
