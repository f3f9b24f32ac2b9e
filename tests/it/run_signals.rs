//! Signals: those that come to endow reach the command, and the command starts with the caller's.

use std::process::{Command, Stdio};

use crate::harness::{
    Running, Said, World, is_stopped, mark, marked, pid, project, said, send, soon,
};

/// Tells every signal that reaches it by number, except those that can't be caught.
const TELLS: &str = "import signal, sys
every = [it for it in signal.valid_signals() if it not in (9, 17, 19)]
signal.pthread_sigmask(signal.SIG_BLOCK, every)
print('ready', flush=True)
while True: print(int(signal.sigwait(every)), flush=True)";

const HUP: i32 = 1;
const INT: i32 = 2;
const KILL: i32 = 9;
const TERM: i32 = 15;
const STOP: i32 = 19;
const TSTP: i32 = 20;
const CONT: i32 = 18;

fn teller(world: &World) -> Running {
    let running = Running::start(&mut world.endow(["--", "python3", "-c", TELLS]));
    running.expect("ready");
    running
}

#[test]
fn each_signal_reaches_the_command_once() {
    let world = World::new();
    let running = teller(&world);
    for signal in [3, 10, 12, 14, 28, CONT, 13, 5, 30, 34, 40, 64] {
        running.signal(signal);
        running.expect(&signal.to_string());
    }
}

#[test]
fn first_request_to_end_reaches_the_command_and_the_second_kills_it() {
    for (first, second) in [(TERM, TERM), (INT, TERM), (HUP, INT)] {
        let world = World::new();
        let mut running = teller(&world);
        running.signal(first);
        running.expect(&first.to_string());
        // At once it would be the same request.
        std::thread::sleep(std::time::Duration::from_millis(1200));
        running.signal(second);
        assert_eq!(running.end(), 128 + KILL);
        world.assert_no_run_left();
    }
}

/// timeout(1) sends TERM to the process, and then to its group.
#[test]
fn timeout_in_front_leaves_the_command_its_grace_and_its_work() {
    let world = project();
    // The whole group gets the request, and endow hands it on: the trap may be in it by then.
    let script = "trap 'trap \"\" TERM; echo graceful; exit 3' TERM; echo work >work; echo in
        while :; do sleep 0.05; done";
    let endow = crate::harness::endow();
    let mut command = world.command("timeout");
    command.args(["2", &endow.display().to_string(), "--", "sh", "-c", script]);
    let told = said(&mut command);
    assert_eq!((told.code, told.stdout.as_str()), (124, "in\ngraceful\n"), "{}", told.stderr);
    assert_eq!(world.read("work"), "work\n");
}

/// A shell tells a signal from an exit code of the same number. A kill is told by the code alone.
#[test]
fn endow_ends_by_the_signal_that_ended_the_command() {
    use std::os::unix::process::ExitStatusExt;
    let world = World::new();
    let status = |mut command: Command| command.status().expect("it runs");
    for signal in [HUP, INT, 3, 6, 11, TERM, KILL] {
        let script = format!("kill -{signal} $$");
        let mut bare = world.command("sh");
        bare.args(["-c", &script]);
        let bare = status(bare);
        let inside = status(world.endow(["--", "sh", "-c", &script]));
        assert_eq!(bare.signal(), Some(signal), "control");
        let wanted = if signal == KILL { (None, Some(137)) } else { (Some(signal), None) };
        assert_eq!((inside.signal(), inside.code()), wanted);
    }
    // No core is taken of endow itself, whatever takes cores here.
    let crash = ["-c", "ulimit -c unlimited; exec \"$E\" -- sh -c 'ulimit -c 0; kill -11 $$'"];
    let mut caller = world.command("sh");
    caller.args(crash).env("E", crate::harness::endow());
    let status = status(caller);
    assert!(status.signal() == Some(11) && !status.core_dumped());
}

