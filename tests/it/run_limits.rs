//! Limits: of time, files, memory and processes.

use std::fs;
use std::time::{Duration, Instant};

use crate::harness::{Pty, Running, Said, World, endow, kernel, mark, marked, said, soon};

fn run(world: &World, options: &[&str], script: &str) -> Said {
    world.run(&[&["run"], options].concat(), script)
}

#[test]
fn time_limit_ends_the_run_and_keeps_what_was_said() {
    let (world, mark) = (World::new(), mark());
    let begun = Instant::now();
    let script = format!("echo partial; echo kept >kept; exec sleep {mark}");
    let inside = run(&world, &["--timeout", "300ms"], &script);
    assert_eq!((inside.code, inside.stdout.as_str()), (124, "partial\n"));
    assert_eq!(inside.stderr, "endow: the time limit has passed; the run was ended\n");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(marked(&mark), Vec::<i32>::new());
    assert!(world.project().join("kept").exists());
}

/// What endow says waits for a terminal that the user has stopped; its work does not.
#[test]
fn time_limit_waits_for_no_terminal() {
    let world = World::new();
    let script = "exec 2>over; trap 'echo over >over; exit' TERM; while :; do sleep 0.05; done";
    let options = ["run", "-v", "--timeout", "1s", "--workspace", "rw", "--", "sh", "-c", script];
    let mut pty = Pty::start(&world.endow(options));
    pty.expect("started");
    pty.type_in("\x13");
    soon("the command is asked to end", || world.read("over") == "over\n");
    pty.type_in("\x11");
    let (code, shown) = pty.end();
    assert_eq!(code, 124, "{shown}");
    assert!(shown.contains("time limit"), "{shown}");
}

#[test]
fn time_limit_asks_first() {
    let world = World::new();
    let script = "trap 'echo asked; exit 0' TERM; sleep 60 & wait";
    let inside = run(&world, &["--timeout", "300ms"], script);
    assert_eq!((inside.code, inside.stdout.as_str()), (124, "asked\n"));
}

#[test]
fn time_limit_kills_what_does_not_listen() {
    let (world, mark) = (World::new(), mark());
    let script = format!(
        "trap '' TERM INT HUP; (setsid sh -c 'sleep {mark}; sleep {mark}') & \
         (while :; do sleep {mark}; done) & while :; do sleep {mark}; done"
    );
    let begun = Instant::now();
    let inside = run(&world, &["--timeout", "200ms", "--grace", "200ms"], &script);
    assert_eq!(inside.code, 124);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(marked(&mark), Vec::<i32>::new());
}

