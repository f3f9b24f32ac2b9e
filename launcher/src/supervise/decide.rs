//! The supervisor's decisions: pure, so that every order of events can be tested.

use super::event::{Action, Counted, Event, Notice};
use super::outcome::{Ended, Outcome};
use crate::apply::{Message, StepFailure, Usage};
use crate::sys::signal::{self, SignalSet};

/// What is known of one sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each remembers one thing that happened")]
pub(crate) struct State {
    /// Milliseconds until TERM; `None` without a time limit.
    timeout_ms: Option<u64>,
    /// Milliseconds between TERM and KILL.
    grace_ms: u64,
    /// The command has a session of its own: no terminal reaches it.
    own_session: bool,
    interrupt_ends: bool,
    /// Names are kept covered.
    on_duty: bool,
    /// endow was started in the foreground of a terminal, where somebody can continue it.
    in_front: bool,
    /// Whether a continue that comes is the one that ends a sleep.
    sleep: Sleep,
    /// From outside it was asked to stop.
    asked_to_stop: bool,
    /// What the caller ignores, and so does the command unless it says otherwise.
    ignored: SignalSet,
    /// What of that is not passed on to a command that finds no signal ignored, and would end by it.
    kept: SignalSet,
    /// What came before there was a command to pass it on to.
    held: SignalSet,
    phase: Phase,
    timed_out: bool,
    layer_full: Option<Counted>,
    given_up: bool,
    short: bool,
    signals: u32,
    /// The command was asked to end, and has no longer than the grace to do so.
    asked_to_end: bool,
    no_keyring: bool,
    failure: Option<StepFailure>,
    exited: Option<(i32, u32, Usage)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    Terminating,
    Killed,
}

/// A shell continues the whole group, the command with endow: one that has been told to go on needs no
/// second continue, which would undo a stop that it made since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    None,
    /// endow stopped itself.
    Slept,
    /// The command goes on by itself, or has stopped anew.
    Reached,
}

/// What follows from an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// What to do.
    pub(crate) action: Option<Action>,
    /// What to tell.
    pub(crate) notice: Option<Notice>,
    /// In how many milliseconds to come back with [`Event::Time`].
    pub(crate) wake_ms: Option<u64>,
    /// The run is over.
    pub(crate) ended: Option<Ended>,
}

impl State {
    /// Returns the state before anything happened.
    pub(crate) fn new(timeout_ms: Option<u64>, grace_ms: u64, own_session: bool) -> Self {
        Self {
            timeout_ms,
            grace_ms,
            own_session,
            on_duty: false,
            in_front: false,
            sleep: Sleep::None,
            asked_to_stop: false,
            ignored: SignalSet::default(),
            kept: SignalSet::default(),
            held: SignalSet::default(),
            phase: Phase::Starting,
            timed_out: false,
            layer_full: None,
            given_up: false,
            short: false,
            signals: 0,
            asked_to_end: false,
            interrupt_ends: false,
            no_keyring: false,
            failure: None,
            exited: None,
        }
    }

    /// Says that names are kept covered.
    pub(crate) fn on_duty(self) -> Self {
        Self { on_duty: true, ..self }
    }

    /// Says whether an interrupt ends the command as TERM does.
    pub(crate) fn ended_by_interrupt(self, interrupt_ends: bool) -> Self {
        Self { interrupt_ends, ..self }
    }

    /// Says whether endow was started in the foreground of a terminal.
    pub(crate) fn set_in_front(&mut self, in_front: bool) {
        self.in_front = in_front;
    }

    /// In how many milliseconds a run is ended that has not started: what its view is made of may not answer.
    /// Its command has all of its time from the start.
    pub(crate) fn latest_start_ms(&self) -> Option<u64> {
        Some(self.timeout_ms?.saturating_add(self.grace_ms))
    }

    fn reach(&mut self) {
        if self.sleep == Sleep::Slept {
            self.sleep = Sleep::Reached;
        }
    }

    /// Begins the time in which a command must end that was asked to; `None` when it was not, or it
    /// has begun.
    fn grace(&mut self) -> Option<u64> {
        let begins = self.asked_to_end && self.phase == Phase::Running;
        if begins {
            self.phase = Phase::Terminating;
        }
        begins.then_some(self.grace_ms)
    }

