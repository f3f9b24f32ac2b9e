//! The command line of Bazel's `linux-sandbox`, beside the program itself.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::named;
use crate::harness::{Running, Said, World, mark, marked, said, skip, soon};

/// Debian's places for a program that is nobody's command.
const PLACES: [&str; 2] =
    ["/usr/libexec/x86_64-linux-gnu/bazel", "/usr/libexec/aarch64-linux-gnu/bazel"];

/// Bazel's own program.
fn bazels() -> Option<PathBuf> {
    let found = PLACES.iter().map(|place| Path::new(place).join("linux-sandbox"));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        skip("bazel-bootstrap is not installed");
    }
    found
}

fn world() -> World {
    let world = World::new();
    world.write("granted/file", "granted\n");
    world.write("memory/file", "below\n");
    world.write("home/project/inside", "inside\n");
    world.write("home/project/arguments", "-R\n--\nsh\n-c\nid -u\n");
    world
}

/// Returns a command of either program; `DIR` is where it starts, in `ROOT`.
fn command(world: &World, program: &Path, options: &[&str]) -> Command {
    let (root, directory) = (world.root().display().to_string(), world.project());
    let directory = directory.display().to_string();
    let mut command = world.command(program);
    command.args(
        options.iter().map(|option| option.replace("DIR", &directory).replace("ROOT", &root)),
    );
    command
}

fn runs(world: &World, program: &Path, options: &[&str], script: &str) -> Said {
    let mut command = command(world, program, &[&["-W", "DIR"], options].concat());
    let said = said(command.args(["--", "sh", "-c", script]));
    if world.project().join("out").exists() {
        let of = |name: &str| world.read(name);
        return Said { stdout: of("out") + &of("err"), ..said };
    }
    said
}

fn ours(world: &World, options: &[&str], script: &str) -> Said {
    runs(world, &named(world, "linux-sandbox"), options, script)
}

/// What says the same under both programs, and ends the same.
const SAME: &[(&[&str], &str)] = &[
    (&[], "pwd; cat inside; echo x >new && cat new; umask; id -u; id -g; ls -A"),
    (&[], "echo x >../../granted/file || echo refused; cat ../../granted/file"),
    (&[], "ls -d /usr/bin /etc/passwd /var/lib /opt /srv; ls /usr | LC_ALL=C sort"),
    (&["-w", "ROOT/granted"], "echo x >../../granted/new && cat ../../granted/new"),
    (
        &["-w", "ROOT/granted/file"],
        "echo x >../../granted/file && cat ../../granted/file; rm ../../granted/file || echo refused",
    ),
    (
        &["-e", "ROOT/memory"],
        "ls -A ../../memory; stat -c %a ../../memory; echo x >../../memory/x; cat ../../memory/x",
    ),
    (
        &["-M", "ROOT/granted", "-m", "ROOT/memory"],
        "cat ../../memory/file; echo x >../../memory/x || echo refused",
    ),
    (&["-M", "ROOT/granted"], "cat ../../granted/file; echo x >../../granted/x || echo refused"),
    (&["-w", "/tmp", "-M", "DIR"], "echo x >/tmp/x-$$ && rm /tmp/x-$$; cat inside"),
    (&["-w", "ROOT/memory", "-e", "ROOT/memory"], "ls -A ../../memory; echo x >../../memory/x"),
    (&["-w", "ROOT/memory", "-M", "ROOT/granted", "-m", "ROOT/memory"], "cat ../../memory/file"),
    (&["-w", "/dev/shm"], "echo x >/dev/shm/x-$$ && cat /dev/shm/x-$$ && rm /dev/shm/x-$$"),
    (&[], "hostname"),
    (&["-H"], "hostname"),
    (&["-N"], "tail -n +3 /proc/net/dev | cut -d: -f1 | sort"),
    (&["-R"], "id -u; id -g; id -un; stat -c '%u %g' inside; touch root; stat -c %u root"),
    (&["-U"], "id -u; id -g; id -un; stat -c '%u %g' inside"),
    (&["-l", "DIR/out", "-L", "DIR/err"], "echo out; echo err >&2"),
    (&["-S", "DIR/statistics"], "exit 7"),
    (&["-D"], "echo debugged"),
    (&["-i"], "echo interrupted"),
    (&["-HNR"], "hostname; id -u"),
    (&[], "kill -9 $$"),
    (&[], "kill -SEGV $$"),
    (&["-T", "1", "-t", "1"], "sleep 20"),
    (&["-T", "1"], "trap '' TERM; sleep 20"),
    (&["-T", "0"], "echo no limit"),
    (&[], "env | grep -v ^_= | LC_ALL=C sort"),
];

