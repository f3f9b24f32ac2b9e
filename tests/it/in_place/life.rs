//! From start to end without a pid namespace: codes, signals, and nothing that outlives the run.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{IN_PLACE, run};
use crate::harness::{Running, World, mark, marked, soon, within};

const HUP: i32 = 1;
const KILL: i32 = 9;
const TERM: i32 = 15;

fn start(world: &World, script: &str) -> Running {
    let mut command = world.endow(IN_PLACE);
    Running::start(command.args(["--", "sh", "-c", script]).stderr(Stdio::null()))
}

#[test]
fn exit_code_is_the_commands() {
    let world = World::new();
    run(&world, &[], "exit 7").fails(7);
    run(&world, &[], "kill -TERM $$").fails(143);
    let mut missing = world.endow(IN_PLACE);
    crate::harness::said(missing.args(["--", "no-such-tool"])).fails(127);
}

#[test]
fn signals_are_passed_on_and_the_second_request_kills() {
    let world = World::new();
    let mark = mark();
    let trap = "trap 'echo got-term' TERM; trap 'echo got-hup' HUP; echo ready";
    let mut running = start(&world, &format!("{trap}; while :; do sleep {mark} & wait $!; done"));
    running.expect("ready");
    running.signal(TERM);
    running.expect("got-term");
    running.signal(HUP);
    assert_eq!(running.end(), 128 + KILL);
    within(Duration::from_secs(2), "every process is gone", || marked(&mark).is_empty());
    world.assert_no_run_left();
}

#[track_caller]
fn check_ended_soon(script: &str) {
    let (world, mark) = (World::new(), mark());
    let begun = Instant::now();
    run(&world, &[], &script.replace("MARK", &mark)).ok();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{script} took {took:?}");
    assert_eq!(marked(&mark), Vec::<i32>::new(), "{script}");
    world.assert_no_run_left();
}

#[test]
fn what_the_command_leaves_behind_is_ended() {
    check_ended_soon("sleep MARK &");
    check_ended_soon("(trap '' TERM HUP INT; sleep MARK) &");
    check_ended_soon("setsid -f setsid -f sleep MARK");
    check_ended_soon(
        "setsid -f sh -c 'trap \"\" TERM; sleep MARK & wait' </dev/null >/dev/null 2>&1",
    );
    check_ended_soon("sleep MARK & kill -STOP $!");
}

#[test]
fn time_limit_ends_every_process() {
    let (world, mark) = (World::new(), mark());
    let script = format!(
        "setsid -f sh -c 'trap \"\" TERM; sleep {mark}'; trap '' TERM; sleep {mark}; sleep {mark}"
    );
    run(&world, &["--timeout", "300ms", "--grace", "200ms"], &script).fails(124);
    within(Duration::from_secs(2), "every process is gone", || marked(&mark).is_empty());
}

#[test]
fn killed_supervisor_takes_every_process_along() {
    let (world, mark) = (World::new(), mark());
    let script = format!(
        "(trap '' TERM INT HUP; setsid sleep {mark}) & setsid -f sleep {mark}; echo ready; exec sleep {mark}"
    );
    let mut running = start(&world, &script);
    running.expect("ready");
    soon("all three sleep", || marked(&mark).len() >= 3);
    running.signal(KILL);
    assert_eq!(running.end(), 128 + KILL);
    within(Duration::from_secs(1), "every process is gone", || marked(&mark).is_empty());
    run(&world, &[], "true").ok();
    world.assert_no_run_left();
}

/// A storm of processes is no hiding place: the signal reaches all of them at once.
#[test]
fn processes_that_fork_all_the_time_are_ended() {
    let (world, mark) = (World::new(), mark());
    let storm = "import os, sys
print('ready', flush=True)
for _ in range(4):
    if os.fork() == 0: break
while True:
    if os.fork() > 0: os._exit(0)
    os.setsid()";
    let mut command = world.endow(IN_PLACE);
    command.args(["--", "sh", "-c", "python3 -c \"$0\" $1; sleep $1", storm, &mark]);
    let mut running = Running::start(command.stderr(Stdio::null()));
    running.expect("ready");
    std::thread::sleep(Duration::from_millis(200));
    running.signal(KILL);
    running.end();
    within(Duration::from_secs(3), "every process is gone", || marked(&mark).is_empty());
}

#[test]
fn processes_outside_are_untouched_when_a_run_ends() {
    let (world, mark) = (World::new(), mark());
    let mut bystander = world.command("sleep").arg(&mark).spawn().expect("sleep starts");
    check_ended_soon("setsid -f sleep MARK");
    run(&world, &["--timeout", "100ms", "--grace", "50ms"], "trap '' TERM; sleep 9; sleep 9")
        .fails(124);
    assert_eq!(bystander.try_wait().expect("a child"), None);
    drop(bystander.kill());
    drop(bystander.wait());
}
