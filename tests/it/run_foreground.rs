//! The caller's process group, which has no number inside: programs put it in front of the terminal again, as they do outside.

use crate::harness::{Pty, World};
use crate::run_terminal::shell;

/// Puts a group of its own in front, as a debugger does for its program, and then the first one again.
const DEBUGGER: &str = "import os, signal, sys
own = os.getpgrp()
os.tcsetpgrp(0, own)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    sys.exit()
os.waitpid(child, 0)
os.tcsetpgrp(0, own)
print('ready', os.tcgetpgrp(0) == own, flush=True)
print('<' + sys.stdin.readline().strip() + '>', flush=True)";

#[test]
fn shell_without_groups_of_its_own_ends_as_it_is_told() {
    let world = World::new();
    for options in [&["run"][..], &["run", "--no-observe"]] {
        let mut pty = Pty::start(&world.endow([options, &["--", "dash", "-i"]].concat()));
        pty.type_in("exit 3\n");
        let (code, shown) = pty.end();
        assert_eq!(code, 3, "{options:?}: {shown}");
        assert!(!shown.contains("process group"), "{options:?}: {shown}");
    }
}

#[test]
fn debugger_takes_the_terminal_back() {
    let world = World::new();
    let mut bare = world.command("python3");
    bare.args(["-c", DEBUGGER]);
    for command in [bare, world.endow(["run", "--", "python3", "-c", DEBUGGER])] {
        let mut pty = Pty::start(&command);
        pty.expect("ready True");
        pty.type_in("typed\n");
        assert_eq!(pty.bracketed(), "typed");
        assert_eq!(pty.end().0, 0);
    }
}

#[test]
fn command_in_the_background_takes_the_terminal_from_nobody() {
    let world = World::new();
    let script = "import os, signal, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
try: os.tcsetpgrp(0, os.getpgrp())
except ProcessLookupError: print('refused', flush=True)
time.sleep(60)";
    world.write("home/project/take.py", script);
    let mut pty = shell(&world);
    pty.type_in("$E run -- python3 take.py & cat\n");
    pty.expect("refused");
    pty.type_in("typed to cat\n\x04echo typed to the $((1 + 0))st shell\n");
    pty.expect("typed to the 1st shell");
    pty.type_in("kill %1; wait; exit 0\n");
    assert_eq!(pty.end().0, 0);
}