#[test]
fn command_finds_what_it_finds_under_bazels_own() {
    let Some(bazels) = bazels() else { return };
    for (options, script) in SAME {
        let said = |program: &dyn Fn(&World) -> PathBuf| {
            let world = world();
            // The world is in `/tmp`, of which every sandbox of ours has its own.
            let options = [&["-M", "ROOT/granted"], *options].concat();
            let said = runs(&world, &program(&world), &options, script);
            let root = world.root().display().to_string();
            (said.code, said.stdout.replace(&root, "ROOT"), said.stderr)
        };
        let theirs = said(&|_| bazels.clone());
        let ours = said(&|world| named(world, "linux-sandbox"));
        assert_eq!(
            (ours.0, &ours.1),
            (theirs.0, &theirs.1),
            "{options:?} {script}\n{ours:?}\n{theirs:?}"
        );
    }
}

#[test]
fn arguments_come_from_a_file() {
    let world = world();
    let program = named(&world, "linux-sandbox");
    let said = said(&mut command(&world, &program, &["-W", "DIR", "@DIR/arguments"]));
    assert_eq!(said.ok(), "0\n");
}

#[test]
fn option_that_is_not_known_is_refused() {
    let world = world();
    for options in [&["-h", "DIR"] as &[&str], &["-p"], &["-C", "/x"], &["-e", "relative"]] {
        let said = ours(&world, options, "echo began");
        assert!(said.fails(1).contains("builds.md"), "{options:?} {said:?}");
        assert_eq!(said.stdout, "", "{options:?}");
    }
}

#[test]
fn what_is_mounted_nowhere_ends_the_start() {
    let world = world();
    for options in [&["-w", "DIR/absent"] as &[&str], &["-M", "DIR/absent"]] {
        let said = ours(&world, options, "echo began");
        assert!(said.fails(1).contains("absent"), "{options:?} {said:?}");
    }
}

/// Bazel's program shows the whole host, and leaves capabilities of its user namespace.
#[test]
fn secrets_sockets_and_capabilities_are_not_there() {
    let Some(bazels) = bazels() else { return };
    let world = world();
    world.write("home/.ssh/id", "secret\n");
    let socket = world.root().join("granted/socket");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let connect = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"../../granted/socket\")' 2>&1 | tail -1";
    let attacks = [
        ("cat ../.ssh/id", "secret\n"),
        (connect, ""),
        ("grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && echo capable", "capable\n"),
        ("unshare -U true && echo nested", "nested\n"),
    ];
    for (script, control) in attacks {
        let options = ["-R", "-M", "ROOT/granted"];
        let theirs = runs(&world, &bazels, &options, script);
        assert_eq!(theirs.stdout, control, "control: {script} {theirs:?}");
        let ours = ours(&world, &options, script);
        assert_ne!(ours.stdout, control, "{script} {ours:?}");
    }
}

/// Bazel gives a command the `HOME` that a rule names.
#[test]
fn home_of_the_account_is_empty_whatever_home_says() {
    let world = world();
    let ask = "eval echo ~$(id -un)";
    let account = world.bare(ask).ok().trim().to_owned();
    if account == "/" || !Path::new(&account).is_dir() {
        // A machine's test user may have none; root has.
        return;
    }
    let program = named(&world, "linux-sandbox");
    let secret = tempfile::Builder::new().prefix("endow-it-").tempfile_in(&account);
    let secret = secret.expect("a file in the home");
    let ask = format!("[ -d {account} ] && [ ! -e {} ]; echo $?", secret.path().display());
    assert_eq!(world.bare(&ask).ok(), "1\n", "control");
    for home in ["/tmp", "/nonexistent", &account, "/usr/bin/env"] {
        let mut command = command(&world, &program, &["-W", "DIR", "-w", "/tmp"]);
        command.env("HOME", home).args(["--", "sh", "-c", &ask]);
        assert_eq!(said(&mut command).ok(), "0\n", "HOME={home}");
    }
}

/// What one command leaves in its directory is no output base for the next.
#[test]
fn command_can_not_decide_what_the_next_one_sees() {
    let world = world();
    world.write("home/.ssh/id", "secret\n");
    let id = world.home().join(".ssh/id").display().to_string();
    let plant = format!("mkdir -p execroot/a external; touch lock; ln -s {id} execroot/a/l");
    ours(&world, &[], &plant).ok();
    let read = format!("cat {id} execroot/a/l");
    assert_eq!(world.bare(&read).ok(), "secret\nsecret\n", "control");
    for options in [&[] as &[&str], &["-w", "/tmp"]] {
        assert_eq!(ours(&world, options, &read).stdout, "", "{options:?}");
    }
}

#[test]
fn files_are_written_through_no_link_and_no_pipe() {
    let world = world();
    let kept = world.write("kept", "kept\n");
    if let Some(bazels) = bazels() {
        let other = world.write("other", "kept\n");
        std::os::unix::fs::symlink(&other, world.project().join("left")).expect("a link");
        runs(&world, &bazels, &["-l", "DIR/left"], "echo x").ok();
        assert_eq!(fs::read_to_string(other).expect("there"), "x\n", "control");
        world.bare("rm left").ok();
    }
    for option in ["-l", "-L", "-S", "-D"] {
        let path = world.project().join("left");
        std::os::unix::fs::symlink(&kept, &path).expect("a link");
        let said = ours(&world, &[option, "DIR/left"], "echo x; echo y >&2");
        assert!(said.fails(1).contains("can't write"), "{said:?}");
        world.bare("rm left; mkfifo left").ok();
        ours(&world, &[option, "DIR/left"], "echo x").fails(1);
        fs::remove_file(&path).expect("removed");
    }
    let change = format!("rm statistics; ln -s {} statistics", kept.display());
    ours(&world, &["-S", "DIR/statistics"], &change).ok();
    assert_eq!(fs::read_to_string(kept).expect("there"), "kept\n");
}

