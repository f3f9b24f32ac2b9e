//! The loop: it waits, turns what happened into events, and does what was decided.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::capture::Capture;
use super::decide::{Decision, State, decide};
use super::event::{Action, Event, Notice};
use super::measured::Measured;
use super::outcome::Ended;
use super::renames::Renames;
use super::renew::Renewal;
use super::stop;
use super::terminal::Terminal;
use crate::apply::{MESSAGE_SIZE, Message, Sandbox};
use crate::plan::step::SupervisePlan;
use crate::sys;
use crate::sys::signal::{Arrived, SignalSet};

/// The time between TERM and KILL when none was said.
const GRACE_DEFAULT: Duration = Duration::from_secs(10);

/// The time in which a terminal's signal has reached every process of its group.
const ONE_AFTER_ANOTHER: Duration = Duration::from_millis(2);

/// One sandbox under supervision.
#[derive(Debug)]
pub(crate) struct Supervised {
    sandbox: Sandbox,
    /// Pid 1 says no more; its end is still to come.
    silent: bool,
    state: State,
    wake: Option<Instant>,
    renewal: Option<Renewal>,
    renames: Option<Renames>,
    measured: Option<Measured>,
    capture: Option<Capture>,
    ended: Option<Ended>,
}

impl Supervised {
    /// Takes a sandbox that was just spawned.
    pub(crate) fn new(
        sandbox: Sandbox,
        plan: &SupervisePlan,
        renewal: Option<Renewal>,
        own_session: bool,
    ) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let timeout = plan.limits.timeout.map(millis);
        let grace = millis(plan.limits.grace.unwrap_or(GRACE_DEFAULT));
        let ignored = sys::signal::ignored();
        let state = State::new(timeout, grace, own_session).ignoring(ignored);
        let state = if renewal.is_some() { state.on_duty() } else { state };
        Self {
            sandbox,
            silent: false,
            state,
            wake: None,
            renewal,
            renames: None,
            measured: None,
            capture: None,
            ended: None,
        }
    }

    /// Reads what the command writes.
    pub(crate) fn capturing(mut self, capture: Option<Capture>) -> Self {
        self.capture = capture;
        self
    }

    /// Prepares directories of copy-on-write mounts for being renamed.
    pub(crate) fn renaming(mut self, renames: Option<Renames>) -> Self {
        self.renames = renames;
        self
    }

    /// Ends the run when its layers pass their limits.
    pub(crate) fn measuring(mut self, measured: Option<Measured>) -> Self {
        self.measured = measured;
        self
    }

    /// Returns what the command wrote, and the layers in memory, when nothing changes them any
    /// more.
    pub(crate) fn into_parts(self) -> (Option<Capture>, Vec<OwnedFd>) {
        if let Some(renames) = self.renames {
            renames.finish();
        }
        (self.capture, self.sandbox.descriptors.layers)
    }
}

