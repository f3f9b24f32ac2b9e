//! The supervisor's decisions: pure, so that every order of events can be tested.

use super::event::{Action, Counted, Event, Notice};
use super::outcome::{Ended, Outcome};
use crate::apply::{Message, StepFailure, Usage};
use crate::sys::signal::SignalSet;

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
    /// What came before there was a command to pass it on to.
    held: SignalSet,
    phase: Phase,
    timed_out: bool,
    layer_full: Option<Counted>,
    given_up: bool,
    signals: u32,
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
            held: SignalSet::default(),
            phase: Phase::Starting,
            timed_out: false,
            layer_full: None,
            given_up: false,
            signals: 0,
            no_keyring: false,
            failure: None,
            exited: None,
        }
    }

    /// Says that names are kept covered.
    pub(crate) fn on_duty(self) -> Self {
        Self { on_duty: true, ..self }
    }

    /// Says whether endow was started in the foreground of a terminal.
    pub(crate) fn set_in_front(&mut self, in_front: bool) {
        self.in_front = in_front;
    }

    fn reach(&mut self) {
        if self.sleep == Sleep::Slept {
            self.sleep = Sleep::Reached;
        }
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
}

/// Takes one event and says what follows.
pub(crate) fn decide(state: &mut State, event: Event) -> Decision {
    match event {
        Event::Said(message) => said(state, message),
        Event::Gone => Decision { ended: Some(ended(state)), ..Decision::default() },
        Event::Signal { signal, from_terminal } => signaled(state, signal, from_terminal),
        Event::Time => time(state),
        Event::LayerLimit(counted) if state.phase == Phase::Running => {
            state.layer_full = Some(counted);
            terminate(state, Notice::LayerLimit(counted))
        }
        Event::LayerLimit(_) => Decision::default(),
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
        Message::Started => {
            state.phase = Phase::Running;
            let held = std::mem::take(&mut state.held);
            let action = (held != SignalSet::default()).then_some(Action::ForwardHeld(held));
            let notice = Some(Notice::Started);
            Decision { action, notice, wake_ms: state.timeout_ms, ended: None }
        }
        Message::Stopped { signal } => stopped(state, signal),
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
        | Message::Terminate
        | Message::Planned
        | Message::Steps { .. } => Decision::default(),
    }
}