/// The kernel tells a member of a group of no sender, when the one before it is in another pid namespace.
#[test]
fn request_to_a_process_and_then_to_its_group_is_one() {
    let world = project();
    let send = "import os, signal, subprocess, sys, time
endow = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, start_new_session=True)
endow.stdout.readline()
os.kill(endow.pid, signal.SIGTERM)
time.sleep(0.1)
os.killpg(endow.pid, signal.SIGTERM)
sys.exit(endow.wait())";
    let script = "trap 'trap \"\" TERM; sleep 0.5; exit 3' TERM; echo work >work; echo in
        while :; do sleep 0.05; done";
    let endow = crate::harness::endow().display().to_string();
    let mut command = world.command("python3");
    let told = said(command.args(["-c", send, &endow, "--", "sh", "-c", script]));
    assert_eq!(told.code, 3, "{}", told.stderr);
    assert_eq!(world.read("work"), "work\n");
}

/// The control is the second of these tests' requests: without one the teller goes on for ever.
#[test]
fn command_that_does_not_heed_a_request_to_end_is_killed_after_its_grace() {
    let stops = "import os\n    os.kill(os.getpid(), signal.SIGSTOP)";
    let once = TELLS.replace("while True: print", "while True:\n    print");
    for script in [TELLS, &format!("{once}\n    {stops}")] {
        let world = World::new();
        let options = ["run", "--grace", "500ms", "--", "python3", "-c", script];
        let mut running = Running::start(&mut world.endow(options));
        running.expect("ready");
        running.signal(TERM);
        assert_eq!(running.end(), 128 + KILL);
        world.assert_no_run_left();
    }
}

#[test]
fn signal_to_endow_gives_the_code_that_the_bare_command_gives() {
    let catches = "import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [15])
print('ready', flush=True)
sys.exit(int(signal.sigwait([15])))";
    for signal in [HUP, INT, 3, 10, 14, TERM, 34] {
        check_code(signal, &["sh", "-c", "echo ready; exec sleep 60"]);
    }
    check_code(TERM, &["python3", "-c", catches]);
}

#[track_caller]
fn check_code(signal: i32, command: &[&str]) {
    let world = World::new();
    let mut bare = world.command(command[0]);
    bare.args(&command[1..]);
    let inside = world.endow(["--"].iter().chain(command));
    let [bare, inside] = [bare, inside].map(|mut command| {
        let mut running = Running::start(&mut command);
        running.expect("ready");
        running.signal(signal);
        running.end()
    });
    assert_eq!(inside, bare, "signal {signal}");
}

fn bare_and_inside(script: &str) {
    let world = World::new();
    let bare = world.bare(script);
    let inside = world.run(&[], script);
    assert_eq!((bare.code, bare.stdout), (inside.code, inside.stdout), "{script}: {}", bare.stderr);
}

#[test]
fn exit_codes_equal_the_bare_commands() {
    for code in [0, 1, 2, 70, 100, 120, 124, 125, 126, 127, 128, 200, 255] {
        bare_and_inside(&format!("exit {code}"));
    }
    for signal in [1, 2, 3, 4, 6, 8, 9, 11, 13, 14, 15, 24, 25, 31, 34, 64] {
        bare_and_inside(&format!("kill -{signal} $$; exec sleep 60"));
    }
}

#[test]
fn broken_pipe_ends_the_writer_as_outside() {
    let script = "set -o pipefail; yes | head -1; echo $? ${PIPESTATUS[0]}";
    let script = format!("exec bash -c '{script}'");
    let world = World::new();
    assert_eq!(world.run(&[], &script).ok(), world.bare(&script).ok());
    assert!(world.run(&[], &script).ok().contains("141"));
}

/// The signal state that a command starts with.
const STATE: &str = "grep -E '^(SigQ|SigPnd|ShdPnd|SigBlk|SigIgn|SigCgt):' /proc/self/status \
    | grep -v SigQ";

#[test]
fn signal_state_is_the_callers() {
    let world = World::new();
    let callers: [&[&str]; 9] = [
        &[],
        &["--ignore-signal=XFSZ"],
        &["--ignore-signal=PIPE"],
        &["--ignore-signal=CHLD"],
        &["--ignore-signal=INT", "--ignore-signal=QUIT", "--ignore-signal=HUP"],
        &["--block-signal=USR1", "--block-signal=TERM"],
        &["--block-signal=CHLD", "--ignore-signal=TSTP"],
        &["--block-signal"],
        &["--ignore-signal=PIPE", "--ignore-signal=CHLD", "--ignore-signal=USR2"],
    ];
    for caller in callers {
        let bare = said(world.command("env").args(caller).args(["sh", "-c", STATE]));
        let endow = crate::harness::endow();
        let mut inside = world.command("env");
        inside.args(caller).arg(endow).args(["--", "sh", "-c", STATE]);
        assert_eq!(said(&mut inside).ok(), bare.ok(), "{caller:?}");
    }
}

