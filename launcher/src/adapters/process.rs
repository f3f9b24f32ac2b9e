//! A process of endow's own that does one thing for a run, outside of the sandbox. It is a program
//! of its own, which lies beside endow.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use endow_policy::{AdapterAnswer, ORDER_MAX};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{RecvFlags, Shutdown, shutdown};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::Serialize;
use serde_json::error::Category;
use zeroize::Zeroizing;

use super::environment::Environment;
use crate::sys::socket;

/// How long it may take to say that it serves.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take to end.
const GRACE: Duration = Duration::from_secs(6);
/// The most bytes of an answer.
const ANSWER_MAX: usize = 1 << 14;
/// The most bytes of an answer to a question.
const LONG_ANSWER_MAX: usize = 192 << 10;

/// Why an adapter does not serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdapterError {
    /// The program is not there.
    #[error("no such program: {}", .0.display())]
    Missing(PathBuf),
    /// It can't be started or spoken to.
    #[error("can't start {}", path.display())]
    Start { path: PathBuf, source: io::Error },
    /// It says that it can't serve.
    #[error("{0}")]
    Refused(String),
    /// Its order can't be sent.
    #[error("what it is told has more than {ORDER_MAX} bytes, in which each secret counts twice")]
    TooLong,
    /// It ended, or said nothing.
    #[error("{} gives no answer", .0.display())]
    NoAnswer(PathBuf),
}

/// An adapter's process. Dropped, it is told to end and waited for.
#[derive(Debug)]
pub(super) struct Adapter {
    control: Option<OwnedFd>,
    child: Child,
}

impl Adapter {
    /// Starts a program with its orders, and waits until it serves. What it says to nobody in
    /// particular goes where endow's own errors go.
    pub(super) fn start(
        name: &str,
        order: &[u8],
        with: &[BorrowedFd<'_>],
        environment: Environment<'_>,
    ) -> Result<Self, AdapterError> {
        let path = beside_endow(name)?;
        if order.len() > ORDER_MAX {
            return Err(AdapterError::TooLong);
        }
        let started = || -> io::Result<Self> {
            let (ours, theirs) = socket::pair()?;
            // The kernel takes twice as much (socket(7)), which the longest order needs.
            set_socket_send_buffer_size(&ours, ORDER_MAX)?;
            let mut command = Command::new(&path);
            command.stdin(Stdio::from(theirs)).stdout(Stdio::null());
            environment.give(&mut command);
            let adapter = Self { control: Some(ours), child: command.spawn()? };
            adapter.send(order, with)?;
            Ok(adapter)
        };
        let adapter = started().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => AdapterError::Missing(path.clone()),
            _ => AdapterError::Start { path: path.clone(), source },
        })?;
        match adapter.answer() {
            Some(AdapterAnswer::Ready) => Ok(adapter),
            Some(AdapterAnswer::Failed(why)) => Err(AdapterError::Refused(why)),
            None => Err(AdapterError::NoAnswer(path)),
        }
    }

    /// Sends a message without waiting: one that does not keep up gets no more.
    pub(super) fn send(&self, message: &[u8], with: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let control = self.control.as_ref().ok_or(Errno::PIPE)?;
        socket::send_at_once(control, message, with)
    }

    /// Sends a question and waits for the answer, however long that takes: one that answers keeps its own time.
    /// `None`: it is gone.
    pub(super) fn ask(&self, question: &[u8], with: &[BorrowedFd<'_>]) -> Option<Vec<u8>> {
        let control = self.control.as_ref()?;
        self.send(question, with).ok()?;
        let mut bytes = vec![0; LONG_ANSWER_MAX];
        loop {
            match socket::receive(control, &mut bytes, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                Ok((0, _)) | Err(_) => return None,
                Ok((length, _)) => {
                    bytes.truncate(length);
                    return Some(bytes);
                }
            }
        }
    }

    /// Returns what tells that the adapter has ended; nothing where the kernel has no descriptor for that.
    pub(super) fn end(&self, of: Helper) -> Option<End> {
        let pidfd = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).ok()?;
        Some(End { of, pidfd })
    }

    /// Returns what becomes readable when it says something, or is gone.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(AsFd::as_fd)
    }

    /// Returns what it has said since, a message at a time with the descriptors that came with it;
    /// nothing more when it is gone.
    pub(super) fn heard(&mut self) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
        let mut bytes = vec![0; ANSWER_MAX];
        let received = socket::receive(self.control.as_ref()?, &mut bytes, RecvFlags::DONTWAIT);
        match received {
            Ok((0, _)) => self.control = None,
            Ok((length, with)) => {
                bytes.truncate(length);
                return Some((bytes, with));
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.control = None,
        }
        None
    }

    /// Lets it end, and returns what it says until it has, or has had its time.
    pub(super) fn last_words(&mut self) -> impl Iterator<Item = (Vec<u8>, Vec<OwnedFd>)> {
        if let Some(control) = &self.control {
            // One that is gone hears nothing anyway.
            shutdown(control, Shutdown::Write).unwrap_or_default();
        }
        let until = Instant::now() + GRACE;
        std::iter::from_fn(move || self.heard_until(until))
    }

    fn heard_until(&mut self, until: Instant) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            wait(self.control.as_ref()?.as_fd(), left);
            if let Some(heard) = self.heard() {
                return Some(heard);
            }
        }
    }

    fn answer(&self) -> Option<AdapterAnswer> {
        let control = self.control.as_ref()?;
        wait(control.as_fd(), PATIENCE)?;
        let mut bytes = vec![0; ANSWER_MAX];
        let received = socket::receive(control, &mut bytes, RecvFlags::DONTWAIT);
        let (length, _) = received.ok()?;
        serde_json::from_slice(bytes.get(..length)?).ok()
    }
}

