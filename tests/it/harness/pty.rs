//! A pseudo-terminal, as a person has one: typed into, and read until something is shown.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::process::{PATIENCE, code, soon};

/// A program in the foreground of a terminal of its own.
pub(crate) struct Pty {
    /// Until the terminal is closed.
    master: Option<File>,
    child: Child,
    shown: Vec<u8>,
    /// How much of it has been waited for.
    seen: usize,
}

impl Pty {
    /// Starts a program as the leader of a new session on a new terminal of 80 by 24.
    #[track_caller]
    pub(crate) fn start(command: &Command) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(name, flags, Mode::empty()).expect("the other side");
        let mut leader = in_session(command);
        leader.stdin(stream(&slave)).stdout(stream(&slave)).stderr(stream(&slave));
        resize(&master, 80, 24);
        let child = leader.spawn().expect("setsid starts");
        Self { master: Some(File::from(master)), child, shown: Vec::new(), seen: 0 }
    }

    /// Types.
    #[track_caller]
    pub(crate) fn type_in(&mut self, text: &str) {
        let mut master = self.master.as_ref().expect("open");
        master.write_all(text.as_bytes()).expect("the terminal takes it");
    }

    /// Waits until `text` is shown after what was waited for before.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let unseen = &self.shown[self.seen..];
            let found = unseen.windows(text.len()).position(|it| it == text.as_bytes());
            if let Some(at) = found {
                self.seen += at + text.len();
                return;
            }
            let open = Instant::now() < end && self.read();
            assert!(open, "{text:?} is not shown: {}", self.screen());
        }
    }

    /// Waits for a line between `<` and `>`, and returns what is between.
    #[track_caller]
    pub(crate) fn bracketed(&mut self) -> String {
        self.expect("<");
        let from = self.seen;
        self.expect(">");
        String::from_utf8_lossy(&self.shown[from..self.seen - 1]).into_owned()
    }

    /// Waits for the end of the program; returns its exit code and all that was shown.
    #[track_caller]
    pub(crate) fn end(mut self) -> (i32, String) {
        let mut status = None;
        soon("the program on the terminal ends", || {
            self.read_at_once();
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        self.read_at_once();
        (status.map_or(-1, code), self.screen())
    }

    /// Gives the terminal a size.
    #[track_caller]
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        resize(self.master.as_ref().expect("open"), columns, rows);
    }

    /// Closes the terminal, as its window does.
    pub(crate) fn close(&mut self) {
        self.master = None;
    }

    /// Returns all that was shown.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// Reads what is shown next; false at the end or when nothing comes.
    fn read(&mut self) -> bool {
        self.read_within(PATIENCE.as_secs().cast_signed())
    }

    fn read_at_once(&mut self) {
        while self.read_within(0) {}
    }

    fn read_within(&mut self, seconds: i64) -> bool {
        let Some(mut master) = self.master.as_ref() else { return false };
        let mut fds = [PollFd::new(master, PollFlags::IN)];
        let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
        let mut bytes = [0; 4096];
        if !matches!(poll(&mut fds, Some(&time)), Ok(1)) {
            return false;
        }
        let length = master.read(&mut bytes).unwrap_or(0);
        self.shown.extend_from_slice(&bytes[..length]);
        length > 0
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn resize(terminal: impl AsFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a size");
}

fn stream(slave: &OwnedFd) -> Stdio {
    Stdio::from(slave.try_clone().expect("a copy"))
}

/// The program as the leader of a session that owns its terminal. Only setsid(1) can arrange that
/// without code between fork and exec.
fn in_session(command: &Command) -> Command {
    let mut leader = Command::new("setsid");
    leader.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
    leader.env_clear();
    leader.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        leader.current_dir(directory);
    }
    leader
}