/// Supervises a set of sandboxes until the last one has ended; returns how each did.
pub(crate) fn run(
    set: &mut [Supervised],
    terminal: Option<&Terminal>,
    notify: &mut dyn FnMut(usize, Notice),
) -> Result<Vec<Ended>, Errno> {
    let signals = sys::signal::descriptor(SignalSet::ALL)?;
    set.iter_mut().filter_map(|one| one.renewal.as_mut()).try_for_each(Renewal::start)?;
    while set.iter().any(|one| one.ended.is_none()) {
        wait(&signals, set)?;
        while let Some(arrived) = sys::signal::read(&signals) {
            if set.iter_mut().any(|one| one.takes(arrived)) {
                continue;
            }
            let (signal, from_terminal) = (arrived.signal, arrived.from_kernel);
            for (number, one) in set.iter_mut().enumerate() {
                one.on(Event::Signal { signal, from_terminal }, &mut |it| notify(number, it));
            }
        }
        for (number, one) in set.iter_mut().enumerate().filter(|(_, one)| one.ended.is_none()) {
            one.look(&mut |notice| notify(number, notice));
        }
    }
    let ended: Vec<Ended> = set.iter().filter_map(|one| one.ended).collect();
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

fn wait(signals: &OwnedFd, set: &[Supervised]) -> Result<(), Errno> {
    let mut fds = vec![PollFd::new(signals, PollFlags::IN)];
    for one in set.iter().filter(|one| one.ended.is_none()) {
        fds.extend(one.descriptors().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    }
    let soonest = set.iter().filter_map(Supervised::next_time).min();
    let left = soonest.map(|at| at.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut fds, left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

impl Supervised {
    fn next_time(&self) -> Option<Instant> {
        let measure = self.measured.as_ref().map(Measured::next);
        self.wake.into_iter().chain(measure).min().filter(|_| self.ended.is_none())
    }

    fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let socket = (!self.silent).then(|| self.sandbox.socket.as_fd());
        let pid_1 = socket.into_iter().chain([self.sandbox.pidfd.as_fd()]);
        let captured = self.capture.iter().flat_map(Capture::descriptors);
        let renewal = self.renewal.as_ref().and_then(Renewal::descriptor);
        let listener = self.sandbox.descriptors.listener.as_ref().map(AsFd::as_fd);
        let renames = self.renames.as_ref().zip(listener);
        let renames = renames.and_then(|(renames, listener)| renames.descriptor(listener));
        pid_1.chain(renewal).chain(renames).chain(captured)
    }

    /// Returns whether a signal tells of a watched directory, and is nobody else's matter.
    fn takes(&mut self, arrived: Arrived) -> bool {
        self.renewal.as_mut().is_some_and(|renewal| renewal.take(arrived))
    }

    /// Looks at everything that may have news of this sandbox.
    fn look(&mut self, notify: &mut dyn FnMut(Notice)) {
        let gone = self.is_gone();
        while let Some(message) = self.receive() {
            self.on(Event::Said(message), notify);
        }
        if self.wake.is_some_and(|at| at <= Instant::now()) {
            self.wake = None;
            self.on(Event::Time, notify);
        }
        if self.measured.as_mut().is_some_and(Measured::is_passed) {
            self.on(Event::LayerLimit, notify);
        }
        if let Some(renewal) = &mut self.renewal {
            renewal.renew(&self.sandbox, &mut |number| notify(Notice::Renewed(number)));
        }
        if let (Some(renames), Some(listener)) =
            (&mut self.renames, &self.sandbox.descriptors.listener)
        {
            renames.look(listener.as_fd());
        }
        if let Some(capture) = &mut self.capture {
            capture.read();
        }
        // Asked for before the messages were read: pid 1's last words are not lost.
        if gone {
            self.on(Event::Gone, notify);
        }
    }

    /// Reaps pid 1 when it has ended: the kernel then has ended every process inside.
    fn is_gone(&self) -> bool {
        let mut fd = [PollFd::new(&self.sandbox.pidfd, PollFlags::IN)];
        let ready = poll(&mut fd, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        matches!(ready, Ok(1)) && sys::wait::until_ended(self.sandbox.pid).is_ok()
    }

    fn receive(&mut self) -> Option<Message> {
        let mut bytes = [0; MESSAGE_SIZE];
        let received = sys::socket::receive(&self.sandbox.socket, &mut bytes, RecvFlags::DONTWAIT);
        let (length, descriptors) = received.ok()?;
        self.silent = length == 0;
        let message = Message::decode(bytes.get(..length)?)?;
        self.sandbox.keep(message, descriptors);
        Some(message)
    }

    fn on(&mut self, event: Event, notify: &mut dyn FnMut(Notice)) {
        if self.ended.is_some() {
            return;
        }
        let Decision { action, notice, wake_ms, ended } = decide(&mut self.state, event);
        if let Some(notice) = notice {
            notify(notice);
        }
        if let Some(ms) = wake_ms {
            self.wake = Some(Instant::now() + Duration::from_millis(ms));
        }
        if let Some(action) = action {
            self.act(action);
        }
        self.ended = ended;
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

    /// A process that is gone needs no signal, so errors say nothing.
    fn act(&self, action: Action) {
        match action {
            Action::Forward(signal) => self.forward(signal),
            Action::ForwardHeld(held) => held.each().for_each(|signal| self.forward(signal)),
            Action::Terminate => {
                let message = Message::Terminate.encode();
                let _ = sys::socket::send(&self.sandbox.socket, &message, &[]);
            }
            Action::Kill => self.sandbox.kill(),
            Action::StopSelf(signal) => {
                if let Some(command) = &self.sandbox.descriptors.command {
                    stop::as_stopped(command, signal);
                }
            }
        }
    }
}

/// Ends endow, and with it the run, when the process that started it ends.
pub(crate) fn die_with_parent() {
    let kill = Some(rustix::process::Signal::KILL);
    let _ = rustix::process::set_parent_process_death_signal(kill);
}
