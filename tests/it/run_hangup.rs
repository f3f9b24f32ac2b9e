//! A window that is closed: what ran in it ends, whether it heeds that or not.

use crate::harness::{Pty, World, mark, marked, send, soon};
use crate::run_terminal::shell;

/// As it ends the bare command.
#[test]
fn closed_terminal_ends_the_run() {
    let world = World::new();
    let mark = mark();
    let mut pty = shell(&world);
    let script = format!("(trap \"\" HUP; sleep {mark}) & echo read\"\"y; sleep {mark}; sleep 60");
    pty.type_in(&format!("$E run -- sh -c '{script}'\n"));
    pty.expect("ready");
    soon("both sleep", || marked(&mark).len() >= 2);
    pty.close();
    soon("every process is gone", || marked(&mark).is_empty());
    soon("so is the run", || world.states().is_empty());
}

/// Ends a command that ignores what the window says, in the foreground of a shell and alone on its terminal.
#[test]
fn closed_terminal_ends_what_does_not_heed_it() {
    for direct in [false, true] {
        let (world, mark) = (World::new(), mark());
        let script = format!("trap '' HUP TERM INT; echo read''y; while :; do sleep {mark}; done");
        let words = ["run", "--grace", "500ms", "--", "bash", "-c", script.as_str()];
        let mut pty = if direct {
            Pty::start(&world.endow(words))
        } else {
            let mut pty = shell(&world);
            pty.type_in(&format!("$E run --grace 500ms -- bash -c \"{script}\"\n"));
            pty
        };
        pty.expect("ready");
        soon("it sleeps", || !marked(&mark).is_empty());
        pty.close();
        soon("every process is gone", || marked(&mark).is_empty());
        soon("so is the run", || world.states().is_empty());
    }
}

/// The control: whoever ignores it from the start wants the command to go on.
#[test]
fn closed_terminal_ends_nothing_that_was_started_to_go_on() {
    let (world, mark) = (World::new(), mark());
    let script = format!("echo read''y; sleep {mark}; sleep 1; echo on >went");
    let mut pty = shell(&world);
    pty.type_in(&format!("trap '' HUP; $E run --grace 100ms -- bash -c \"{script}\"\n"));
    pty.expect("ready");
    soon("it sleeps", || !marked(&mark).is_empty());
    pty.close();
    std::thread::sleep(std::time::Duration::from_millis(600));
    let sleeping = marked(&mark);
    assert_ne!(sleeping, Vec::<i32>::new());
    for pid in sleeping {
        send(15, pid);
    }
    soon("the run ends by itself", || world.project().join("went").exists());
}

/// bash goes on after a Ctrl-C that its child seems to have handled.
#[test]
fn ctrl_c_ends_the_callers_script_and_loop() {
    let world = World::new();
    let loops = "while :; do $E -- sh -c 'echo in; exec sleep 60'; echo again; done";
    for script in ["$E -- sh -c 'echo in; exec sleep 60'; echo again", loops] {
        let mut command = world.command("bash");
        command.args(["-c", script]).env("E", crate::harness::endow());
        let mut pty = Pty::start(&command);
        pty.expect("in");
        pty.type_in("\x03");
        let (code, shown) = pty.end();
        assert!(code == 130 && !shown.contains("again"), "{code}: {shown}");
    }
}
