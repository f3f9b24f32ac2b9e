//! A command that has itself traced by its parent, which is pid 1: it then stops at every signal, and endow must not.

use std::fs;

use crate::harness::{Pty, Running, World, marked, soon, within};

/// Has itself traced, and sends itself a signal: at that it stops for good.
const TRACED: &str = "import ctypes, os, signal, sys
assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
print('ready', flush=True)
os.kill(os.getpid(), int(sys.argv[1]))
print('went on', flush=True)";

/// TERM, SEGV, USR1, TRAP.
const SIGNALS: [i32; 4] = [15, 11, 10, 5];

/// Waits until a marked process inside is stopped by its tracer.
fn is_held(mark: &str) -> bool {
    let stat = |pid| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_held = |stat: String| stat.rsplit_once(") ").is_some_and(|(_, it)| it.starts_with('t'));
    marked(mark).into_iter().map(stat).any(is_held)
}

/// The control: what the parent of a command sees that is traced by it is the signal that was sent.
#[test]
fn parent_of_a_traced_command_sees_it_stop() {
    let script = "import os, subprocess, sys
child = subprocess.Popen([sys.executable, '-c', sys.argv[1], sys.argv[2]], stdout=subprocess.DEVNULL)
status = os.waitpid(child.pid, 0)[1]
print(os.WIFSTOPPED(status) and os.WSTOPSIG(status))
child.kill()";
    let world = World::new();
    for signal in SIGNALS {
        let mut parent = world.command("python3");
        parent.args(["-c", script, TRACED, &signal.to_string()]);
        assert_eq!(crate::harness::said(&mut parent).ok(), format!("{signal}\n"));
    }
}

#[test]
fn stop_by_a_tracer_leaves_endow_awake_until_it_is_asked_to_end() {
    for signal in SIGNALS {
        let (world, mark) = (World::new(), crate::harness::mark());
        let number = signal.to_string();
        let arguments = ["run", "--grace", "200ms", "--", "python3", "-c", TRACED, &number, &mark];
        let mut running = Running::start(&mut world.endow(arguments));
        running.expect("ready");
        soon("the command is held", || is_held(&mark));
        // endow would have stopped, and so ended, within a moment.
        std::thread::sleep(std::time::Duration::from_millis(200));
        running.signal(15);
        // It does not heed that: it is killed after its grace.
        assert_eq!(running.end(), 128 + 9, "{signal}");
        world.assert_no_run_left();
    }
}

#[test]
fn stop_by_a_tracer_ends_at_the_time_limit() {
    for signal in SIGNALS {
        let world = World::new();
        let limits = ["run", "--timeout", "1s", "--grace", "100ms"];
        let command = ["--", "python3", "-c", TRACED, &signal.to_string()];
        let mut running = Running::start(&mut world.endow([&limits[..], &command].concat()));
        running.expect("ready");
        assert_eq!(running.end(), 124, "{signal}");
        world.assert_no_run_left();
    }
}

/// At a terminal endow follows a command that stops. It is still there to move a hidden name back.
#[test]
fn stop_by_a_tracer_keeps_no_hidden_name_where_it_was_moved() {
    let (world, mark) = (World::new(), crate::harness::mark());
    let hidden = world.write("home/project/.docker/config.json", "s3cr3t");
    let script = format!("mv .docker y && exec python3 -c \"{TRACED}\" 15 {mark}");
    let live = ["run", "--workspace", "rw", "--grace", "200ms", "--", "sh", "-c", &script];
    let mut pty = Pty::start(&world.endow(live));
    pty.expect("ready");
    soon("the command is held", || is_held(&mark));
    pty.close();
    within(std::time::Duration::from_secs(20), "the name is back", || hidden.exists());
    assert!(!world.project().join("y/config.json").exists());
    soon("the run is over", || world.states().is_empty());
}
