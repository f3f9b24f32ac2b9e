//! What outlives the command or its supervisor: nothing, and soon.

use std::time::{Duration, Instant};

use crate::harness::{Running, World, endow, mark, marked, said, send, soon, within};

const KILL: i32 = 9;
const STOP: i32 = 19;
const CONTINUE: i32 = 18;

/// Runs a script that leaves something behind, and returns how long the run took.
fn timed(world: &World, script: &str) -> Duration {
    let begun = Instant::now();
    world.run(&[], script).ok();
    begun.elapsed()
}

#[track_caller]
fn check_ended_soon(script: &str) {
    let (world, mark) = (World::new(), mark());
    let took = timed(&world, &script.replace("MARK", &mark));
    assert!(took < Duration::from_secs(5), "{script} took {took:?}");
    assert_eq!(marked(&mark), Vec::<i32>::new(), "{script}");
    world.assert_no_run_left();
}

#[test]
fn child_left_behind_is_never_waited_for() {
    check_ended_soon("sleep MARK &");
    check_ended_soon("sleep MARK >/dev/null 2>&1 </dev/null &");
    check_ended_soon("(sleep MARK & sleep MARK & wait) & exec true");
}

#[test]
fn child_that_ignores_the_request_to_end_is_killed() {
    check_ended_soon("(trap '' TERM HUP INT; sleep MARK) &");
    check_ended_soon("(trap '' TERM; while :; do sleep MARK; done) & exec true");
}

#[test]
fn child_in_a_session_of_its_own_is_ended() {
    check_ended_soon("setsid sleep MARK &");
    check_ended_soon("setsid sh -c 'sleep MARK & exec sleep MARK' </dev/null >/dev/null 2>&1 &");
    check_ended_soon("setsid -f sh -c 'trap \"\" TERM; sleep MARK'");
    check_ended_soon("setsid -f setsid -f sleep MARK");
}

#[test]
fn child_that_is_stopped_is_ended() {
    check_ended_soon("sleep MARK & kill -STOP $!");
}

#[test]
fn child_gets_a_tenth_of_a_second_to_say_goodbye() {
    let world = World::new();
    let polite = "python3 -c 'import os, signal, time
if os.fork(): os._exit(0)
signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b\"bye\\n\"), os._exit(0)))
os.kill(os.getpid(), signal.SIGCONT)
time.sleep(60)'";
    let mut command = world.endow(["--", "sh", "-c", &format!("{polite}; sleep 0.3")]);
    assert_eq!(said(&mut command).ok(), "bye\n");
}

#[test]
fn killed_supervisor_takes_every_process_along() {
    let (world, mark) = (World::new(), mark());
    let script = format!(
        "(trap '' TERM INT HUP; setsid sleep {mark}) & setsid -f sleep {mark}; echo ready; exec sleep {mark}"
    );
    let mut running = Running::start(&mut world.endow(["--", "sh", "-c", &script]));
    running.expect("ready");
    soon("all three sleep", || marked(&mark).len() >= 3);
    running.signal(KILL);
    assert_eq!(running.end(), 128 + KILL);
    within(Duration::from_secs(1), "every process is gone", || marked(&mark).is_empty());
}

#[test]
fn state_of_a_killed_supervisor_is_swept_by_the_next_run() {
    let (world, mark) = (World::new(), mark());
    let script = format!("mkdir -m 0 ~/closed; echo x >/tmp/file; echo ready; exec sleep {mark}");
    let mut running = Running::start(&mut world.endow(["--", "sh", "-c", &script]));
    running.expect("ready");
    running.signal(KILL);
    running.end();
    assert_ne!(std::fs::read_dir(world.state().join("runs")).expect("runs").count(), 0);
    soon("every process is gone", || marked(&mark).is_empty());
    world.run(&[], "true").ok();
    world.assert_no_run_left();
}

#[test]
fn running_sandbox_is_not_swept() {
    let world = World::new();
    let script = "echo kept >/tmp/file; echo ready; read line; cat /tmp/file";
    let mut command = world.endow(["--", "sh", "-c", script]);
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("ready");
    for _ in 0..3 {
        world.run(&[], "true").ok();
    }
    running.say("\n");
    running.expect("kept");
    assert_eq!(running.end(), 0);
    world.assert_no_run_left();
}

