//! The loop: it waits, turns signals into events, and has each sandbox look at its news.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::event::Notice;
use super::outcome::Ended;
use super::supervised::Supervised;
use super::terminal::{Line, Terminal};
use crate::sys;
use crate::sys::signal::SignalSet;

/// Supervises a set of sandboxes until the last one has ended; returns how each did.
pub(crate) fn run(
    set: &mut [Supervised<'_>],
    terminal: Option<&Terminal>,
    notify: &mut dyn FnMut(usize, Notice),
) -> Result<Vec<Ended>, Errno> {
    let signals = sys::signal::descriptor(SignalSet::ALL)?;
    let mut line = Line::new();
    set.iter_mut().try_for_each(|one| one.begin(terminal.is_some()))?;
    while set.iter().any(|one| one.ended().is_none()) {
        wait(&signals, set)?;
        while let Some(arrived) = sys::signal::read(&signals) {
            // Before 6.5 a splice to a connection that is gone raises SIGPIPE.
            let own = arrived.from_self && arrived.signal == libc::SIGPIPE;
            if own || line.repeats(arrived) || set.iter_mut().any(|one| one.takes(arrived)) {
                continue;
            }
            let event = line.event(arrived.signal, arrived.from_kernel);
            for (number, one) in set.iter_mut().enumerate() {
                one.on(event, &mut |it| notify(number, it));
            }
        }
        for (number, one) in set.iter_mut().enumerate().filter(|(_, one)| one.ended().is_none()) {
            one.look(&mut |notice| notify(number, notice));
        }
    }
    let ended: Vec<Ended> = set.iter().filter_map(Supervised::ended).collect();
    if let Some(terminal) = terminal {
        give_back(terminal, &ended);
    }
    Ok(ended)
}

/// A command that ended by itself leaves the terminal as it wants; one that was ended could not.
fn give_back(terminal: &Terminal, ended: &[Ended]) {
    terminal.take_back();
    if ended.iter().any(|ended| ended.outcome.was_ended()) {
        terminal.restore_modes();
    }
}

/// Waits until there is something else to do than to answer announced calls.
fn wait(signals: &OwnedFd, set: &mut [Supervised<'_>]) -> Result<(), Errno> {
    while wait_once(signals, set)? {
        set.iter_mut().for_each(Supervised::answer_calls);
    }
    Ok(())
}

/// Returns whether announced calls are all that came.
fn wait_once(signals: &OwnedFd, set: &[Supervised<'_>]) -> Result<bool, Errno> {
    let mut fds = vec![PollFd::new(signals, PollFlags::IN)];
    for one in set.iter().filter(|one| one.ended().is_none()) {
        fds.extend(one.descriptors().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    }
    let soonest = set.iter().filter_map(Supervised::next_time).min();
    let left = soonest.map(|at| at.saturating_duration_since(Instant::now()));
    let is_late = left.is_some_and(|left| left.is_zero());
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut fds, left.as_ref()) {
        Ok(ready) => {
            let calling = set.iter().filter_map(Supervised::listens).map(|fd| fd.as_raw_fd());
            let calling: Vec<_> = calling.collect();
            let is_call = |fd: &&PollFd<'_>| {
                fd.revents() == PollFlags::IN && calling.contains(&fd.as_fd().as_raw_fd())
            };
            let calls = fds.iter().filter(is_call).count();
            Ok(!is_late && calls > 0 && calls == ready)
        }
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno),
    }
}
