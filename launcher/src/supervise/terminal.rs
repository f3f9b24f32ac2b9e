//! The caller's terminal: its state before the run, given back after it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::sys;

/// A controlling terminal in whose foreground endow was started.
#[derive(Debug)]
pub(crate) struct Terminal {
    device: OwnedFd,
    group: i32,
    modes: Termios,
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