#[test]
fn killed_pid_1_ends_the_run_and_is_told() {
    let (world, mark) = (World::new(), mark());
    let script = format!("echo ready; exec sleep {mark}");
    let mut command = world.endow(["--", "sh", "-c", &script]);
    let mut running = Running::start(command.stderr(std::process::Stdio::null()));
    running.expect("ready");
    soon("it sleeps", || marked(&mark).iter().any(|pid| is_sleep(*pid)));
    let sleep = marked(&mark).into_iter().find(|pid| is_sleep(*pid)).expect("the command");
    let pid_1 = parent(sleep);
    assert_eq!(parent(pid_1), running.pid());
    send(KILL, pid_1);
    assert_eq!(running.end(), 125);
    within(Duration::from_secs(1), "the command is gone", || marked(&mark).is_empty());
    world.assert_no_run_left();
}

fn is_sleep(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
}

fn parent(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("alive");
    let after = stat.rsplit_once(')').expect("a name").1;
    after.split_whitespace().nth(1).and_then(|it| it.parse().ok()).expect("a parent")
}

#[test]
fn die_with_parent_ends_the_run_with_its_starter() {
    let (world, mark) = (World::new(), mark());
    for (flag, lives) in [("--die-with-parent", false), ("--verbose", true)] {
        let endow = crate::harness::endow();
        let mut shell = world.command("sh");
        let script = "\"$0\" run \"$1\" -- sh -c \"echo ready; exec sleep $2\" & read line";
        shell.args(["-c", script]).arg(endow).args([flag, &mark]);
        shell.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        let mut running = Running::start(&mut shell);
        running.expect("ready");
        running.hush();
        running.end();
        if lives {
            soon("it sleeps", || marked(&mark).iter().any(|pid| is_sleep(*pid)));
            kill_supervisor(&marked(&mark));
        }
        within(Duration::from_secs(2), "the run ends", || marked(&mark).is_empty());
    }
}

/// A parent that has ended sends no signal any more.
#[test]
fn die_with_parent_ends_what_has_no_parent_any_more() {
    let (world, mark) = (World::new(), mark());
    let mut shell = world.command("sh");
    let script = "\"$0\" run --die-with-parent -- sleep \"$1\" & echo $!; read line";
    shell.args(["-c", script]).arg(crate::harness::endow()).arg(&mark);
    shell.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut running = Running::start(&mut shell);
    let endow: i32 = running.line().parse().expect("a number");
    while !has_begun(endow) {}
    send(STOP, endow);
    running.hush();
    running.end();
    send(CONTINUE, endow);
    within(Duration::from_secs(2), "endow ends", || marked(&mark).is_empty());
}

/// Rust's runtime, which begins after a program's own first words, ignores SIGPIPE.
fn has_begun(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t"));
    let ignored = ignored.and_then(|it| u64::from_str_radix(it, 16).ok()).unwrap_or_default();
    ignored & (1 << 12) != 0
}

fn kill_supervisor(marked: &[i32]) {
    let sleep = marked.iter().copied().find(|pid| is_sleep(*pid)).expect("the command");
    let supervisor = parent(parent(sleep));
    send(KILL, supervisor);
}

/// Adopts what loses its parent, runs a command, and tells whether a process is left of it.
const ADOPTS: &str = "import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
code = subprocess.call(sys.argv[1:], stderr=subprocess.DEVNULL)
try:
    os.waitpid(-1, os.WNOHANG)
    print(code, 'left')
except ChildProcessError:
    print(code, 'none')";

#[test]
fn run_that_is_refused_after_it_began_leaves_no_process() {
    let world = World::new();
    // The policy can hold, so pid 1 is begun; that the source is missing shows in the plan.
    let mut command = world.command("python3");
    command.args(["-c", ADOPTS]).arg(endow());
    command.args(["run", "--ro", "/there/is/no/such/source", "--", "true"]);
    assert_eq!(said(&mut command).ok(), "125 none\n");
    world.assert_no_run_left();
}
