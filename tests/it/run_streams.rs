//! Standard streams and descriptors: what the caller handed over, and nothing else.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Command, Stdio};

use crate::harness::{PATIENCE, Said, World, endow, said};

/// Says of each stream whether it is open, and what it is.
const LISTS: &str = "import os, sys, stat
for n in range(3):
    try: s = os.fstat(n); r = '%d:%o:%d' % (n, stat.S_IFMT(s.st_mode), s.st_rdev)
    except OSError as e: r = '%d:%s' % (n, e.strerror)
    open(sys.argv[1], 'a').write(r + '\\n')";

/// Sends to a port from whatever socket is its standard input.
const SENDS: &str = "import socket, sys
socket.socket(fileno=0).sendto(b'out', ('127.0.0.1', int(sys.argv[1])))";

/// The controls: the same without endow and in the host's network, and a Unix socket.
#[test]
fn socket_of_the_hosts_network_is_no_stream() {
    let world = World::new();
    let target = UdpSocket::bind("127.0.0.1:0").expect("a port");
    target.set_nonblocking(true).expect("set");
    let port = target.local_addr().expect("an address").port().to_string();
    let socket = || Stdio::from(OwnedFd::from(UdpSocket::bind("127.0.0.1:0").expect("a port")));
    let arrived = || target.recv(&mut [0; 8]).is_ok();
    said(world.command("python3").args(["-c", SENDS, &port]).stdin(socket())).ok();
    assert!(arrived());
    for (options, is_started) in [(&["run"][..], false), (&["run", "--net", "host"], true)] {
        let mut inside = world.endow(options);
        let inside = said(inside.args(["--", "python3", "-c", SENDS, &port]).stdin(socket()));
        assert_eq!((inside.code == 0, arrived()), (is_started, is_started), "{inside:?}");
        let why = "standard input is a socket of the host's network";
        assert!(is_started || inside.code == 125 && inside.stderr.contains(why), "{inside:?}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    assert_eq!(said(world.endow(["--", "true"]).stdin(OwnedFd::from(stream))).code, 125);
    let (_, datagrams) = UnixDatagram::pair().expect("a pair");
    assert_eq!(said(world.endow(["--", "true"]).stdin(OwnedFd::from(datagrams))).code, 125);
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    drop(ours);
    said(world.endow(["--", "true"]).stdin(OwnedFd::from(theirs))).ok();
}

#[test]
fn closed_streams_stay_closed() {
    for set in 0..8 {
        let world = World::new();
        let closed: Vec<&str> = (0..3).filter(|n| set & (1 << n) != 0).map(|n| CLOSE[n]).collect();
        let list = |prefix: &str, file: &str| {
            let line = format!("exec {prefix} python3 -c \"$S\" {file} {}", closed.join(" "));
            let mut command = world.command("sh");
            command.args(["-c", &line]).env("S", LISTS).env("E", endow());
            assert_eq!(said(&mut command).code, 0, "{line}");
            fs::read_to_string(world.project().join(file)).expect("the list")
        };
        assert_eq!(list("\"$E\" --", "inside"), list("", "bare"), "closed: {closed:?}");
    }
}

const CLOSE: [&str; 3] = ["<&-", ">&-", "2>&-"];

#[test]
fn every_byte_passes_through() {
    let world = World::new();
    let bytes: Vec<u8> =
        (0..10_000_000u32).map(|n| (n ^ (n >> 8) ^ (n >> 16)).to_le_bytes()[0]).collect();
    let source = world.root().join("bytes");
    fs::write(&source, &bytes).expect("written");
    let line = "cat \"$F\" | \"$E\" -- cat | \"$E\" -- cat";
    let mut command = world.command("sh");
    let output = command.args(["-c", line]).env("F", source).env("E", endow()).output();
    assert!(output.expect("it ran").stdout == bytes, "other bytes");
}

#[test]
fn nothing_of_the_output_is_lost_at_the_end() {
    let world = World::new();
    for _ in 0..10 {
        let inside = world.run(&[], "seq 20000; echo last; echo error >&2");
        assert_eq!(inside.ok().len(), world.bare("seq 20000; echo last").stdout.len());
        assert_eq!(inside.stderr, "error\n");
    }
}

#[test]
fn reader_that_goes_away_ends_the_writer() {
    let world = World::new();
    let line = "\"$E\" -- yes | head -1; echo ${PIPESTATUS[0]}";
    let mut command = world.command("bash");
    assert_eq!(said(command.args(["-c", line]).env("E", endow())).ok(), "y\n141\n");
}

#[test]
fn background_process_does_not_hold_the_callers_pipe() {
    let world = World::new();
    let begun = std::time::Instant::now();
    assert_eq!(world.run(&[], "sleep 60 & echo out").ok(), "out\n");
    assert!(begun.elapsed() < PATIENCE / 2);
}

const REOPENS: &str = "echo a >/dev/stdout; echo b >/dev/stderr; cat /dev/stdin; echo c >/dev/fd/1; \
    echo d >>/proc/self/fd/2; echo $?";

/// Runs the script with streams that `redirect` makes, bare and inside, each in its own world,
/// and compares what the files hold afterwards.
#[track_caller]
fn check_same(script: &str, redirect: &str) {
    let run = |prefix: &str| {
        let world = World::new();
        let other = tempfile::Builder::new().prefix("endow-out-").tempdir().expect("a directory");
        fs::write(other.path().join("in"), "input\nmore\n").expect("written");
        fs::write(other.path().join("old"), "old content, longer than what is new\n").expect("old");
        let line = format!("{redirect}\n{prefix} bash -c \"$S\"; echo code=$? >\"$O/code\"");
        let mut command = world.command("bash");
        command.args(["-c", &line]).env("S", script).env("O", other.path()).env("E", endow());
        let said = said(command.stdin(Stdio::null()));
        (said, contents(other.path()))
    };
    let (bare, inside) = (run(""), run("\"$E\" run --"));
    assert_eq!(inside, bare, "{redirect}");
}

fn contents(directory: &std::path::Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let content = |entry: fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).expect("text");
        (entry.file_name().to_string_lossy().into_owned(), text)
    };
    let mut contents: Vec<_> = entries.map(content).collect();
    contents.sort();
    contents
}

