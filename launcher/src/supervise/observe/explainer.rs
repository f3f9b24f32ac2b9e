//! The process that judges names.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{
    FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstat, fstatvfs, openat2,
};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::{getpid, nice};
use serde::{Deserialize, Serialize};

use super::asked::Asked;
use super::{Judge, VecDeque, Wanted};
use crate::plan::why::{Denial, Need};
use crate::sys;
use crate::sys::clone::Cloned;

/// How many names are judged at once, and the most bytes of them: a socket takes that at once.
const NAMES: usize = 64;
const BYTES: usize = 48 * 1024;
/// Judging gets less of the processor than the command.
const NICENESS: i32 = 5;

/// What is said of a name.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Judged {
    /// Why it was refused.
    pub(super) denial: Option<Denial>,
    /// The view has it.
    pub(super) is_there: bool,
}

/// The process that judges names, as long as it is there.
#[derive(Debug)]
pub(super) struct Explainer(Option<Working>);

#[derive(Debug)]
struct Working {
    pidfd: OwnedFd,
    socket: OwnedFd,
    /// What it judges just now.
    asked: Vec<Wanted>,
    /// What was read of its answer.
    answer: Vec<u8>,
}

impl Explainer {
    /// Starts the process, with the view's root. Where that can't be, nothing is judged.
    pub(super) fn start(root: &OwnedFd, judge: &Judge<'_>) -> Self {
        Self(start(root, judge).ok())
    }

    /// Returns what becomes readable with an answer.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let working = self.0.as_ref().filter(|working| !working.asked.is_empty());
        working.map(|working| working.socket.as_fd())
    }

    /// How many names are being judged.
    pub(super) fn waiting(&self) -> usize {
        self.0.as_ref().map_or(0, |working| working.asked.len())
    }

    /// Hands over the next names when it has none; returns how many can't be judged any more.
    pub(super) fn ask(&mut self, pending: &mut VecDeque<Wanted>) -> u64 {
        let Some(working) = &mut self.0 else {
            return u64::try_from(pending.drain(..).count()).unwrap_or(u64::MAX);
        };
        if working.asked.is_empty() && !working.hand_over(pending) {
            let lost = working.asked.len();
            self.0 = None;
            return u64::try_from(lost).unwrap_or(u64::MAX);
        }
        0
    }

    /// Returns what was judged since.
    pub(super) fn read(&mut self) -> Vec<(Wanted, Judged)> {
        let Some(working) = self.0.as_mut().filter(|working| !working.asked.is_empty()) else {
            return Vec::new();
        };
        let judged = working.read();
        if judged.is_err() {
            self.0 = None;
        }
        judged.unwrap_or_default()
    }

    /// Waits for an answer that is still to come; returns whether there may be one.
    pub(super) fn wait(&self, until: Instant) -> bool {
        let Some(socket) = self.descriptor() else { return false };
        let left = until.saturating_duration_since(Instant::now());
        let mut fd = [PollFd::from_borrowed_fd(socket, PollFlags::IN)];
        let left = Timespec::try_from(left).ok();
        matches!(poll(&mut fd, left.as_ref()), Ok(1..) | Err(Errno::INTR))
    }
}

/// The process may wait for a file system that never answers: it is killed, and not waited for.
impl Drop for Working {
    fn drop(&mut self) {
        let _ = sys::signal::send(&self.pidfd, libc::SIGKILL);
    }
}

impl Working {
    fn hand_over(&mut self, pending: &mut VecDeque<Wanted>) -> bool {
        let mut bytes = 0;
        while self.asked.len() < NAMES
            && let Some(next) = pending.pop_front_if(|next| bytes + next.asked.size() <= BYTES)
        {
            bytes += next.asked.size();
            self.asked.push(next);
        }
        let asked: Vec<&Asked> = self.asked.iter().map(|wanted| &wanted.asked).collect();
        let Some(packet) = packet(&asked) else { return false };
        send(&self.socket, &packet, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) == Ok(packet.len())
    }