#[test]
fn time_limit_is_no_minimum() {
    let world = World::new();
    let begun = Instant::now();
    run(&world, &["--timeout", "10m"], "exit 3").fails(3);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn open_files_are_limited() {
    let world = World::new();
    let script = "ulimit -n; ulimit -Hn; python3 -c '
import os
try:
    while True: last = os.dup(0)
except OSError as e: print(last, e.strerror)'";
    let inside = run(&world, &["--open-files", "20"], script);
    assert_eq!(inside.ok(), "20\n20\n19 Too many open files\n");
    low_limit_waits_for_what_is_on_the_way(&world);
}

/// Has 160 descriptors on their way for some seconds; all of a user's count against a limit of open files.
const ON_THE_WAY: &str = "
import socket, sys, time
a, b = socket.socketpair()
for _ in range(20): socket.send_fds(a, [b'x'], [0] * 8)
print('ready', flush=True)
time.sleep(float(sys.argv[1]))";

/// Part of the test above, because it is in the way of one that runs at the same time.
fn low_limit_waits_for_what_is_on_the_way(world: &World) {
    let busy = |time: &str| {
        let mut command = world.command("python3");
        let busy = Running::start(command.args(["-c", ON_THE_WAY, time]));
        busy.expect("ready");
        busy
    };
    let mut short = busy("0.5");
    run(world, &["--open-files", "150"], "ulimit -n").ok();
    short.end();
    let mut long = busy("60");
    let refused = run(world, &["--open-files", "150"], "ulimit -n");
    assert!(refused.fails(125).contains("raise --open-files"), "{}", refused.stderr);
    run(world, &["--open-files", "2000"], "ulimit -n").ok();
    long.signal(9);
    long.end();
}

/// A limit that can't hold is said by its name, and one that holds anyway is none.
#[test]
fn odd_limits_are_told_or_kept() {
    let world = World::new();
    for (flag, few) in [("--open-files", "3"), ("--open-files", "1")] {
        let told = run(&world, &[flag, few], "true");
        assert!(told.fails(125).contains(&format!("let nothing run: {flag} {few}")), "{told:?}");
    }
    run(&world, &["--open-files", "4"], "true").ok();
    let most = u64::MAX.to_string();
    for flag in ["--open-files", "--file-size", "--cpu-time"] {
        run(&world, &[flag, &most[..18]], "true").ok();
    }
    let told = run(&world, &["--pids", &most], "echo started");
    assert!(told.stdout == "started\n" || told.stderr.contains("can't enforce: pids"), "{told:?}");
}

#[test]
fn size_of_a_file_is_limited() {
    let world = World::new();
    let inside =
        run(&world, &["--file-size", "64K"], "head -c 1M /dev/zero >big; echo $?; stat -c %s big");
    assert_eq!(inside.ok(), "153\n65536\n");
    let ignoring = run(&world, &["--file-size", "64K"], "trap '' XFSZ; head -c 1M /dev/zero >big");
    assert!(ignoring.fails(1).contains("File too large"), "{}", ignoring.stderr);
}

/// What endow itself writes counts too, and must not be its end.
#[test]
fn callers_limit_of_file_sizes_is_told() {
    let world = World::new();
    let limited = |blocks: u32, command: &[&str]| {
        let mut sh = world.command("sh");
        let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        said(sh.args(["-c", &script]).arg(endow()).args(command))
    };
    let at_once = limited(1, &["--", "true"]);
    assert!(at_once.fails(125).contains("record.json\ncause: File too large"), "{at_once:?}");
    let many = "for i in $(seq 300); do echo $i >many$i; done; head -c 1M /dev/zero >big; echo $?";
    let kept = limited(128, &["--sync", "review", "--", "sh", "-c", many]);
    assert_eq!(kept.ok(), "153\n");
    let apply = limited(1, &["apply"]);
    assert!(apply.fails(121).contains("nothing is lost"), "{apply:?}");
    said(world.command(endow()).arg("apply")).ok();
    assert_eq!(fs::read_to_string(world.project().join("many300")).expect("it is there"), "300\n");
}

#[test]
fn processor_time_is_limited() {
    let world = World::new();
    let inside = run(&world, &["--cpu-time", "1s"], "while :; do :; done");
    assert_eq!(inside.code, 128 + 9, "{inside:?}");
}

#[test]
fn no_core_is_written() {
    let world = World::new();
    let inside = run(&world, &[], "ulimit -c; ulimit -Hc; kill -SEGV $$");
    assert_eq!((inside.code, inside.stdout.as_str()), (128 + 11, "0\n0\n"));
    // By any other limit a program that core_pattern names gets the dump, outside (fs/coredump.c).
    let kept = "import resource as r
r.setrlimit(r.RLIMIT_CORE, (0, 0)); print(r.getrlimit(r.RLIMIT_CORE))
print(r.prlimit(0, r.RLIMIT_CORE), r.getrlimit(r.RLIMIT_CORE))";
    let script = format!("ulimit -c 0 && ulimit -c unlimited && exec python3 -c '{kept}'");
    // Who asks for the one before in the same call can't be answered.
    let both = "import resource as r; r.prlimit(0, r.RLIMIT_CORE, (0, 0))";
    assert!(run(&world, &[], &format!("python3 -c '{both}'")).fails(1).contains("PermissionError"));
    assert_eq!(run(&world, &[], &script).ok(), "(1, 1)\n(1, 1) (1, 1)\n");
    assert_eq!(
        world.bare(&script.replace("&& ulimit -c unlimited", "")).ok(),
        "(0, 0)\n(0, 0) (0, 0)\n",
        "control"
    );
}

/// Forks until it can't, and says how often it could.
pub(crate) const FORKS: &str = "import os, signal
made = []
try:
    while len(made) < 100:
        pid = os.fork()
        if pid == 0: signal.pause()
        made.append(pid)
    print('no limit')
except OSError as e: print(len(made), e.strerror)
for pid in made: os.kill(pid, 9)";

#[test]
fn processes_are_limited() {
    let world = World::new();
    let mut command = world.endow(["run", "--pids", "12", "--", "python3", "-c", FORKS]);
    let inside = crate::harness::said(&mut command);
    if inside.code == 122 {
        assert!(inside.stderr.contains("pids"), "{}", inside.stderr);
        assert!(rustix::process::geteuid().is_root(), "{}", inside.stderr);
        return;
    }
    assert_eq!(inside.ok(), "11 Resource temporarily unavailable\n");
    let mut control = world.command("python3");
    assert_eq!(crate::harness::said(control.args(["-c", FORKS])).ok(), "no limit\n");
}

#[test]
fn limits_count_for_each_run_alone() {
    let world = World::new();
    let script = "for n in 1 2 3 4; do sleep 0.2 & done; wait; echo all";
    let mut first =
        world.endow(["run", "--pids", "8", "--best-effort", "pids", "--", "sh", "-c", script]);
    let mut others: Vec<_> = (0..4)
        .map(|_| {
            let mut other = world.endow([
                "run",
                "--pids",
                "8",
                "--best-effort",
                "pids",
                "--",
                "sh",
                "-c",
                script,
            ]);
            crate::harness::Running::start(&mut other)
        })
        .collect();
    assert_eq!(crate::harness::said(&mut first).ok(), "all\n");
    for other in &mut others {
        other.expect("all");
        assert_eq!(other.end(), 0);
    }
}

#[test]
fn memory_limit_is_held_or_refused() {
    let world = World::new();
    let grabs = ["python3", "-c", "x = bytearray(300_000_000); print(len(x))"];
    let mut strict = world.endow(["run", "--memory", "100M", "--"]);
    let strict = crate::harness::said(strict.args(grabs));
    assert!(strict.stdout.is_empty(), "{strict:?}");
    assert_ne!(strict.code, 0);
    if strict.code == 122 {
        assert!(strict.stderr.contains("memory"), "{}", strict.stderr);
        let mut loose = world.endow(["run", "--memory", "100M", "--best-effort", "memory", "--"]);
        assert_eq!(crate::harness::said(loose.args(grabs)).ok(), "300000000\n");
    }
}

#[test]
fn losses_are_accepted_by_known_names_only() {
    let world = World::new();
    let stderr = world.run(&["--best-effort", "everything"], "true");
    assert!(
        stderr.fails(125).contains("known are: deny, memory, pids, protect"),
        "{}",
        stderr.stderr
    );
}

#[test]
fn protecting_a_name_of_a_live_mount_needs_a_view() {
    let world = World::new();
    let live = ["--workspace", "rw", "--protect", "ci/**"];
    world.run(&live, "true").ok();
    let level = [&live[..], &["--require", "landlock", "--no-policy"]].concat();
    assert!(world.run(&level, "true").stderr.contains("--best-effort protect"));
}

/// Writes into a layer what its names don't show, in one way.
fn hidden(way: &str) -> String {
    format!(
        "import mmap, os, socket, time
from socket import send_fds
def write(name, size=40):
    file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(size): os.write(file, bytes(1 << 20))
    os.fsync(file)
    return file
{way}
time.sleep(20)"
    )
}

const UNLINKED: &str = "file = write('x'); os.unlink('x')";
const NEVER_NAMED: &str = "
file = os.open('.', os.O_RDWR | os.O_TMPFILE, 0o600)
for _ in range(40): os.write(file, bytes(1 << 20))";
const IN_A_THREAD: &str = "
import ctypes, threading
def apart():
    ctypes.CDLL(None).unshare(0x400)
    file = write('x'); os.unlink('x'); time.sleep(20)
threading.Thread(target=apart).start()";
const CLOSED: &str = "
os.mkdir('d'); file = os.open('d/x', os.O_RDWR | os.O_CREAT, 0o600); os.chmod('d', 0)
for _ in range(40): os.write(file, bytes(1 << 20))
os.fsync(file)";
const MAPPED: &str = "
file = write('x'); os.unlink('x'); map = mmap.mmap(file, 4096); os.close(file)
for n in range(3, 99):
    try: os.close(n)
    except OSError: pass";
const UNDER_WAY: &str = "
a, b = socket.socketpair(); file = write('x'); os.unlink('x'); send_fds(a, [b'x'], [file]); os.close(file)";

#[test]
fn files_without_a_name_count_for_the_limit_of_layers() {
    let (counted, guessed) = ("a layer is as large as", "some of it can't be looked at");
    let closed = if rustix::process::getuid().is_root() { counted } else { guessed };
    let ways = [
        (UNLINKED, counted),
        (NEVER_NAMED, counted),
        (IN_A_THREAD, counted),
        (CLOSED, closed),
        (MAPPED, guessed),
        (UNDER_WAY, guessed),
    ];
    // An overlay makes such files since Linux 6.3.
    let can = |way: &str| way != NEVER_NAMED || kernel() >= (6, 3);
    for (way, told) in ways.into_iter().filter(|(way, _)| can(way)) {
        let world = World::new();
        let policy = world.write("p.toml", "version = 1\n[limits]\nlayer_size = \"8M\"\n");
        let script = world.write("hidden.py", &hidden(way)).display().to_string();
        let policy = policy.display().to_string();
        let options = ["-v", "-p", &policy, "--ro", &script, "--sync", "discard"];
        let once = || run(&world, &options, &format!("exec python3 {script}"));
        // Its growth is what is left of it by what other tests take away from the file system.
        let mut inside = once();
        for _ in 0..if told == guessed { 5 } else { 0 } {
            inside = if inside.code == 124 { inside } else { once() };
        }
        assert_eq!(inside.code, 124, "{way}: {}", inside.stderr);
        assert!(inside.stderr.contains(told), "{way}: {}", inside.stderr);
    }
}

/// The control: as much as that is allowed, in each of these ways.
#[test]
fn files_without_a_name_may_be_as_large_as_the_limit() {
    let world = World::new();
    let policy = world.write("p.toml", "version = 1\n[limits]\nlayer_size = \"64M\"\n");
    let way = format!("{UNLINKED}; time.sleep(3); raise SystemExit(7)");
    let script = world.write("hidden.py", &hidden(&way)).display().to_string();
    let policy = policy.display().to_string();
    let options = ["-p", &policy, "--ro", &script, "--sync", "discard"];
    run(&world, &options, &format!("exec python3 {script}")).fails(7);
}
