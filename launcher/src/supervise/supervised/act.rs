//! What was decided about a sandbox is done.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::event::Action;
use super::super::stop;
use super::Supervised;
use crate::apply::Message;
use crate::sys;

/// The time in which a terminal's signal has reached every process of its group.
const ONE_AFTER_ANOTHER: Duration = Duration::from_millis(2);

impl Supervised<'_> {
    /// A process that is gone needs no signal, so errors say nothing.
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Forward(signal) => self.forward(signal),
            Action::ForwardHeld(held) => held.each().for_each(|signal| self.forward(signal)),
            Action::Terminate => self.ask(Message::Terminate),
            Action::Kill => self.sandbox.kill(),
            Action::End => self.sandbox.let_end(),
            Action::Resume => self.resume(),
            Action::StopSelf(signal) => self.stop(signal),
        }
    }

    /// A continue is passed on late: a stop that the terminal has sent since, to the command as
    /// well, would be undone by it, and is repeated. The terminal reaches the processes of a group
    /// one after another, so its signal to this one may come a little later.
    fn forward(&self, signal: i32) {
        let Some(command) = &self.sandbox.descriptors.command else { return };
        let _ = sys::signal::send(command, signal);
        if signal != libc::SIGCONT {
            return;
        }
        std::thread::sleep(ONE_AFTER_ANOTHER);
        if sys::signal::is_pending(libc::SIGTSTP) {
            let _ = sys::signal::send(command, libc::SIGTSTP);
        }
    }

    /// Whoever continued endow may have continued the command as well; pid 1 tells of that in a moment,
    /// or later on a busy machine: then the command tells it itself. One that the terminal has
    /// stopped again must stay so.
    fn resume(&self) {
        let mut heard = [PollFd::new(&self.sandbox.socket, PollFlags::IN)];
        let moment = Timespec::try_from(ONE_AFTER_ANOTHER).ok();
        let is_told = matches!(poll(&mut heard, moment.as_ref()), Ok(1..));
        let command = self.sandbox.descriptors.command.as_ref();
        let is_asleep = command.is_some_and(stop::is_stopped);
        if !is_told && is_asleep && !sys::signal::is_pending(libc::SIGTSTP) {
            self.forward(libc::SIGCONT);
        }
    }

    fn ask(&self, message: Message) {
        let _ = sys::socket::send(&self.sandbox.socket, &message.encode(), &[]);
    }

    /// Stops until it is continued; meanwhile a stand-in keeps names covered, without which endow stays
    /// awake, and another answers announced calls.
    fn stop(&mut self, signal: i32) {
        let Some(command) = &self.sandbox.descriptors.command else { return };
        let stand_in = self.renewal.as_mut().map(|renewal| renewal.stand_in(&self.sandbox));
        if !matches!(stand_in, Some(Err(_))) {
            // What else the command has started goes on: its calls wait for an answer.
            let calls = self.calls.as_mut().zip(self.sandbox.descriptors.listener.as_ref());
            let _answering = calls.and_then(|(calls, listener)| calls.stand_in(listener));
            stop::as_stopped(command, signal);
            self.slept = true;
        }
    }
}