#[test]
fn streams_can_be_opened_again_when_they_are_pipes() {
    check_same(REOPENS, "");
    check_same(REOPENS, "exec </dev/null");
    check_same(REOPENS, "exec < <(echo piped)");
}

#[test]
fn streams_can_be_opened_again_when_they_are_files_outside_the_view() {
    check_same(REOPENS, "exec <\"$O/in\" >\"$O/out\" 2>\"$O/err\"");
    check_same(REOPENS, "exec <\"$O/in\" >>\"$O/old\" 2>>\"$O/old\"");
    check_same(REOPENS, "exec <\"$O/in\" >\"$O/both\" 2>&1");
    check_same(REOPENS, "exec <>\"$O/in\" 1<>\"$O/old\" 2>&1");
    check_same(REOPENS, "exec 0<\"$O/in\" 1>/dev/null 2>\"$O/err\"");
}

/// The bare command can open its own file for writing; inside, the file is not in the view, and
/// only what the descriptor was opened for is left.
/// What has no place in any tree (memfd_create(2)) is restricted by nothing, and needs no rule.
#[test]
fn streams_may_be_memory() {
    let world = World::new();
    let memory = || {
        let flags = rustix::fs::MemfdFlags::empty();
        std::fs::File::from(rustix::fs::memfd_create("stream", flags).expect("a memfd"))
    };
    let (mut input, output) = (memory(), memory());
    input.write_all(b"through\n").and_then(|()| input.rewind()).expect("written");
    let mut command = world.endow(["--", "sh", "-c", "cat; cat /dev/stdin"]);
    let (input, mut kept) = (Stdio::from(input), output.try_clone().expect("a descriptor"));
    let status = command.stdin(input).stdout(output).status().expect("endow starts");
    let mut written = String::new();
    kept.rewind().and_then(|()| kept.read_to_string(&mut written)).expect("read");
    assert_eq!((status.code(), written.as_str()), (Some(0), "through\nthrough\n"));
}

#[test]
fn streams_are_no_more_than_what_they_were_opened_for() {
    let world = World::new();
    let file = world.write("outside/in", "kept\n");
    for (redirect, script) in [("<", "echo x >/dev/stdin"), (">>", "cat </dev/stdout")] {
        let script = format!("\"$E\" run -- bash -c '{script}' {redirect}{}", file.display());
        assert!(line(&world, &script).fails(1).contains("Permission denied"), "{script}");
        assert_eq!(fs::read_to_string(&file).expect("text"), "kept\n");
    }
}

#[test]
fn streams_can_be_opened_again_when_their_files_are_gone() {
    let unlinked = "exec <\"$O/in\" >\"$O/out\" 2>\"$O/err\"; rm \"$O/in\" \"$O/out\" \"$O/err\"";
    check_same("echo a; cat; echo $?", unlinked);
    check_same(REOPENS, unlinked);
}

#[test]
fn descriptors_above_two_are_not_inherited() {
    let world = World::new();
    let open = (3..60).map(|n| format!("exec {n}</dev/null")).collect::<Vec<_>>().join("; ");
    let script = "ls /proc/self/fd | sort -n | tr '\\n' ' '";
    let line = format!("bash -c '{}; \"$E\" -- sh -c \"$S\"'", open.replace("exec ", "eval exec "));
    let mut command = world.command("bash");
    let inside = said(command.args(["-c", &line]).env("S", script).env("E", endow()));
    assert_eq!(inside.ok(), "0 1 2 3 ");
}

/// Runs a line of bash with `$E` as endow, in the world's project.
fn line(world: &World, line: &str) -> Said {
    said(world.command("bash").args(["-c", line]).env("E", endow()))
}

#[test]
fn descriptors_that_are_named_are_handed_over() {
    let world = World::new();
    world.write("home/project/in", "content\n");
    let kept =
        line(&world, "\"$E\" --keep-fd 7 -- sh -c 'cat <&7; ls /proc/self/fd | wc -l' 7<in 8<in");
    assert_eq!(kept.ok(), "content\n5\n");
    let many =
        line(&world, "\"$E\" --keep-fd 9 --keep-fd 5 -- bash -c 'cat <&5; echo x >&9' 5<in 9>out");
    assert_eq!(many.ok(), "content\n");
    assert_eq!(fs::read_to_string(world.project().join("out")).expect("out"), "x\n");
}