/// Names in `/tmp` come and go while the sandbox is made.
#[test]
fn what_all_programs_write_is_the_sandboxes_own() {
    let world = world();
    let ask = "ls -A /tmp /dev/shm | grep -c endow-it-; echo x >/tmp/x && echo x >/dev/shm/x && cat /tmp/x";
    assert_ne!(world.bare("ls -A /tmp | grep -c endow-it-").ok(), "0\n", "control");
    let said = ours(&world, &["-w", "/tmp", "-w", "/dev/shm"], ask);
    assert_eq!(said.ok(), "1\nx\n", "the way to where it starts alone");
}

#[test]
fn places_of_the_sandbox_are_nobody_elses() {
    let world = world();
    for options in [&["-w", "/run"] as &[&str], &["-M", "DIR", "-m", "/proc"], &["-e", "/dev"]] {
        assert!(ours(&world, options, "true").fails(1).contains("own"), "{options:?}");
    }
}

#[test]
fn statistics_tell_what_the_command_used() {
    let world = world();
    let path = world.project().join("statistics");
    let options = ["-S", path.to_str().expect("text")];
    ours(&world, &options, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").ok();
    let bytes = fs::read(&path).expect("statistics");
    // A message whose first field is a message: user time first, in seconds or microseconds.
    assert!(
        bytes.len() > 4 && bytes[0] == 0x0a && usize::from(bytes[1]) == bytes.len() - 2,
        "{bytes:x?}"
    );
    assert!([0x08, 0x10].contains(&bytes[2]), "{bytes:x?}");
}

#[test]
fn interrupt_ends_the_command_where_that_is_asked_for() {
    let world = world();
    let script = "trap 'echo ended; exit 5' TERM; trap 'echo interrupted; exit 6' INT
        echo ready; while :; do sleep 0.1; done";
    let cases: [(&[&str], i32, &str, i32); 3] = [
        (&["-t", "5"], libc::SIGTERM, "ended", 5),
        (&["-t", "5", "-i"], libc::SIGINT, "ended", 5),
        (&["-t", "5"], libc::SIGINT, "interrupted", 6),
    ];
    for (options, signal, said, code) in cases {
        let mut command = command(&world, &named(&world, "linux-sandbox"), options);
        let mut running = Running::start(command.args(["--", "sh", "-c", script]));
        running.expect("ready");
        running.signal(signal);
        running.expect(said);
        assert_eq!(running.end(), code, "{options:?}");
    }
}

/// Variables are the command's, which could have written where they lead.
#[test]
fn directories_of_endow_are_the_accounts() {
    let world = world();
    ours(&world, &[], "true").ok();
    assert!(!world.state().exists() && !world.root().join("cache").exists());
    world.run(&[], "true").ok();
    assert!(world.state().exists(), "control");
}

/// Bazel ends a command by ending its sandbox, which must hear it.
#[test]
fn command_that_stops_itself_stops_nobody_else() {
    let world = world();
    let mut command = command(&world, &named(&world, "linux-sandbox"), &["-t", "1"]);
    let script = "echo ready; kill -STOP $$; echo went on";
    let mut running = Running::start(command.args(["--", "sh", "-c", script]));
    running.expect("ready");
    let pid = running.pid();
    soon("the command stops", || crate::harness::tree(pid, 0).contains("do_signal_stop"));
    assert!(!crate::harness::is_stopped(pid), "endow goes on");
    running.signal(libc::SIGTERM);
    assert!(running.end() > 128);
}

#[test]
fn command_ends_with_whoever_started_it() {
    let (world, mark) = (World::new(), mark());
    let mut shell = world.command("sh");
    shell.args(["-c", "\"$0\" -- sh -c \"echo ready; exec sleep $1\" & read line"]);
    shell.arg(named(&world, "linux-sandbox")).arg(&mark).stdin(Stdio::piped());
    let mut running = Running::start(&mut shell);
    running.expect("ready");
    assert!(!marked(&mark).is_empty(), "it sleeps");
    running.hush();
    running.end();
    soon("the command ends", || marked(&mark).is_empty());
}

#[test]
fn missing_command_is_named() {
    let world = world();
    let said = said(&mut command(&world, &named(&world, "linux-sandbox"), &[]));
    let told = "endow: the following required arguments were not provided: <COMMAND>";
    assert!(said.fails(1).starts_with(told), "{}", said.stderr);
}
