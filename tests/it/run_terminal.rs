//! The terminal: a person at it sees what the bare command shows, and keeps the terminal.

use std::process::Command;

use crate::harness::{Pty, World, debian_program, endow, is_stopped, mark, marked, said, soon};

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";
const CTRL_BACKSLASH: &str = "\x1c";

fn inside(world: &World, options: &[&str], script: &str) -> Pty {
    let arguments = [options, &["--", "bash", "-c", script]].concat();
    Pty::start(&world.endow(arguments))
}

/// An interactive shell with job control, `$E` its endow.
pub(super) fn shell(world: &World) -> Pty {
    let mut command = world.command("bash");
    command.args(["--norc", "--noprofile", "-i"]);
    command.env("PS1", "at-shell> ").env("E", endow()).env("TERM", "dumb");
    let mut pty = Pty::start(&command);
    pty.expect("at-shell> ");
    pty
}

/// Runs a script on a terminal, bare and inside, and compares what was shown.
#[track_caller]
fn check_same(script: &str) {
    let world = World::new();
    let mut bare = world.command("bash");
    bare.args(["-c", script]);
    let bare = Pty::start(&bare).end();
    let inside = inside(&world, &["run"], script).end();
    assert_eq!(inside, bare, "{script}");
    assert_ne!(inside.1, "", "{script}");
}

#[test]
fn streams_are_terminals_where_the_callers_are() {
    check_same("for n in 0 1 2; do test -t $n; echo $n $?; done");
    check_same("for n in 0 1 2; do test -t $n; echo $n $? >&2; done </dev/null | cat");
}

#[test]
fn size_is_the_terminals() {
    check_same("stty size");
    check_same("stty -a");
}

#[test]
fn terminal_can_be_opened_again() {
    check_same("echo x >/dev/tty; echo y >/dev/stdout; echo z >/dev/stderr; echo $? >/dev/fd/1");
    check_same("test -r /dev/stdin && test -w /dev/stdout && echo usable");
}

#[test]
fn terminal_has_a_name() {
    let world = World::new();
    let (code, shown) = inside(&world, &["run"], "tty").end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.starts_with("/dev/"), "{shown}");
}

#[test]
fn change_of_size_reaches_the_command() {
    let world = World::new();
    // The signal is waited for: a shell may miss it between two commands, or leave its trap in the middle.
    let script = "import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print('ready', flush=True)
signal.sigwait([signal.SIGWINCH])
size = os.get_terminal_size()
print(f'<{size.lines} {size.columns}>', flush=True)";
    let mut pty = Pty::start(&world.endow(["run", "--", "python3", "-c", script]));
    pty.expect("ready");
    pty.resize(100, 30);
    assert_eq!(pty.bracketed(), "30 100");
    assert_eq!(pty.end().0, 0);
}

/// Counts what arrives, and says so when asked by an end of input. The signals are waited for: a
/// handler that comes right before a read would run only after it.
const COUNTS: &str = "import os, signal, sys, threading
got = {2: 0, 3: 0, 20: 0}
signal.pthread_sigmask(signal.SIG_BLOCK, list(got))
def count():
    while True:
        number = int(signal.sigwait(list(got)))
        got[number] += 1
        os.write(1, b'got %d;' % number)
threading.Thread(target=count, daemon=True).start()
print('ready', flush=True)
sys.stdin.readline()
print('<' + str(list(got.values())) + '>', flush=True)
os._exit(0)";

fn counting(world: &World, options: &[&str]) -> Pty {
    let arguments = [options, &["--", "python3", "-c", COUNTS]].concat();
    let mut pty = Pty::start(&world.endow(arguments));
    pty.expect("ready");
    pty
}

#[test]
fn ctrl_c_reaches_the_command_once() {
    let world = World::new();
    let mut pty = counting(&world, &["run"]);
    pty.type_in(CTRL_C);
    pty.expect("got 2;");
    pty.type_in(CTRL_BACKSLASH);
    pty.expect("got 3;");
    pty.type_in("\n");
    assert_eq!(pty.bracketed(), "[1, 1, 0]");
    assert_eq!(pty.end().0, 0);
}

#[test]
fn ctrl_c_that_the_command_handles_never_ends_the_run() {
    let world = World::new();
    let mut pty = counting(&world, &["run"]);
    for _ in 0..5 {
        pty.type_in(CTRL_C);
        pty.expect("got 2;");
    }
    pty.type_in("\n");
    assert_eq!(pty.bracketed(), "[5, 0, 0]");
    assert_eq!(pty.end().0, 0);
}