/// The command must not put the supervisor to sleep while there is a time limit: what it left behind
/// would outlive it. As `timeout` does, endow then stays awake, unless it was asked. So it does where
/// names are to be kept covered, unless a terminal says that somebody is there to continue it.
fn stopped(state: &mut State, signal: i32) -> Decision {
    let may_sleep = state.timeout_ms.is_none() && (!state.on_duty || state.in_front);
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
/// a second time to end, the run is killed.
fn signaled(state: &mut State, signal: i32, from_terminal: bool) -> Decision {
    if signal == libc::SIGCHLD {
        return Decision::default();
    }
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
    if starting {
        state.held = state.held.with(signal);
        return Decision::default();
    }
    let action =
        if signal == libc::SIGCONT { state.resume() } else { Some(Action::Forward(signal)) };
    Decision { action, ..Decision::default() }
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
        Phase::Terminating => kill(state),
        Phase::Starting | Phase::Killed => Decision::default(),
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
mod tests {
    use super::*;
    use crate::apply::Stage;

    fn running() -> State {
        let mut state = State::new(Some(1000), 50, false);
        decide(&mut state, Event::Said(Message::Started));
        state
    }

    fn by_process(signal: i32) -> Event {
        Event::Signal { signal, from_terminal: false }
    }

    fn by_terminal(signal: i32) -> Event {
        Event::Signal { signal, from_terminal: true }
    }

    fn exited(status: i32) -> Event {
        Event::Said(Message::Exited { status, leftovers: 2, usage: Usage::default() })
    }

    #[test]
    fn exit_code_is_the_commands() {
        let mut state = running();
        decide(&mut state, exited(7 << 8));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!((ended.outcome, ended.leftovers), (Outcome::Exited(7), 2));
    }

    #[test]
    fn a_signal_that_ended_the_command_is_told() {
        let mut state = running();
        decide(&mut state, exited(libc::SIGSEGV));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!(ended.outcome, Outcome::Signaled(libc::SIGSEGV));
    }

    #[test]
    fn a_terminals_interrupt_is_not_sent_twice() {
        let mut state = running();
        for _ in 0..3 {
            assert_eq!(decide(&mut state, by_terminal(libc::SIGINT)), Decision::default());
        }
    }

    #[test]
    fn in_a_session_of_its_own_interrupts_are_passed_on_and_never_kill() {
        let mut state = State::new(None, 50, true);
        decide(&mut state, Event::Said(Message::Started));
        for _ in 0..3 {
            let action = decide(&mut state, by_terminal(libc::SIGINT)).action;
            assert_eq!(action, Some(Action::Forward(libc::SIGINT)));
        }
    }

    #[test]
    fn a_second_request_to_end_kills() {
        let mut state = running();
        let first = decide(&mut state, by_process(libc::SIGTERM));
        assert_eq!(first.action, Some(Action::Forward(libc::SIGTERM)));
        let second = decide(&mut state, by_process(libc::SIGINT));
        assert_eq!(second.action, Some(Action::Kill));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!((ended.outcome, ended.given_up), (Outcome::Signaled(libc::SIGKILL), true));
    }

    #[test]
    fn a_signal_before_the_start_waits_for_it() {
        let mut state = State::new(None, 50, false);
        assert_eq!(decide(&mut state, by_process(libc::SIGTERM)), Decision::default());
        assert_eq!(decide(&mut state, by_terminal(libc::SIGINT)), Decision::default());
        let held = SignalSet::default().with(libc::SIGTERM).with(libc::SIGINT);
        let action = decide(&mut state, Event::Said(Message::Started)).action;
        assert_eq!(action, Some(Action::ForwardHeld(held)));
    }

    #[test]
    fn a_second_request_before_the_start_kills() {
        let mut state = State::new(None, 50, false);
        decide(&mut state, by_process(libc::SIGTERM));
        assert_eq!(decide(&mut state, by_process(libc::SIGTERM)).action, Some(Action::Kill));
    }

    #[test]
    fn what_the_caller_ignores_is_passed_on_and_never_kills() {
        let ignored = SignalSet::default().with(libc::SIGHUP);
        let mut state = State::new(None, 50, false).ignoring(ignored);
        decide(&mut state, Event::Said(Message::Started));
        for _ in 0..3 {
            let action = decide(&mut state, by_process(libc::SIGHUP)).action;
            assert_eq!(action, Some(Action::Forward(libc::SIGHUP)));
        }
    }

    #[test]
    fn other_signals_are_passed_on_any_number_of_times() {
        let mut state = running();
        for _ in 0..5 {
            let action = decide(&mut state, by_process(libc::SIGUSR1)).action;
            assert_eq!(action, Some(Action::Forward(libc::SIGUSR1)));
        }
    }

    #[test]
    fn time_terminates_then_kills() {
        let mut state = running();
        let first = decide(&mut state, Event::Time);
        assert_eq!((first.action, first.wake_ms), (Some(Action::Terminate), Some(50)));
        assert_eq!(decide(&mut state, Event::Time).action, Some(Action::Kill));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!(ended.outcome, Outcome::TimedOut);
    }

    #[test]
    fn full_layer_terminates_then_kills() {
        let mut state = State::new(None, 50, false);
        decide(&mut state, Event::Said(Message::Started));
        let first = decide(&mut state, Event::LayerLimit(Counted::Layers));
        assert_eq!((first.action, first.wake_ms), (Some(Action::Terminate), Some(50)));
        assert_eq!(decide(&mut state, Event::LayerLimit(Counted::Layers)), Decision::default());
        assert_eq!(decide(&mut state, Event::Time).action, Some(Action::Kill));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!(ended.outcome, Outcome::LayerFull);
    }

    #[test]
    fn a_command_that_ends_in_its_grace_has_still_timed_out() {
        let mut state = running();
        decide(&mut state, Event::Time);
        decide(&mut state, exited(0));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!(ended.outcome, Outcome::TimedOut);
    }

    #[test]
    fn a_stop_of_the_commands_own_does_not_suspend_a_time_limit() {
        let mut state = running();
        let stop = Event::Said(Message::Stopped { signal: libc::SIGSTOP });
        assert_eq!(decide(&mut state, stop).action, None);
        decide(&mut state, by_terminal(libc::SIGTSTP));
        let asked = decide(&mut state, Event::Said(Message::Stopped { signal: libc::SIGTSTP }));
        assert_eq!(asked.action, Some(Action::StopSelf(libc::SIGTSTP)));
        assert_eq!(decide(&mut state, stop).action, None);
    }

    #[test]
    fn a_watch_is_left_to_a_stand_in_only_at_a_terminal() {
        let mut state = State::new(None, 50, false).on_duty();
        decide(&mut state, Event::Said(Message::Started));
        let stop = || Event::Said(Message::Stopped { signal: libc::SIGTSTP });
        assert_eq!(decide(&mut state, stop()).action, None);
        state.set_in_front(true);
        assert_eq!(decide(&mut state, stop()).action, Some(Action::StopSelf(libc::SIGTSTP)));
    }

    #[test]
    fn a_stop_is_followed_and_goes_on_with_a_continue() {
        let mut state = State::new(None, 50, false);
        decide(&mut state, Event::Said(Message::Started));
        let stop = decide(&mut state, Event::Said(Message::Stopped { signal: libc::SIGTSTP }));
        assert_eq!(stop.action, Some(Action::StopSelf(libc::SIGTSTP)));
        let go = decide(&mut state, by_terminal(libc::SIGCONT));
        assert_eq!(go.action, Some(Action::Resume));
        let again = decide(&mut state, by_process(libc::SIGCONT));
        assert_eq!(again.action, Some(Action::Forward(libc::SIGCONT)));
    }

    #[test]
    fn a_command_that_went_on_by_itself_is_not_continued_again() {
        let stopped = || Event::Said(Message::Stopped { signal: libc::SIGTSTP });
        let went_on = || Event::Said(Message::Continued);
        for news in [went_on(), stopped()] {
            let mut state = State::new(None, 50, false);
            decide(&mut state, Event::Said(Message::Started));
            state.set_in_front(true);
            decide(&mut state, stopped());
            state.timeout_ms = Some(1000);
            decide(&mut state, news);
            assert_eq!(decide(&mut state, by_process(libc::SIGCONT)).action, None);
        }
    }

    #[test]
    fn the_first_failure_is_what_is_told() {
        let mut state = State::new(None, 50, false);
        let failure = StepFailure { stage: Stage::Init, step: 3, detail: 0, errno: 1 };
        decide(&mut state, Event::Said(Message::Failed(failure)));
        decide(&mut state, Event::Said(Message::Failed(StepFailure { step: 9, ..failure })));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!(ended.outcome, Outcome::SetupFailed(failure));
    }

    #[test]
    fn pid_1_killed_from_outside_is_no_success() {
        let mut state = running();
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!(ended.outcome, Outcome::Lost);
    }
}
