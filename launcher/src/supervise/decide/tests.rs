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
fn a_command_that_does_not_heed_a_term_is_killed_after_its_grace() {
    let mut state = State::new(None, 50, false);
    decide(&mut state, Event::Said(Message::Started));
    let first = decide(&mut state, by_process(libc::SIGTERM));
    assert_eq!((first.action, first.wake_ms), (Some(Action::Forward(libc::SIGTERM)), Some(50)));
    assert_eq!(decide(&mut state, by_process(libc::SIGUSR1)).wake_ms, None, "not begun again");
    let stop = decide(&mut state, Event::Said(Message::Stopped { signal: libc::SIGSTOP }));
    assert_eq!(stop.action, None, "asleep nobody would count the time");
    assert_eq!(decide(&mut state, Event::Time).action, Some(Action::Kill));
    let ended = decide(&mut state, Event::Gone).ended.expect("an end");
    assert_eq!((ended.outcome, ended.given_up), (Outcome::Signaled(libc::SIGKILL), true));
}

/// A command that is traced stops at every signal: endow would end by most of them.
#[test]
fn a_stop_by_another_signal_is_none_of_endows() {
    let told = |signal| {
        let mut state = State::new(None, 50, false);
        decide(&mut state, Event::Said(Message::Started));
        decide(&mut state, Event::Said(Message::Stopped { signal }))
    };
    for signal in (-1..=300).filter(|it| ![19, 20, 21, 22].contains(it)) {
        assert_eq!(told(signal), Decision::default(), "{signal}");
    }
    for signal in 19..=22 {
        assert_eq!(told(signal).action, Some(Action::StopSelf(signal)));
    }
}

#[test]
fn a_command_that_heeds_a_term_ended_by_itself() {
    let mut state = running();
    decide(&mut state, by_process(libc::SIGTERM));
    decide(&mut state, exited(3 << 8));
    let ended = decide(&mut state, Event::Gone).ended.expect("an end");
    assert_eq!((ended.outcome, ended.given_up), (Outcome::Exited(3), false));
}

#[test]
fn an_interrupt_has_no_grace() {
    for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGUSR1] {
        assert_eq!(decide(&mut running(), by_process(signal)).wake_ms, None);
    }
}

#[test]
fn hanging_up_ends_the_run_after_a_grace() {
    for (reached, own_session) in [(true, false), (false, false), (true, true)] {
        let mut state = State::new(None, 50, own_session);
        decide(&mut state, Event::Said(Message::Started));
        let hung_up = decide(&mut state, Event::HungUp { reached });
        let is_told = reached && !own_session;
        let action = (!is_told).then_some(Action::Forward(libc::SIGHUP));
        assert_eq!((hung_up.action, hung_up.wake_ms), (action, Some(50)));
        assert_eq!(decide(&mut state, Event::HungUp { reached }).wake_ms, None);
        assert_eq!(decide(&mut state, Event::Time).action, Some(Action::Kill));
    }
}

#[test]
fn hanging_up_ends_nothing_where_the_caller_ignores_it() {
    let ignored = SignalSet::default().with(libc::SIGHUP);
    let mut state = State::new(None, 50, false).ignoring(ignored);
    decide(&mut state, Event::Said(Message::Started));
    assert_eq!(decide(&mut state, Event::HungUp { reached: true }), Decision::default());
}

#[test]
fn what_asks_to_end_before_the_start_has_its_grace_from_there() {
    for event in [by_process(libc::SIGTERM), Event::HungUp { reached: true }] {
        let mut state = State::new(Some(1000), 50, false);
        assert_eq!(decide(&mut state, event).action, None);
        let started = decide(&mut state, Event::Said(Message::Started));
        assert_eq!(started.wake_ms, Some(50));
        assert!(matches!(started.action, Some(Action::ForwardHeld(_))));
        assert_eq!(decide(&mut state, Event::Time).action, Some(Action::Kill));
    }
}