#[test]
fn ctrl_c_ends_a_command_as_it_ends_the_bare_one() {
    let world = World::new();
    let script = "echo ready; exec sleep 60";
    let mut bare = world.command("bash");
    bare.args(["-c", script]);
    let mut codes = [Pty::start(&bare), inside(&world, &["run"], script)].map(|mut pty| {
        pty.expect("ready");
        pty.type_in(CTRL_C);
        pty.end().0
    });
    assert_eq!(codes[0], codes[1]);
    codes.sort_unstable();
    world.assert_no_run_left();
}

/// Tells each continue, and the line that it reads.
const READS: &str = "import os, signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [18])
def tell():
    while signal.sigwait([18]): os.write(1, b'went on\\n')
threading.Thread(target=tell, daemon=True).start()
os.write(1, b'ready\\n')
os.write(1, b'<%s>' % os.read(0, 100).strip())
os._exit(0)";

/// Processes of endow's own work on for what was not stopped.
fn is_of_endow(pid: i32) -> bool {
    let program = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
    let above = parent.and_then(program);
    above.is_some() && above == program(&pid.to_string())
}

#[test]
fn ctrl_z_stops_the_job_and_fg_goes_on() {
    let world = World::new();
    world.write("home/project/reads", READS);
    let mark = mark();
    let mut pty = shell(&world);
    pty.type_in(&format!("$E -- python3 reads {mark}\n"));
    pty.expect("ready");
    for _ in 0..10 {
        pty.type_in(CTRL_Z);
        pty.expect("Stopped");
        pty.expect("at-shell> ");
        // A stop that comes right after a continue stops endow at once, and the shell asks before
        // the command has left its read: it would take what is typed in this moment.
        let job = || marked(&mark).into_iter().filter(|pid| !is_of_endow(*pid));
        soon("all of the job is stopped", || job().all(is_stopped));
        pty.type_in("fg\n");
        pty.expect("went on");
    }
    pty.type_in("hello\n");
    assert_eq!(pty.bracketed(), "hello");
    pty.expect("at-shell> ");
    pty.type_in("echo code=$?; exit\n");
    pty.expect("code=0");
}

#[test]
fn stopped_job_goes_on_in_the_background() {
    let world = World::new();
    let mut pty = shell(&world);
    pty.type_in("$E -- bash -c 'echo re\"\"ady; sleep 0.3; echo do\"\"ne'\n");
    pty.expect("ready");
    pty.type_in(CTRL_Z);
    pty.expect("Stopped");
    pty.expect("at-shell> ");
    pty.type_in("bg; wait %1; echo code=$?\n");
    pty.expect("done");
    pty.expect("code=0");
}

#[test]
fn background_job_that_reads_the_terminal_is_stopped() {
    let world = World::new();
    let mut pty = shell(&world);
    pty.type_in("$E -- bash -c 'read line; echo \"<$line>\"' & sleep 0.1; wait %1; jobs\n");
    pty.expect("Stopped");
    pty.expect("at-shell> ");
    pty.type_in("fg\n");
    pty.expect("read line");
    pty.type_in("hello\n");
    pty.expect("<hello>");
    pty.expect("at-shell> ");
}

#[test]
fn pipeline_with_a_pager_works_under_job_control() {
    let world = World::new();
    let mut pty = shell(&world);
    pty.type_in("$E -- seq 3 | (read a </dev/tty; cat; echo \"<$a>\")\n");
    pty.type_in("typed\n");
    pty.expect("3\r\n");
    assert_eq!(pty.bracketed(), "typed");
    pty.expect("at-shell> ");
    pty.type_in("seq 3 | $E -- cat | $E -- tac; echo code=${PIPESTATUS[*]}\n");
    pty.expect("3\r\n2\r\n1\r\n");
    pty.expect("code=0 0 0");
}

/// Puts a group of its own in front, and reads from behind: the terminal stops the reader's group.
const TAKES_THE_TERMINAL: &str = "import os, signal, time
terminal = os.open('/dev/tty', os.O_RDWR)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgid(0, 0)
    try:
        os.tcsetpgrp(terminal, os.getpgrp())
    except PermissionError:
        print('refused', flush=True)
    time.sleep(2)
    os._exit(0)
time.sleep(1)
os.read(terminal, 1)
";

/// Runs it before a neighbour, and returns what the shell shows once somebody typed a line.
fn taken_from_a_pipeline(prefix: &str) -> (String, bool) {
    let world = World::new();
    world.write("home/project/take.py", TAKES_THE_TERMINAL);
    let mut pty = shell(&world);
    pty.type_in(&format!("{prefix} python3 take.py | (cat; echo neighbour '<'on'>')\n"));
    pty.type_in("x\n");
    pty.expect("at-shell> ");
    let screen = pty.screen();
    let is_stopped = screen.contains("Stopped");
    (screen, is_stopped)
}

