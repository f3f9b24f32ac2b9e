//! The caller's terminal: its state before the run, given back after it.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::event::Event;
use crate::sys;
use crate::sys::signal::Arrived;

/// A controlling terminal in whose foreground endow was started.
#[derive(Debug)]
pub(crate) struct Terminal {
    device: OwnedFd,
    group: i32,
    modes: Termios,
}

/// The terminal of the session, which may go away.
#[derive(Debug)]
pub(super) struct Line {
    was_there: bool,
    /// The kernel tells this process alone when it goes.
    leads: bool,
    /// The last request to end, who sent it, and when.
    asked: Option<(i32, i32, Instant)>,
}

/// Who sends a signal to a process and then to its group, as timeout(1) does, means one request. On a busy machine some
/// time passes in between.
const AT_ONCE: Duration = Duration::from_millis(500);

/// The sender of a signal from another pid namespace. The kernel gives each process of a group the sender that the one
/// before it got, and that of a command inside is this one: `kill_pgrp` hands the same `siginfo` on, and
/// `send_signal_locked` writes 0 into it (kernel/signal.c; measured on 6.18).
const SOMEBODY: i32 = 0;

impl Line {
    /// Looks whether there is a terminal.
    pub(super) fn new() -> Self {
        Self { was_there: is_there(), leads: sys::terminal::leads_session(), asked: None }
    }

    /// Returns whether a signal is the same request to end once more.
    pub(super) fn repeats(&mut self, arrived: Arrived) -> bool {
        let Arrived { signal, sender, .. } = arrived;
        let asks = matches!(signal, libc::SIGINT | libc::SIGTERM | libc::SIGHUP);
        if !asks || arrived.from_kernel {
            return false;
        }
        let now = Instant::now();
        let repeats = self.asked.is_some_and(|(same, from, at)| {
            let is_one = from == sender || from == SOMEBODY || sender == SOMEBODY;
            same == signal && is_one && now.duration_since(at) < AT_ONCE
        });
        if !repeats {
            self.asked = Some((signal, sender, now));
        }
        repeats
    }

    /// Returns what a signal means. A shell that hears of the end passes it on as a process does.
    pub(super) fn event(&self, signal: i32, from_terminal: bool) -> Event {
        if signal == libc::SIGHUP && (from_terminal || (self.was_there && !is_there())) {
            return Event::HungUp { reached: from_terminal && !self.leads };
        }
        Event::Signal { signal, from_terminal }
    }
}

fn is_there() -> bool {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(CWD, c"/dev/tty", flags, Mode::empty()).is_ok()
}

impl Terminal {
    /// Remembers the terminal; `None` when there is none, or the caller is in the background.
    pub(crate) fn remember() -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let device = openat(CWD, c"/dev/tty", flags, Mode::empty()).ok()?;
        let group = rustix::process::getpgrp().as_raw_nonzero().get();
        let modes = tcgetattr(&device).ok()?;
        let in_front = sys::terminal::foreground(device.as_fd()) == Some(group);
        in_front.then_some(Self { device, group, modes })
    }

    /// Puts the caller's process group in front again: a shell inside may have left a group of
    /// its own there, which is gone by now. A group that is alive is a job that the caller's
    /// shell has put in front since. SIGTTOU is blocked, as all signals are in the supervisor.
    pub(crate) fn take_back(&self) {
        match sys::terminal::foreground(self.device.as_fd()) {
            Some(front) if front != self.group && !sys::terminal::is_alive(front) => {
                let _ = sys::terminal::set_foreground(self.device.as_fd(), self.group);
            }
            _ => {}
        }
    }

    /// Gives the terminal the modes it had, unless another job is in front: for a command that
    /// had no chance to do so itself.
    pub(crate) fn restore_modes(&self) {
        if sys::terminal::foreground(self.device.as_fd()) == Some(self.group) {
            let _ = tcsetattr(&self.device, OptionalActions::Now, &self.modes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hanging_up_is_told_from_other_signals() {
        let line = |leads| Line { was_there: false, leads, asked: None };
        let plain = Event::Signal { signal: libc::SIGHUP, from_terminal: false };
        assert_eq!(line(false).event(libc::SIGHUP, false), plain, "as a daemon is told to reload");
        assert_eq!(line(false).event(libc::SIGHUP, true), Event::HungUp { reached: true });
        assert_eq!(line(true).event(libc::SIGHUP, true), Event::HungUp { reached: false });
        let interrupt = Event::Signal { signal: libc::SIGINT, from_terminal: true };
        assert_eq!(line(true).event(libc::SIGINT, true), interrupt);
    }

    #[test]
    fn request_to_end_that_comes_twice_at_once_is_one() {
        let mut line = Line { was_there: false, leads: false, asked: None };
        let mut repeats = |signal, sender, from_kernel| {
            line.repeats(Arrived { signal, from_kernel, from_self: false, sender, about: None })
        };
        assert!(!repeats(libc::SIGTERM, 7, false) && repeats(libc::SIGTERM, 7, false));
        assert!(
            repeats(libc::SIGTERM, SOMEBODY, false),
            "its group got it, and a command inside first"
        );
        assert!(!repeats(libc::SIGTERM, 8, false), "another one asks");
        assert!(!repeats(libc::SIGINT, 8, false), "it is asked for more");
        assert!(!repeats(libc::SIGUSR1, 8, false) && !repeats(libc::SIGUSR1, 8, false));
        assert!(!repeats(libc::SIGINT, 0, true) && !repeats(libc::SIGINT, 0, true));
        std::thread::sleep(AT_ONCE);
        assert!(!repeats(libc::SIGINT, 8, false), "that is another request");
    }
}