#[test]
fn a_signal_before_the_start_waits_for_it() {
    let mut state = State::new(None, 50, false);
    assert_eq!(decide(&mut state, by_process(libc::SIGTERM)).action, None);
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

/// An action finds no signal ignored: what does not end its build must not end it.
#[test]
fn what_the_caller_ignores_is_kept_from_a_command_that_does_not() {
    let ignored = SignalSet::default().with(libc::SIGHUP).with(libc::SIGINT);
    let mut state = State::new(None, 50, true).ignoring(ignored).keeping_what_is_ignored(true);
    let came =
        [by_process(libc::SIGHUP), by_terminal(libc::SIGINT), Event::HungUp { reached: true }];
    for event in came {
        assert_eq!(decide(&mut state, event), Decision::default());
    }
    let started = decide(&mut state, Event::Said(Message::Started));
    assert_eq!((started.action, started.wake_ms), (None, None));
    for event in came {
        assert_eq!(decide(&mut state, event), Decision::default());
    }
    let action = decide(&mut state, by_process(libc::SIGTERM)).action;
    assert_eq!(action, Some(Action::Forward(libc::SIGTERM)));
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

#[test]
fn run_whose_descriptors_were_lost_is_no_success() {
    let mut state = running();
    assert_eq!(decide(&mut state, Event::Short).action, Some(Action::End));
    decide(&mut state, exited(0));
    let ended = decide(&mut state, Event::Gone).ended.expect("an end");
    assert_eq!(ended.outcome, Outcome::Short);
}

#[test]
fn command_that_nobody_hears_is_killed_once() {
    let mut state = running();
    assert_eq!(decide(&mut state, Event::Unkept).action, Some(Action::Kill));
    assert_eq!(decide(&mut state, Event::Unkept), Decision::default());
    let ended = decide(&mut state, Event::Gone).ended.expect("an end");
    assert_eq!(ended.outcome, Outcome::Signaled(libc::SIGKILL));
}

/// Without the supervisor's listener, say, the command's program can't be executed.
#[test]
fn what_comes_of_lost_descriptors_is_not_told_instead() {
    let mut state = running();
    decide(&mut state, Event::Short);
    let failure = StepFailure { stage: Stage::Payload, step: 0, detail: 0, errno: 38 };
    decide(&mut state, Event::Said(Message::Failed(failure)));
    let ended = decide(&mut state, Event::Gone).ended.expect("an end");
    assert_eq!(ended.outcome, Outcome::Short);
}

#[test]
fn a_start_that_is_heard_of_late_undoes_no_kill() {
    let mut state = State::new(Some(1000), 50, false);
    decide(&mut state, by_process(libc::SIGTERM));
    assert_eq!(decide(&mut state, by_process(libc::SIGTERM)).action, Some(Action::Kill));
    let started = decide(&mut state, Event::Said(Message::Started));
    assert_eq!((started.action, started.wake_ms), (None, None));
    let ended = decide(&mut state, Event::Gone).ended.expect("an end");
    assert_eq!((ended.outcome, ended.given_up), (Outcome::Signaled(libc::SIGKILL), true));
}

#[test]
fn a_run_that_never_starts_ends_at_its_time_limit() {
    let mut state = State::new(Some(1000), 50, false);
    assert_eq!(state.latest_start_ms(), Some(1050));
    assert_eq!(decide(&mut state, Event::Time).action, Some(Action::Kill));
    let ended = decide(&mut state, Event::Gone).ended.expect("an end");
    assert_eq!(ended.outcome, Outcome::TimedOut);
}

#[test]
fn a_key_that_is_pressed_twice_ends_a_run_that_never_starts() {
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        let mut state = State::new(None, 50, false);
        assert_eq!(decide(&mut state, by_terminal(signal)), Decision::default());
        assert_eq!(decide(&mut state, by_terminal(signal)).action, Some(Action::Kill));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!((ended.outcome, ended.given_up), (Outcome::Signaled(libc::SIGKILL), true));
    }
    let mut state = State::new(None, 50, false);
    for _ in 0..2 {
        assert_eq!(decide(&mut state, by_terminal(libc::SIGWINCH)), Decision::default());
    }
    let ignored = SignalSet::default().with(libc::SIGINT);
    let mut state = State::new(None, 50, false).ignoring(ignored);
    for _ in 0..2 {
        assert_eq!(decide(&mut state, by_terminal(libc::SIGINT)), Decision::default());
    }
}

#[test]
fn what_never_starts_ends_after_its_grace_when_it_is_asked_once() {
    for event in [by_process(libc::SIGTERM), Event::HungUp { reached: true }] {
        let mut state = State::new(None, 50, false);
        assert_eq!(decide(&mut state, event).wake_ms, Some(50));
        assert_eq!(decide(&mut state, Event::HungUp { reached: true }).wake_ms, None);
        assert_eq!(decide(&mut state, Event::Time).action, Some(Action::Kill));
        let ended = decide(&mut state, Event::Gone).ended.expect("an end");
        assert_eq!((ended.outcome, ended.given_up), (Outcome::Signaled(libc::SIGKILL), true));
    }
}