#[test]
fn ignored_signal_does_not_end_the_run() {
    let world = World::new();
    let script = "echo ready; read line; echo went on";
    let mut command = world.command("env");
    command
        .arg("--ignore-signal=HUP")
        .arg(crate::harness::endow())
        .args(["--", "sh", "-c", script]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("ready");
    running.signal(HUP);
    running.signal(HUP);
    running.say("line\n");
    running.expect("went on");
    assert_eq!(running.end(), 0);
}

#[test]
fn command_that_stops_stops_endow_and_goes_on_with_it() {
    let world = World::new();
    for signal in ["TSTP", "STOP", "TTIN", "TTOU"] {
        let script = format!("kill -{signal} $$; echo on");
        let mut running = Running::start(&mut world.endow(["--", "sh", "-c", &script]));
        wait_until_stopped(&running);
        running.signal(CONT);
        running.expect("on");
        assert_eq!(running.end(), 0);
    }
}

#[test]
fn stop_sent_to_endow_stops_the_command_too() {
    let world = World::new();
    let script = "echo $$; read line; echo on";
    let mut command = world.endow(["--", "sh", "-c", script]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.line();
    running.signal(TSTP);
    wait_until_stopped(&running);
    running.signal(CONT);
    running.say("line\n");
    running.expect("on");
    assert_eq!(running.end(), 0);
    assert_ne!(STOP, TSTP);
}

/// endow reads of the stop when everything has ended: what was said after it is not lost.
#[test]
fn command_that_stopped_and_ended_while_endow_could_not_look_keeps_its_exit_code() {
    let world = World::new();
    let mark = mark();
    let script = "echo ready; read line; kill -STOP $$; echo on; exit 7";
    let mut command = world.endow(["--", "sh", "-c", script, &mark]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.expect("ready");
    running.signal(STOP);
    wait_until_stopped(&running);
    running.say("line\n");
    let inside = || marked(&mark).into_iter().filter(|pid| *pid != running.pid());
    soon("the command stops", || inside().any(is_stopped));
    inside().filter(|pid| is_stopped(*pid)).for_each(|pid| send(CONT, pid));
    running.expect("on");
    soon("pid 1 ends", || !has_living_init(running.pid()));
    running.signal(CONT);
    assert_eq!(running.end(), 7);
}

/// Whether a supervisor's pid 1 is there and not yet a zombie.
fn has_living_init(supervisor: i32) -> bool {
    let read = |path: String| std::fs::read_to_string(path).unwrap_or_default();
    let children = read(format!("/proc/{supervisor}/task/{supervisor}/children"));
    let mut stats = children.split_whitespace().map(|child| read(format!("/proc/{child}/stat")));
    stats.any(|stat| stat.contains("(endow-init) ") && !stat.contains("(endow-init) Z"))
}

/// As it does outside, where nobody looks at its calls.
#[test]
fn what_a_stopped_command_has_started_goes_on() {
    let world = World::new();
    let script = "(sleep 0.2; /bin/echo back) & kill -STOP $$; wait; echo on";
    let mut command =
        world.endow(["--workspace", "none", "--chdir", "/", "--", "sh", "-c", script]);
    let mut running = Running::start(&mut command);
    wait_until_stopped(&running);
    running.expect("back");
    running.signal(CONT);
    running.expect("on");
    assert_eq!(running.end(), 0);
}

#[track_caller]
fn wait_until_stopped(running: &Running) {
    use rustix::process::{WaitOptions, waitpid};
    soon("endow stops", || {
        let found = waitpid(Some(pid(running.pid())), WaitOptions::UNTRACED | WaitOptions::NOHANG);
        found.expect("a child").is_some_and(|(_, status)| status.stopped())
    });
}

#[test]
fn killed_command_says_so_without_noise() {
    let world = World::new();
    let inside = world.run(&[], "kill -KILL $$");
    assert_eq!(inside, Said { code: 137, stdout: String::new(), stderr: String::new() });
}
