//! Other processes: pid 1 of the sandbox, and everything outside.

use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use super::prober::inside;
use crate::harness::{World, endow, said};

const PROCESS: &str = include_str!("probes/process.py");

/// A child of the probe itself, traceable wherever tracing works at all.
const OWN_CHILD: &str = "import subprocess, time\nvictim = subprocess.Popen(['sleep', '20'])\n\
    time.sleep(0.2)\nsys.argv.append(str(victim.pid))\nimport atexit; atexit.register(victim.kill)\n";

/// Debuggers and leak checkers work: tracing among the command's own processes is allowed.
#[test]
fn own_children_can_be_traced() {
    let world = World::new();
    let own = format!("{OWN_CHILD}\n{PROCESS}");
    inside(&world, &["--workspace", "rw"], &own, &[]).succeed(&["mem-write", "ptrace-attach"]);
}

/// A process of the user's in a process group of its own; gone when it is dropped.
struct Victim(Child);

impl Victim {
    fn new(world: &World) -> Self {
        let mut command = world.command("sleep");
        command.arg("30").env("VICTIM", "canary-of-the-victim").process_group(0);
        Self(command.stdout(Stdio::null()).spawn().expect("sleep starts"))
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn escape_to_a_process_outside_by_its_number() {
    let world = World::new();
    let mut victim = Victim::new(&world);
    let pid = victim.0.id().to_string();
    let find = format!("kill -0 {pid} && echo found; ls -d /proc/{pid}; chrt -p {pid}; true");
    assert!(world.bare(&find).ok().contains("found"));
    assert_eq!(world.run(&["--workspace", "rw"], &find).ok(), "");
    world.run(&["--workspace", "rw"], &format!("kill -9 {pid} -{pid}")).fails(1);
    assert!(victim.lives());
}

#[test]
fn escape_by_signals_to_everybody_and_to_the_callers_group() {
    let world = World::new();
    // The shell is in the group of the caller, and writes when a signal reaches it.
    let caller = |attack: &str| {
        let listen = "trap 'echo reached' USR1 USR2; \"$@\" & wait; wait; wait; echo end";
        let mut command = world.command("sh");
        command.args(["-c", listen, "sh"]).process_group(0);
        command.args(attack.split('|'));
        said(&mut command)
    };
    let attack = "trap '' USR1 USR2; kill -USR1 0; kill -USR2 -- -1; true";
    let bare = "trap '' USR1 USR2; kill -USR1 0; true";
    assert!(caller(&format!("sh|-c|{bare}")).stdout.contains("reached"));
    let endow = endow().to_string_lossy().into_owned();
    let sandboxed = caller(&format!("{endow}|run|--workspace|rw|--|sh|-c|{attack}"));
    assert_eq!(sandboxed.ok(), "end\n");
}

#[test]
fn escape_by_killing_pid_1() {
    let world = World::new();
    let script = "for signal in TERM INT STOP KILL; do kill -$signal 1; done; echo alive";
    assert_eq!(world.run(&["--workspace", "rw"], script).ok(), "alive\n");
}

#[test]
fn only_own_processes_are_listed() {
    let world = World::new();
    let _victim = Victim::new(&world);
    let count = "cat /proc/[0-9]*/comm | grep -c sleep; true";
    assert_ne!(world.bare(count).ok(), "0\n");
    let list = "sleep 0.3; names=$(cat /proc/[0-9]*/comm); echo \"$names\" | sort -u";
    assert_eq!(world.run(&["--workspace", "rw"], list).ok(), "cat\nendow-init\nsh\n");
}

/// What a supervisor must not leave in the words of pid 1: its own command line.
#[test]
fn pid_1_has_no_words() {
    let world = World::new();
    let said = world
        .run(&["--workspace", "rw"], "sleep 0.3; tr -d '\\0' < /proc/1/cmdline; cat /proc/1/comm");
    assert_eq!(said.ok(), "endow-init\n");
}
