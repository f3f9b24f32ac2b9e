//! Calls that the filter announces, each before it is carried out. What they are about is prepared;
//! none is decided about.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::connects;
use super::renames::Renames;
use crate::plan::step::Buffered;
use crate::sys;

/// Who prepares what.
#[derive(Debug)]
pub(crate) struct Calls {
    renames: Renames,
    /// Nobody is left who could call.
    closed: bool,
}

impl Calls {
    /// Returns what is needed for these mounts, and where `connects` are announced; `None` when
    /// nothing is.
    pub(crate) fn new<'a>(
        buffered: impl Iterator<Item = &'a Buffered>,
        connects: bool,
    ) -> Result<Option<Self>, Errno> {
        let renames = Renames::new(buffered)?;
        Ok((connects || renames.is_needed()).then_some(Self { renames, closed: false }))
    }

    /// Returns what to wait for: the end of the work on a call, or else the next call.
    pub(super) fn descriptor<'a>(&'a self, listener: BorrowedFd<'a>) -> Option<BorrowedFd<'a>> {
        let waited = self.renames.work().unwrap_or(listener);
        (!self.closed).then_some(waited)
    }

    /// Answers calls whose work is done, and looks at those that wait; `connecting` gets the address
    /// that somebody is about to connect to.
    pub(super) fn look(
        &mut self,
        listener: BorrowedFd<'_>,
        connecting: &mut dyn FnMut(SocketAddr),
    ) {
        while let Some(waited) = self.descriptor(listener) {
            let mut fd = [PollFd::from_borrowed_fd(waited, PollFlags::IN)];
            let polled = poll(&mut fd, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
            let ready = fd.first().map_or(PollFlags::empty(), PollFd::revents);
            if polled != Ok(1) {
                return;
            }
            self.closed = !ready.contains(PollFlags::IN);
            if self.renames.work().is_some() {
                self.renames.end_work(listener);
            } else if !self.closed {
                self.take_next(listener, connecting);
            }
        }
    }

    fn take_next(&mut self, listener: BorrowedFd<'_>, connecting: &mut dyn FnMut(SocketAddr)) {
        let Ok(call) = sys::announced::receive(listener) else { return };
        if i64::from(call.number) == libc::SYS_connect {
            if let Some(address) = connects::address(&call) {
                connecting(address);
            }
            return sys::announced::let_go_on(listener, &call);
        }
        self.renames.take(listener, call);
    }

    /// Waits until nothing changes a layer any more.
    pub(super) fn finish(self) {
        self.renames.finish();
    }
}