/// Writes an order that holds secrets: in one place, which is wiped.
pub(super) fn secret_order(order: &impl Serialize) -> Result<Zeroizing<Vec<u8>>, AdapterError> {
    let mut message = Zeroizing::new(vec![0; ORDER_MAX]);
    let mut rest = message.as_mut_slice();
    let written = serde_json::to_writer(&mut rest, order);
    let left = rest.len();
    // Writing fails for want of room alone.
    let failed = |error: serde_json::Error| match error.classify() {
        Category::Io => AdapterError::TooLong,
        _ => AdapterError::Refused(error.to_string()),
    };
    written.map_err(failed)?;
    message.truncate(ORDER_MAX - left);
    Ok(message)
}

impl Drop for Adapter {
    fn drop(&mut self) {
        self.control = None;
        let ended = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty());
        if !ended.is_ok_and(|pidfd| wait(pidfd.as_fd(), GRACE).is_some()) {
            self.child.kill().unwrap_or_default();
        }
        drop(self.child.wait());
    }
}

/// Which process of endow's own it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helper {
    /// The one that adds secrets to requests.
    Broker,
    /// The one before the user's ssh-agent.
    SshAgent,
    /// The one that serves bridges.
    Bridges,
    /// The one that takes protected names out of live mounts.
    Guard,
}

impl Helper {
    /// Returns its name: that of its program, but for the guard, which is endow itself.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Broker => "endow-broker",
            Self::SshAgent => "endow-ssh-agent",
            Self::Bridges => "endow-bridge",
            Self::Guard => "endow-guard",
        }
    }
}

/// What tells that a process of endow's own has ended.
#[derive(Debug)]
pub(crate) struct End {
    /// Which one.
    pub(crate) of: Helper,
    pidfd: OwnedFd,
}

impl End {
    /// Returns what becomes readable when the process has ended.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Returns whether the process has ended.
    pub(crate) fn has_come(&self) -> bool {
        wait(self.pidfd.as_fd(), Duration::ZERO).is_some()
    }
}

/// Waits for something to read.
fn wait(fd: BorrowedFd<'_>, patience: Duration) -> Option<()> {
    let timeout = Timespec::try_from(patience).ok()?;
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    matches!(poll(&mut fds, Some(&timeout)), Ok(1)).then_some(())
}

/// Returns where a program of endow's lies: in the directory of endow itself.
fn beside_endow(name: &str) -> Result<PathBuf, AdapterError> {
    let own = std::env::current_exe();
    own.map(|own| own.with_file_name(name))
        .map_err(|source| AdapterError::Start { path: name.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_are_too_long_together_are_told_as_that() {
        let order = |length: usize| secret_order(&"x".repeat(length));
        assert_eq!(order(ORDER_MAX - 2).expect("as much as fits").len(), ORDER_MAX);
        assert!(matches!(order(ORDER_MAX - 1), Err(AdapterError::TooLong)));
    }

    #[test]
    fn longest_order_can_be_sent() {
        let (ours, theirs) = socket::pair().expect("a pair");
        set_socket_send_buffer_size(&ours, ORDER_MAX).expect("set");
        socket::send_at_once(&ours, &vec![b'x'; ORDER_MAX], &[]).expect("sent");
        let mut bytes = vec![0; ORDER_MAX];
        let (length, _) = socket::receive(&theirs, &mut bytes, RecvFlags::DONTWAIT).expect("it");
        assert_eq!(length, ORDER_MAX);
    }
}