    /// Remembers that the command is to end. One that has not started hears nothing of it: after as long as it would
    /// have had, in milliseconds, the run ends.
    fn ask_to_end(&mut self) -> Option<u64> {
        let is_asked = std::mem::replace(&mut self.asked_to_end, true);
        (!is_asked && self.phase == Phase::Starting).then_some(self.grace_ms)
    }

    fn resume(&mut self) -> Option<Action> {
        match std::mem::replace(&mut self.sleep, Sleep::None) {
            Sleep::None => Some(Action::Forward(libc::SIGCONT)),
            Sleep::Slept => Some(Action::Resume),
            Sleep::Reached => None,
        }
    }

    /// Says which signals the caller ignores: they are passed on, but ask for nothing.
    pub(crate) fn ignoring(self, ignored: SignalSet) -> Self {
        Self { ignored, ..self }
    }

    /// Says whether the command finds none of them ignored: then they are not passed on.
    pub(crate) fn keeping_what_is_ignored(self, is_kept: bool) -> Self {
        let kept = if is_kept { self.ignored } else { SignalSet::default() };
        Self { kept, ..self }
    }
}

/// Takes one event and says what follows.
pub(crate) fn decide(state: &mut State, event: Event) -> Decision {
    match event {
        Event::Said(message) => said(state, message),
        Event::Gone => Decision { ended: Some(ended(state)), ..Decision::default() },
        Event::Signal { signal, from_terminal } => signaled(state, signal, from_terminal),
        Event::HungUp { reached } => hung_up(state, reached),
        Event::Time => time(state),
        Event::LayerLimit(counted) if state.phase == Phase::Running => {
            state.layer_full = Some(counted);
            terminate(state, Notice::LayerLimit(counted))
        }
        // Nobody would ever hear what it says from here on.
        Event::Unkept if state.phase != Phase::Killed => kill(state),
        Event::LayerLimit(_) | Event::Unkept => Decision::default(),
        Event::Short => {
            state.short = true;
            Decision { action: Some(Action::End), ..kill(state) }
        }
    }
}

fn said(state: &mut State, message: Message) -> Decision {
    match message {
        Message::Failed(failure) => {
            state.failure = state.failure.or(Some(failure));
            Decision::default()
        }
        Message::NoKeyring => {
            state.no_keyring = true;
            Decision::default()
        }
        Message::Started => started(state),
        Message::Stopped { signal } if signal::is_a_stop(signal) => stopped(state, signal),
        Message::Continued => {
            state.reach();
            Decision { notice: Some(Notice::Continued), ..Decision::default() }
        }
        Message::Exited { status, leftovers, usage } => {
            state.exited = Some((status, leftovers, usage));
            Decision::default()
        }
        Message::Namespaces
        | Message::Listener
        | Message::Layer
        | Message::Sockets
        | Message::Handed
        // endow would not stop by it, but end.
        | Message::Stopped { .. }
        | Message::Terminate
        | Message::Planned
        | Message::Steps { .. }
        | Message::Opening { .. } => Decision::default(),
    }
}

fn started(state: &mut State) -> Decision {
    let notice = Some(Notice::Started);
    // It was killed before this was read: it stays so.
    if state.phase != Phase::Starting {
        return Decision { notice, ..Decision::default() };
    }
    state.phase = Phase::Running;
    let held = std::mem::take(&mut state.held);
    let action = (held != SignalSet::default()).then_some(Action::ForwardHeld(held));
    let wake_ms = state.grace().or(state.timeout_ms);
    Decision { action, notice, wake_ms, ended: None }
}

/// The command must not put the supervisor to sleep while its time is limited: what it left behind
/// would outlive it. As `timeout` does, endow then stays awake, unless it was asked. So it does where
/// names are to be kept covered, unless a terminal says that somebody is there to continue it.
fn stopped(state: &mut State, signal: i32) -> Decision {
    let is_timed = state.timeout_ms.is_some() || state.asked_to_end;
    let may_sleep = !is_timed && (!state.on_duty || state.in_front);
    let follows = !state.own_session && (may_sleep || state.asked_to_stop);
    state.asked_to_stop = false;
    state.reach();
    if follows {
        state.sleep = Sleep::Slept;
    }
    let action = follows.then_some(Action::StopSelf(signal));
    Decision { action, notice: Some(Notice::Stopped(signal)), ..Decision::default() }
}

