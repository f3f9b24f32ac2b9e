//! Which process has a connection: for those who read it, since it takes looking at all of them.

use std::fs;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::net::{getpeername, getsockname};

use super::spares::{self, Inside};
use crate::sys::{diagnosis, internet};

/// The most processes of a run that are looked at for one connection.
const PROCESSES_MAX: usize = 256;

/// A process inside.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let inode = self.inode(near, inside).ok()?;
        let link = PathBuf::from(format!("socket:[{inode}]"));
        let last = self.last.filter(|pid| has(*pid, &link));
        let holder = last.or_else(|| below(inside.pid_1).find(|pid| has(*pid, &link)))?;
        self.last = Some(holder);
        named(holder)
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

/// Returns the processes of a run, the first one's descendants.
fn below(pid_1: i32) -> impl Iterator<Item = i32> {
    let mut left = vec![pid_1];
    let next = move || {
        let pid = left.pop()?;
        left.extend(children(pid));
        Some(pid)
    };
    std::iter::from_fn(next).take(PROCESSES_MAX)
}

/// Every thread has children of its own.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn numbers(text: &str) -> Vec<i32> {
    text.split_whitespace().filter_map(|it| it.parse().ok()).collect()
}

/// Returns whether a process has a descriptor of this socket.
fn has(pid: i32, link: &PathBuf) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.filter_map(|it| fs::read_link(it.path()).ok()).any(|it| it == *link)
}

fn named(pid: i32) -> Option<Process> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let of = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
    let pid = numbers(of("NSpid:")?).last().copied()?;
    let name = of("Name:")?.trim().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    Some(Process { pid, name })
}