#[test]
fn descriptors_that_are_closed_are_told() {
    let world = World::new();
    world.write("home/project/in", "");
    let told = line(&world, "\"$E\" run --json --keep-fd 7 -- true 7<in 8<in 70<in");
    let report: serde_json::Value = serde_json::from_str(told.ok()).expect("json");
    let numbers = |key: &str| report["descriptors"][key].as_array().expect("numbers").clone();
    assert_eq!(numbers("passed"), [7]);
    let closed = numbers("closed");
    assert!(closed.contains(&8.into()) && closed.contains(&70.into()), "{closed:?}");
    assert!(!closed.contains(&7.into()), "{closed:?}");
}

#[test]
fn descriptor_of_a_file_outside_the_view_is_handed_over() {
    let world = World::new();
    let outside = world.write("outside/file", "secret\n");
    let script =
        format!("\"$E\" --keep-fd 7 -- sh -c 'cat <&7; cat {0} 2>&1' 7<{0}", outside.display());
    let said = line(&world, &script);
    assert!(said.stdout.starts_with("secret\n"), "{said:?}");
    assert!(said.fails(1).is_empty() && said.stdout.contains("No such file"), "{said:?}");
}

#[test]
fn descriptors_that_can_not_be_kept_are_mistakes() {
    let world = World::new();
    for wrong in ["0", "2", "7", "-1", "x", "99999999999", ""] {
        let said = line(&world, &format!("\"$E\" run --keep-fd={wrong} -- touch started"));
        assert!(said.fails(125).starts_with("endow: "), "{wrong}: {said:?}");
        assert!(!world.project().join("started").exists(), "{wrong}");
    }
}

/// Sockets of the supervisor's have the lowest numbers that the caller left free.
#[test]
fn supervisors_own_descriptors_can_not_be_passed() {
    let world = World::new();
    let script = "for n in 3 4 5 6 7 8 9 10 11 12; do \
                  \"$E\" run --keep-fd $n -- touch started; echo $?; \
                  \"$E\" run --report fd:$n -- touch started; echo $?; done";
    let closed = (3..=12).map(|number| format!("{number}<&- ")).collect::<String>();
    let said = line(&world, &format!("{{ {script}; }} {closed}"));
    assert_eq!(said.stdout, "125\n".repeat(20), "{}", said.stderr);
    assert!(!world.project().join("started").exists());
}

#[test]
fn report_goes_to_a_descriptor() {
    let world = World::new();
    let said = line(&world, "\"$E\" --report fd:5 -- sh -c 'ls /proc/self/fd | wc -l' 5>report");
    assert_eq!(said.ok(), "4\n");
    let report = fs::read_to_string(world.project().join("report")).expect("a report");
    assert!(report.contains("\"version\": 1") || report.contains("\"version\":1"), "{report}");
    line(&world, "\"$E\" --report fd:6 -- touch started").fails(125);
    assert!(!world.project().join("started").exists());
}

#[test]
fn input_that_was_not_read_stays_for_the_next() {
    let world = World::new();
    let mut command = Command::new("bash");
    command.args(["-c", "\"$E\" -- sh -c 'read a; echo $a'; cat"]).env("E", endow());
    let source = world.write("home/project/in", "one\n");
    let mut file = File::options().append(true).open(&source).expect("opens");
    file.write_all(b"two\n").expect("written");
    command.current_dir(world.project()).stdin(File::open(&source).expect("opens"));
    let base = world.command("x");
    command.envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert_eq!(said(&mut command).ok(), "one\ntwo\n");
}

#[test]
fn session_without_a_terminal_changes_nothing() {
    let world = World::new();
    let script = "(: </dev/tty) 2>/dev/null; echo $?; echo fine";
    let mut command = world.command("setsid");
    command.args(["--wait"]).arg(endow()).args(["--", "bash", "-c", script]);
    assert_eq!(said(&mut command).ok(), "1\nfine\n");
}

/// What endow makes for itself it must be able to use; the command has the caller's umask.
#[test]
fn umask_of_the_caller_is_the_commands_alone() {
    for mask in ["0177", "0277", "0777", "0022"] {
        let world = World::new();
        let mut command = world.command("sh");
        command.args(["-c", &format!("umask {mask}; exec \"$E\" -- sh -c umask")]);
        let first = said(command.env("E", endow()));
        assert_eq!(first.ok().trim(), mask, "{}", first.stderr);
        world.run(&["run"], "true").ok();
    }
}

/// The kernel's name for the processor is another then, which stays what it is.
#[test]
fn caller_may_have_another_personality() {
    let world = World::new();
    let mut command = world.command("setarch");
    let name = if cfg!(target_arch = "x86_64") { "linux32" } else { "uname26" };
    let endow = endow().display().to_string();
    said(command.args([name, &endow, "--", "true"])).ok();
}
