//! What pid 1 says, and its end.

use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::super::event::{Event, Notice};
use super::super::renew::Renewal;
use super::Supervised;
use crate::apply::{MESSAGE_SIZE, Message};
use crate::sys;

impl Supervised<'_> {
    /// Takes what pid 1 has said; returns whether that was all of it. After a sleep the continue that
    /// ended it comes first: what was said since is newer.
    pub(super) fn hear(&mut self, notify: &mut dyn FnMut(Notice)) -> bool {
        while let Some(event) = self.receive() {
            self.on(event, notify);
            if std::mem::take(&mut self.slept) {
                return false;
            }
        }
        true
    }

    /// Reaps pid 1 when it has ended: the kernel then has ended every process inside.
    pub(super) fn is_gone(&self) -> bool {
        let mut fd = [PollFd::new(&self.sandbox.pidfd, PollFlags::IN)];
        let ready = poll(&mut fd, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        matches!(ready, Ok(1)) && sys::wait::until_ended(self.sandbox.pid).is_ok()
    }

    fn receive(&mut self) -> Option<Event> {
        let mut bytes = [0; MESSAGE_SIZE];
        let received = sys::socket::receive(&self.sandbox.socket, &mut bytes, RecvFlags::DONTWAIT);
        if received.as_ref().is_err_and(|errno| *errno == Errno::MFILE) {
            return Some(Event::Short);
        }
        let (length, descriptors) = received.ok()?;
        self.silent = length == 0;
        let message = Message::decode(bytes.get(..length)?)?;
        if !self.sandbox.keep(message, descriptors) {
            return Some(Event::Short);
        }
        self.know(message);
        if matches!(message, Message::Exited { .. }) {
            self.wind_up();
        }
        Some(Event::Said(message))
    }

    /// Nothing is left inside but pid 1. The kernel takes with it what nobody keeps, so what nothing here needs any more is
    /// let go of before; and live mounts are looked through for the last time meanwhile, unless hidden names are put back
    /// in them first.
    fn wind_up(&mut self) {
        let Some(guarding) = &self.guarding else { return };
        if self.served.is_none() && self.renewal.is_none() {
            let descriptors = &mut self.sandbox.descriptors;
            (descriptors.user, descriptors.mount, descriptors.network) = (None, None, None);
        }
        if !self.gone {
            sys::processor::send_away(self.sandbox.pid);
        }
        if !self.renewal.as_ref().is_some_and(Renewal::has_moved) {
            guarding.stop_here();
        }
    }

    /// Takes note of descriptors that came with a message.
    fn know(&mut self, message: Message) {
        let descriptors = &self.sandbox.descriptors;
        if let (Message::Namespaces, Some(mount)) = (message, &descriptors.mount) {
            self.calls.iter_mut().for_each(|calls| calls.view_is_in(mount.as_fd()));
        }
    }
}