#[test]
fn command_cannot_stop_the_pipeline_that_it_is_in() {
    let (bare, is_stopped) = taken_from_a_pipeline("");
    assert!(is_stopped, "nothing to see: {bare}");
    let (inside, is_stopped) = taken_from_a_pipeline("$E --");
    assert!(!is_stopped && inside.contains("refused"), "{inside}");
}

#[test]
fn interactive_shell_inside_has_job_control() {
    let world = World::new();
    let mut pty = shell(&world);
    pty.type_in("PS1='in> ' $E --env PS1 -- bash --norc --noprofile -i\n");
    pty.expect("in> ");
    pty.type_in("sh -c 'echo star\"\"ted; exec sleep 60'\n");
    pty.expect("started");
    pty.type_in(CTRL_Z);
    pty.expect("Stopped");
    pty.expect("in> ");
    pty.type_in("kill %1; wait; echo left=$?\n");
    pty.expect("left=0");
    pty.expect("in> ");
    pty.type_in("echo star\"\"ted; cat\n");
    pty.expect("started");
    pty.type_in("echoed\n");
    pty.expect("echoed\r\nechoed");
    pty.type_in(CTRL_C);
    pty.expect("in> ");
    pty.type_in("exit 3\n");
    pty.expect("at-shell> ");
    pty.type_in("echo code=$?\n");
    pty.expect("code=3");
}

#[test]
fn terminal_is_given_back_after_a_shell_inside_was_killed() {
    let world = World::new();
    let mut pty = shell(&world);
    pty.type_in("PS1='in> ' $E --env PS1 -- bash --norc --noprofile -i\n");
    pty.expect("in> ");
    pty.type_in("kill -KILL $$\n");
    pty.expect("at-shell> ");
    pty.type_in("echo code=$?\n");
    pty.expect("code=137");
    pty.expect("at-shell> ");
    pty.type_in("echo star\"\"ted; cat; echo after\n");
    pty.expect("started\r\n");
    pty.type_in("line\n");
    pty.expect("line\r\nline");
    pty.type_in("\x04");
    pty.expect("after");
}

#[test]
fn modes_are_restored_after_a_killed_command() {
    let world = World::new();
    for ending in ["kill -KILL $$", "kill -SEGV $$", "kill -HUP $$"] {
        let script = format!("stty raw -echo; {ending}");
        let mut outer = Command::new("bash");
        let lines = "before=$(stty -g); \"$E\" run -- bash -c \"$S\"; \
            test \"$before\" = \"$(stty -g)\"; echo \"<$?>\"";
        outer.args(["-c", lines]).env("E", endow()).env("S", &script);
        let command = world.command("bash");
        outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        outer.current_dir(world.project());
        let mut pty = Pty::start(&outer);
        assert_eq!(pty.bracketed(), "0", "{ending}: {}", pty.screen());
    }
}

#[test]
fn modes_that_the_command_leaves_stay() {
    let world = World::new();
    let mut pty = shell(&world);
    pty.type_in("$E -- stty -icrnl; stty -a | grep -o -- '-icrnl'; stty icrnl; echo e\"\"nd\n");
    pty.expect("-icrnl\r\n");
    pty.expect("end");
}

#[test]
fn new_session_has_no_controlling_terminal() {
    let world = World::new();
    let script = "(: </dev/tty) 2>/dev/null; echo $?; ps -o tty= -p $$ 2>/dev/null; \
        cut -d' ' -f7 /proc/self/stat; test -t 1; echo $?";
    let (code, shown) = inside(&world, &["--new-session"], script).end();
    assert_eq!(code, 0, "{shown}");
    let lines: Vec<&str> = shown.lines().map(str::trim).collect();
    assert_eq!(lines.first(), Some(&"1"), "{shown}");
    assert!(lines.contains(&"0"), "no terminal number: {shown}");
}

#[test]
fn ctrl_c_ends_a_command_in_a_session_of_its_own() {
    let world = World::new();
    let mut pty = counting(&world, &["--new-session"]);
    pty.type_in(CTRL_C);
    pty.expect("got 2;");
    pty.type_in("\n");
    assert_eq!(pty.bracketed(), "[1, 0, 0]");
}

/// Reads keys as a full-screen program does, and stops itself when asked by one.
const EDITOR: &str = "import os, signal, sys, termios, tty
saved = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b'<editing>')
while (key := os.read(0, 1)) != b'q':
    if key == b'\\x1a':
        termios.tcsetattr(0, termios.TCSADRAIN, saved)
        os.kill(0, signal.SIGTSTP)
        tty.setraw(0)
        os.write(1, b'<back>')
termios.tcsetattr(0, termios.TCSADRAIN, saved)
";

