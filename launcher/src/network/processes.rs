//! Which process has a connection: for those who read it, since it takes looking at all of them.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{getpeername, getsockname};

use super::spares::{self, Inside};
use crate::sys::holders::{has, numbers, search};
use crate::sys::{diagnosis, internet};

/// The most threads and descriptors of theirs: a command may have millions.
const ENTRIES_MAX: usize = 8192;
/// Searches take this part of the supervisor's time at most,
const SHARE: u32 = 8;
/// beyond what they may take at first.
const CREDIT: Duration = Duration::from_millis(100);

/// A process inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// Its number inside.
    pub(crate) pid: i32,
    /// The name that it gives itself.
    pub(crate) name: String,
}

/// How they are found.
#[derive(Debug, Default)]
pub(super) struct Processes {
    wanted: bool,
    /// Asks about sockets of the inside; `None` until it is needed.
    asking: Option<OwnedFd>,
    /// The one that connected last, as the host sees it.
    last: Option<i32>,
    pace: Pace,
}

/// How much time was taken. Whoever connects chooses how often there is a search, and how long it
/// takes; the supervisor has other duties.
#[derive(Debug, Default)]
struct Pace {
    spent: Duration,
    asked: Option<Instant>,
}

impl Pace {
    /// Returns whether a search may take more time now.
    fn allows(&mut self, now: Instant) -> bool {
        let passed = self.asked.replace(now).map(|asked| now.saturating_duration_since(asked));
        self.spent = self.spent.saturating_sub(passed.unwrap_or_default() / SHARE);
        self.spent <= CREDIT
    }
}

impl Processes {
    /// Looks for them from now on.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }

    /// Returns the process that has the other side of a connection that was taken inside.
    pub(super) fn other_side(
        &mut self,
        near: &OwnedFd,
        inside: Option<Inside<'_>>,
    ) -> Option<Process> {
        let inside = inside.filter(|_| self.wanted)?;
        let now = Instant::now();
        if !self.pace.allows(now) {
            return None;
        }
        let holder = self.holder(near, inside);
        self.pace.spent += now.elapsed();
        self.last = holder.or(self.last);
        Process::of(holder?)
    }

    fn holder(&mut self, near: &OwnedFd, inside: Inside<'_>) -> Option<i32> {
        let inode = self.inode(near, inside).ok()?;
        let link = PathBuf::from(format!("socket:[{inode}]"));
        let mut left = ENTRIES_MAX;
        let last = self.last.filter(|pid| has(*pid, &link, &mut left));
        last.or_else(|| search(inside.pid_1, &link, &mut left))
    }

    fn inode(&mut self, near: &OwnedFd, inside: Inside<'_>) -> Result<u64, Errno> {
        let client: SocketAddr = getpeername(near)?.ok_or(Errno::NOTCONN)?.try_into()?;
        let here: SocketAddr = getsockname(near)?.try_into()?;
        let (client, here) = (internet::plain(client), internet::plain(here));
        if self.asking.is_none() {
            self.asking = spares::asking(inside).ok();
        }
        let asking = self.asking.as_ref().ok_or(Errno::NOTCONN)?;
        diagnosis::inode(asking.as_fd(), client, here)
    }
}

impl Process {
    /// Looks for the process that has a thread of this number, as the host sees it.
    pub(crate) fn of(thread: i32) -> Option<Self> {
        // It may give itself any bytes for a name.
        let status = |pid: i32| fs::read(format!("/proc/{pid}/status")).ok();
        let bytes = status(thread)?;
        let own = String::from_utf8_lossy(&bytes);
        let group = numbers(field(&own, "Tgid:")?).first().copied()?;
        let bytes = if group == thread { bytes.clone() } else { status(group)? };
        let first = String::from_utf8_lossy(&bytes);
        let pid = numbers(field(&first, "NSpid:")?).last().copied()?;
        let plain = |c| if matches!(c, ' '..='~') { c } else { '?' };
        let name = field(&first, "Name:")?.trim().chars().map(plain).collect();
        Some(Self { pid, name })
    }
}

fn field<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_take_a_part_of_the_time() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let mut allows = |milliseconds, took| {
            let allowed = pace.allows(start + Duration::from_millis(milliseconds));
            pace.spent += Duration::from_millis(if allowed { took } else { 0 });
            allowed
        };
        assert!(allows(0, 60) && allows(1, 60));
        assert!(!allows(2, 0) && !allows(100, 0));
        assert!(allows(200, 60) && !allows(300, 0));
    }
}