/// A terminal sends its signals to the command as well. What a process sends is passed on; asked
/// a second time to end, the run is killed, and asked by TERM when the command has had its grace.
fn signaled(state: &mut State, signal: i32, from_terminal: bool) -> Decision {
    if signal == libc::SIGCHLD || state.kept.contains(signal) {
        return Decision::default();
    }
    let is_interrupt = signal == libc::SIGINT && !from_terminal;
    let signal = if is_interrupt && state.interrupt_ends { libc::SIGTERM } else { signal };
    state.asked_to_stop |= signal == libc::SIGTSTP;
    let starting = state.phase == Phase::Starting;
    let reached = from_terminal && !state.own_session && signal != libc::SIGCONT;
    if reached && !starting {
        return Decision::default();
    }
    let asks_to_end = matches!(signal, libc::SIGINT | libc::SIGTERM | libc::SIGHUP);
    let counts = asks_to_end && !from_terminal && !state.ignored.contains(signal);
    state.signals += u32::from(counts);
    if counts && state.signals > 1 {
        state.given_up = true;
        return kill(state);
    }
    let wake_ms = if counts && signal == libc::SIGTERM { state.ask_to_end() } else { None };
    if starting {
        // Nothing inside has heard of it: a key that is pressed again asks endow.
        let asks = from_terminal && is_a_key(signal) && !state.ignored.contains(signal);
        if asks && state.held.contains(signal) {
            state.given_up = true;
            return kill(state);
        }
        state.held = state.held.with(signal);
        return Decision { wake_ms, ..Decision::default() };
    }
    let action =
        if signal == libc::SIGCONT { state.resume() } else { Some(Action::Forward(signal)) };
    Decision { action, wake_ms: state.grace(), ..Decision::default() }
}

fn is_a_key(signal: i32) -> bool {
    matches!(signal, libc::SIGINT | libc::SIGQUIT)
}

/// Nobody sees any more what the command does: it ends, unless the caller wants it to go on. The kernel
/// tells the leader of a session alone, and else the command, too.
fn hung_up(state: &mut State, reached: bool) -> Decision {
    if state.kept.contains(libc::SIGHUP) {
        return Decision::default();
    }
    let wake_ms = if state.ignored.contains(libc::SIGHUP) { None } else { state.ask_to_end() };
    if state.phase == Phase::Starting {
        state.held = state.held.with(libc::SIGHUP);
        return Decision { wake_ms, ..Decision::default() };
    }
    let is_told = reached && !state.own_session;
    let action = (!is_told).then_some(Action::Forward(libc::SIGHUP));
    Decision { action, wake_ms: state.grace(), ..Decision::default() }
}

fn kill(state: &mut State) -> Decision {
    state.phase = Phase::Killed;
    let notice = Some(Notice::Killed);
    Decision { action: Some(Action::Kill), notice, ..Decision::default() }
}

fn time(state: &mut State) -> Decision {
    match state.phase {
        Phase::Running => {
            state.timed_out = true;
            terminate(state, Notice::TimeLimit)
        }
        Phase::Terminating => {
            state.given_up |= state.asked_to_end;
            kill(state)
        }
        // There is no command yet that could be asked to end.
        Phase::Starting => {
            state.given_up |= state.asked_to_end;
            state.timed_out |= !state.asked_to_end;
            kill(state)
        }
        Phase::Killed => Decision::default(),
    }
}

fn terminate(state: &mut State, notice: Notice) -> Decision {
    state.phase = Phase::Terminating;
    Decision {
        action: Some(Action::Terminate),
        notice: Some(notice),
        wake_ms: Some(state.grace_ms),
        ended: None,
    }
}

fn ended(state: &State) -> Ended {
    let outcome = match (state.failure, state.exited) {
        // What pid 1 says then comes of that.
        _ if state.short => Outcome::Short,
        (Some(failure), _) => Outcome::SetupFailed(failure),
        _ if state.timed_out => Outcome::TimedOut,
        _ if state.layer_full.is_some() => Outcome::LayerFull,
        (None, Some((status, ..))) => Outcome::of_status(status),
        (None, None) if state.phase == Phase::Killed => Outcome::Signaled(libc::SIGKILL),
        (None, None) => Outcome::Lost,
    };
    Ended {
        outcome,
        leftovers: state.exited.map_or(0, |(_, leftovers, _)| leftovers),
        usage: state.exited.map(|(.., usage)| usage),
        given_up: state.given_up,
        no_keyring: state.no_keyring,
        counted: state.layer_full.unwrap_or(Counted::Layers),
    }
}

#[cfg(test)]
mod tests;