    fn read(&mut self) -> Result<Vec<(Wanted, Judged)>, Errno> {
        let mut part = [0; 8192];
        loop {
            match recv(&self.socket, &mut part, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(Errno::PIPE),
                Ok((length, _)) => self.answer.extend(part.iter().take(length)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(errno),
            }
        }
        let Some(content) = content(&self.answer) else { return Ok(Vec::new()) };
        let judged: Vec<Judged> = postcard::from_bytes(content).map_err(|_| Errno::BADMSG)?;
        self.answer.clear();
        Ok(std::mem::take(&mut self.asked).into_iter().zip(judged).collect())
    }
}

/// A length, and what follows.
fn packet(content: &impl Serialize) -> Option<Vec<u8>> {
    let content = postcard::to_allocvec(content).ok()?;
    let mut packet = u32::try_from(content.len()).ok()?.to_ne_bytes().to_vec();
    packet.extend(content);
    Some(packet)
}

/// Returns the content of a packet that is whole.
fn content(bytes: &[u8]) -> Option<&[u8]> {
    let (length, content) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_ne_bytes(*length)).ok()?;
    content.get(..length)
}

fn start(root: &OwnedFd, judge: &Judge<'_>) -> Result<Working, Errno> {
    let (socket, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let supervisor = getpid();
    match sys::clone::clone(0, None)? {
        Cloned::Child => {
            drop(socket);
            let _ = nice(NICENESS);
            let done = sys::start::die_with(Some(supervisor))
                .and_then(|()| keep_only([&theirs, root]))
                .and_then(|()| judge_all(&theirs, root, judge));
            sys::clone::exit_now(i32::from(done.is_err()))
        }
        Cloned::Parent { pidfd, .. } => {
            Ok(Working { pidfd, socket, asked: Vec::new(), answer: Vec::new() })
        }
    }
}

/// Closes all descriptors but two: a lock of the run, and pipes whose end somebody waits for, would be held on.
fn keep_only(kept: [&OwnedFd; 2]) -> Result<(), Errno> {
    sys::fd::close_from(0, &mut kept.map(AsRawFd::as_raw_fd))
}

fn judge_all(socket: &OwnedFd, root: &OwnedFd, judge: &Judge<'_>) -> Result<(), Errno> {
    let (mut bytes, mut part) = (Vec::new(), [0; 8192]);
    loop {
        match recv(socket, &mut part, RecvFlags::empty())? {
            (0, _) => return Ok(()),
            (length, _) => bytes.extend(part.iter().take(length)),
        }
        let Some(content) = content(&bytes) else { continue };
        let asked: Vec<Asked> = postcard::from_bytes(content).map_err(|_| Errno::BADMSG)?;
        let judged: Vec<Judged> = asked.iter().map(|asked| judged(asked, root, judge)).collect();
        let packet = packet(&judged).ok_or(Errno::OVERFLOW)?;
        bytes.clear();
        send_all(socket, &packet)?;
    }
}

fn send_all(socket: &OwnedFd, mut packet: &[u8]) -> Result<(), Errno> {
    while !packet.is_empty() {
        let sent = send(socket, packet, SendFlags::NOSIGNAL)?;
        packet = packet.get(sent..).unwrap_or_default();
    }
    Ok(())
}

fn judged(asked: &Asked, root: &OwnedFd, judge: &Judge<'_>) -> Judged {
    let (found, is_plain) = match asked {
        Asked::Path(need, path) => {
            let found = find(root, path, *need);
            let is_plain = found.as_ref().is_some_and(|found| is_plain(found, *need));
            (found, is_plain)
        }
        Asked::Address(_) | Asked::Abstract(_) => (None, false),
    };
    let is_there = found.is_some();
    Judged { denial: if is_plain { None } else { judge(asked, is_there) }, is_there }
}

/// Looks a name up in the view as the guest would, and opens nothing. A link that leads nowhere is
/// enough when nobody wants what is behind it.
fn find(root: &OwnedFd, path: &OsStr, need: Need) -> Option<OwnedFd> {
    let look = |flags: OFlags| {
        let flags = OFlags::PATH | OFlags::CLOEXEC | flags;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        openat2(root, Path::new(path), flags, Mode::empty(), resolve).ok()
    };
    let link = || look(OFlags::NOFOLLOW).filter(|_| need == Need::Presence);
    look(OFlags::empty()).or_else(link)
}

/// Whether it is seen without a question that nothing refuses it, as of most programs.
fn is_plain(found: &OwnedFd, need: Need) -> bool {
    let runs = || {
        let is_program = fstat(found).is_ok_and(|it| {
            FileType::from_raw_mode(it.st_mode) == FileType::RegularFile
                && it.st_mode & 0o111 == 0o111
        });
        is_program && fstatvfs(found).is_ok_and(|it| !it.f_flag.contains(StatVfsMountFlags::NOEXEC))
    };
    need == Need::Presence || (need == Need::Execute && runs())
}
