//! One name, looked up by a process that does nothing else meanwhile.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::dns::upstream::{Failure, LookUp, Outcome, Upstream};

/// Returns the addresses of a name as they are known where this process is.
///
/// # Errors
/// ENOENT where the name has none, ETIMEDOUT where nobody says so `within` a time, EACCES where a server
/// refuses to answer, ENETUNREACH where none can be reached, else EIO.
pub(crate) fn addresses(name: &str, within: Duration) -> Result<Vec<IpAddr>, Errno> {
    let mut upstream = Upstream::of_this_machine()?;
    let until = Instant::now() + within;
    match upstream.look_up(name, Instant::now()) {
        LookUp::Done(outcome) => of(outcome),
        LookUp::Waiting(_) => wait(&mut upstream, until),
    }
}

fn wait(upstream: &mut Upstream, until: Instant) -> Result<Vec<IpAddr>, Errno> {
    loop {
        if let Some((_, _, outcome)) = upstream.take_done().pop() {
            return of(outcome);
        }
        let now = Instant::now();
        if now >= until {
            return Err(Errno::TIMEDOUT);
        }
        let next = upstream.deadline().unwrap_or(until).min(until);
        let left = Timespec::try_from(next.saturating_duration_since(now)).ok();
        let mut descriptors = [PollFd::from_borrowed_fd(upstream.descriptor(), PollFlags::IN)];
        match poll(&mut descriptors, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        upstream.ready(Instant::now());
        upstream.expire(Instant::now());
    }
}

fn of(outcome: Outcome) -> Result<Vec<IpAddr>, Errno> {
    match outcome {
        Outcome::Addresses { addresses, .. } => Ok(addresses),
        Outcome::NoSuchName | Outcome::NoAddress => Err(Errno::NOENT),
        Outcome::Failed(Failure::TimedOut) => Err(Errno::TIMEDOUT),
        Outcome::Failed(Failure::Refused) => Err(Errno::ACCESS),
        Outcome::Failed(Failure::Unreachable) => Err(Errno::NETUNREACH),
        Outcome::Failed(_) => Err(Errno::IO),
    }
}