/// In a live repository names are kept covered meanwhile.
#[test]
fn full_screen_program_stops_and_goes_on() {
    let world = World::new();
    said(world.command("git").args(["init", "-q"]).current_dir(world.project())).ok();
    world.write("home/project/editor.py", EDITOR);
    for workspace in ["cow", "rw"] {
        let mut pty = shell(&world);
        pty.type_in(&format!("cd {}\n", world.project().display()));
        pty.type_in(&format!("$E run --workspace {workspace} -- python3 editor.py\n"));
        assert_eq!(pty.bracketed(), "editing");
        pty.type_in(CTRL_Z);
        pty.expect("at-shell> ");
        pty.type_in("fg\n");
        assert_eq!(pty.bracketed(), "back");
        pty.type_in(CTRL_Z);
        pty.expect("at-shell> ");
        pty.type_in("fg\n");
        assert_eq!(pty.bracketed(), "back");
        pty.type_in("q");
        pty.expect("at-shell> ");
        pty.type_in("echo \"<$?>\"; exit\n");
        pty.expect("\n<");
        pty.expect("0>");
        pty.end();
    }
}

/// What the command left behind may still run when it stops, and endow with it.
#[test]
fn names_are_kept_covered_while_endow_is_stopped() {
    let world = World::new();
    let hidden = world.write("home/project/.env", "canary\n");
    let job = "(until test -e go; do sleep 0.02; done; cat .env >seen; touch done) &\n\
        kill -TSTP $$; wait; echo '<on>'";
    world.write("home/project/job", job);
    let mut pty = shell(&world);
    pty.type_in(&format!("cd {}\n", world.project().display()));
    pty.type_in("$E run -v --workspace rw -- sh job\n");
    pty.expect("Stopped");
    world.write("home/project/new", "canary of the editor\n");
    std::fs::rename(world.project().join("new"), &hidden).expect("renamed");
    std::thread::sleep(std::time::Duration::from_millis(300));
    world.write("home/project/go", "");
    soon("what runs on has looked", || world.project().join("done").exists());
    assert_eq!(std::fs::read(world.project().join("seen")).expect("read"), b"");
    pty.type_in("fg\n");
    pty.expect("<on>");
    pty.type_in("exit\n");
    let shown = pty.end().1;
    assert!(shown.contains("covered again after the host replaced it"), "{shown}");
}

#[test]
fn long_paste_arrives_whole() {
    let world = World::new();
    let text: String = (0..20_000).map(|number| format!("{number:05}")).collect();
    let script = "import hashlib, os, tty
tty.setraw(0)
os.write(1, b'ready')
text = b''
while len(text) < 100_000: text += os.read(0, 65536)
os.write(1, b'<' + hashlib.sha256(text).hexdigest().encode() + b'>')
";
    world.write("home/project/paste.py", script);
    let mut pty = inside(&world, &["run", "--workspace", "rw"], "exec python3 paste.py");
    pty.expect("ready");
    pty.type_in(&text);
    let digest = <sha2::Sha256 as sha2::Digest>::digest(text.as_bytes());
    let expected: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(pty.bracketed(), expected);
    assert_eq!(pty.end().0, 0);
}

/// What a person does with a pager and with an editor: pages, stops, comes back, resizes, quits.
fn check_full_screen(program: &str, keys: &[(&str, &str)]) {
    let Some(_) = debian_program(program) else { return };
    let world = World::new();
    let lines: String = (1..=400).map(|number| format!("line {number}.\n")).collect();
    world.write("home/project/text", &lines);
    let mut pty = shell(&world);
    pty.type_in("export TERM=xterm\n");
    pty.expect("at-shell> ");
    pty.type_in(&format!("$E run --workspace rw --env TERM -- {program} text\n"));
    pty.expect("line 20.");
    for (typed, shown) in keys {
        pty.type_in(typed);
        pty.expect(shown);
    }
    pty.type_in(CTRL_Z);
    pty.expect("at-shell> ");
    pty.type_in("fg\n");
    pty.expect("line 400.");
    // An editor that just comes back and reads the size may miss that it changes: nobody is as fast.
    std::thread::sleep(std::time::Duration::from_millis(300));
    pty.resize(60, 50);
    // From the top, all of it drawn anew: there is room for that many lines only now.
    pty.type_in("gg\x0c");
    pty.expect("line 48.");
    pty.type_in(if program == "less" { "q" } else { ":wq\r" });
    pty.expect("at-shell> ");
    pty.type_in("echo \"<$?>\"; exit\n");
    pty.expect("\n<");
    pty.expect("0>");
    pty.end();
}

#[test]
fn editor_edits_stops_and_takes_a_new_size() {
    check_full_screen("vim", &[(":1s/line/edited/\r", "edited 1."), ("G", "400,1")]);
}
