//! What a run asked for and did not get: in the report, for the command itself, and at the end.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Pty, Said, World, debian_program, endow};

/// A namespace that no program is given.
const UNSHARE: &str = "unshare -r true";
/// What is in it is outside of every view.
const OUTSIDE: &str = "outside/tool";

struct Report {
    said: Said,
    report: Value,
}

/// Runs a script and returns what the report says.
fn reported(world: &World, options: &[&str], script: &str) -> Report {
    let file = world.root().join("report.json");
    let option = format!("--report={}", file.display());
    let options: Vec<&str> = [&["run", &option], options].concat();
    let said = world.run(&options, script);
    let text = fs::read_to_string(file).expect("a report");
    Report { said, report: serde_json::from_str(&text).expect("json") }
}

impl Report {
    fn denials(&self) -> &[Value] {
        self.report["denials"].as_array().unwrap_or_else(|| panic!("{:?}", self.said))
    }

    /// Returns the one denial of this.
    #[track_caller]
    fn of(&self, key: &str, name: &str) -> &Value {
        let found: Vec<_> = self.denials().iter().filter(|it| it[key] == name).collect();
        assert_eq!(found.len(), 1, "{name}: {:?}\n{:?}", self.denials(), self.said);
        found[0]
    }
}

/// Makes a program that no view has.
fn tool(world: &World) -> String {
    let tool = world.write(OUTSIDE, "#!/bin/sh\necho ran\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a program");
    tool.display().to_string()
}

#[test]
fn refused_calls_are_told_and_answered_as_ever() {
    let world = World::new();
    let script = format!("{UNSHARE}; {UNSHARE}; sleep 0.2; cat /run/endow/denials.jsonl");
    let seen = reported(&world, &[], &script);
    let denied = seen.of("call", "unshare");
    assert_eq!(denied["layer"], "seccomp");
    assert_eq!(denied["rule"], "group unshare");
    assert_eq!(denied["remedy"], "--allow userns");
    assert_eq!(denied["count"], 2);
    assert_eq!(denied["process"]["name"], "unshare");
    assert_eq!(seen.report["denials_left_out"], 0);
    let inside: Value = serde_json::from_str(seen.said.ok()).expect("one line");
    assert_eq!(inside["call"], "unshare");
    assert_eq!(inside["remedy"], "--allow userns");
    let unseen = reported(&world, &["--no-observe"], &format!("{UNSHARE}; {UNSHARE}; true"));
    assert_eq!(unseen.said.stderr, seen.said.stderr);
    assert_eq!(unseen.report["denials"], Value::Null);
    assert_eq!(unseen.report["denials_left_out"], Value::Null);
}

#[test]
fn a_sandbox_inside_gets_a_clear_answer() {
    let Some(bwrap) = debian_program("bwrap") else { return };
    let world = World::new();
    let script =
        format!("{} --ro-bind / / true; sleep 0.2; cat /run/endow/denials.jsonl", bwrap.display());
    let seen = reported(&world, &[], &script);
    let denied = seen.denials().iter().find(|it| it["process"]["name"] == "bwrap");
    let denied = denied.unwrap_or_else(|| panic!("{:?}", seen.denials()));
    assert_eq!(denied["remedy"], "--allow userns");
    assert!(seen.said.ok().contains("\"remedy\":\"--allow userns\""), "{:?}", seen.said);
}

#[test]
fn programs_that_are_outside_are_told() {
    let world = World::new();
    let tool = tool(&world);
    let seen = reported(&world, &[], &format!("{tool}; /nonesuch/tool; ls >/dev/null; true"));
    let denied = seen.of("path", &tool);
    assert_eq!(denied["operation"], "execute");
    assert_eq!(denied["layer"], "view");
    let remedy = denied["remedy"].as_str().expect("a remedy");
    assert_eq!(remedy, format!("--ro {tool}"));
    assert_eq!(seen.denials().len(), 1, "{:?}", seen.denials());
    let (flag, value) = remedy.split_once(' ').expect("a flag");
    let allowed = reported(&world, &[flag, value], &tool);
    assert_eq!(allowed.said.ok(), "ran\n");
    assert_eq!(allowed.denials(), &[] as &[Value]);
}

#[test]
fn a_program_that_is_found_further_along_path_is_no_denial() {
    let world = World::new();
    let outside = tool(&world);
    let directory = world.root().join("outside");
    fs::write(world.project().join("tool"), "#!/bin/sh\necho found\n").expect("written");
    let own = world.project().join("tool");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("a program");
    let project = world.project();
    let search = |places: &[&std::path::Path]| {
        let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        reported(&world, &[], &format!("env PATH={}:/usr/bin:/bin tool", places.join(":")))
    };
    let found = search(&[&directory, &project]);
    assert_eq!(found.said.ok(), "found\n");
    assert_eq!(found.denials(), &[] as &[Value]);
    let lost = search(&[&directory]);
    lost.said.fails(127);
    lost.of("path", &outside);
}

#[test]
fn protected_names_are_told_with_their_rule() {
    let world = World::new();
    world.write("home/project/.git/hooks/pre-commit", "exit 0\n");
    let file = world.project().join(".git/hooks/pre-commit").display().to_string();
    let options = ["--workspace=rw", "--explain"];
    let seen = reported(&world, &options, "echo evil 2>/dev/null >.git/hooks/pre-commit; true");
    let denied = seen.of("path", &file);
    assert_eq!(denied["layer"], "mount");
    assert_eq!(denied["remedy"], "--unprotect '**/.git/hooks/**'");
    let allowed = ["--workspace=rw", "--explain", "--unprotect", "**/.git/hooks/**"];
    let allowed = reported(&world, &allowed, "echo good >.git/hooks/pre-commit");
    assert_eq!(allowed.denials(), &[] as &[Value], "{:?}", allowed.said);
}

#[test]
fn a_name_at_which_a_mount_stands_is_not_removed() {
    let world = World::new();
    world.write("home/given", "1\n");
    let file = world.home().join("given").display().to_string();
    let seen = reported(&world, &["--rw", &file, "--explain"], "rm -f ~/given; echo 2 >~/given");
    let denied = seen.of("path", &file);
    assert_eq!((&denied["layer"], &denied["remedy"]), (&"mount".into(), &Value::Null));
    assert_eq!(fs::read_to_string(file).expect("a file"), "2\n");
}

#[test]
fn addresses_are_told() {
    let world = World::new();
    let script =
        "bash -c 'echo >/dev/tcp/203.0.113.7/80'; bash -c 'echo >/dev/tcp/127.0.0.1/9'; true";
    let seen = reported(&world, &[], script);
    let denied = seen.of("host", "203.0.113.7:80");
    assert_eq!(denied["layer"], "network");
    assert_eq!(denied["operation"], "connect");
    assert_eq!(denied["remedy"], "--net 203.0.113.7:80");
    assert_eq!(denied["process"]["name"], "bash");
    assert_eq!(seen.denials().len(), 1, "{:?}", seen.denials());
}

#[test]
fn sockets_of_the_host_are_told() {
    let world = World::new();
    let directory = world.root().join("sockets");
    fs::create_dir(&directory).expect("a directory");
    let socket = directory.join("s").display().to_string();
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let script = format!(
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un(\"{socket}\")) or die'; true"
    );
    let seen = reported(&world, &[], &script);
    let denied = seen.of("path", &socket);
    assert_eq!(denied["operation"], "connect");
    assert_eq!(denied["remedy"], format!("--socket {socket}"));
}

#[test]
fn services_at_the_hosts_loopback_are_told() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connect = format!("bash -c 'echo >/dev/tcp/127.0.0.1/{port}'; true");
    let seen = reported(&world, &[], &connect);
    let denied = seen.of("host", &format!("127.0.0.1:{port}"));
    assert_eq!((&denied["layer"], &denied["rule"]), (&"network".into(), &"network = none".into()));
    let word = format!("localhost:{port}");
    assert_eq!(denied["remedy"], format!("--net {word}"));
    let allowed = reported(&world, &["--net", &word], &connect);
    assert_eq!(allowed.denials(), &[] as &[Value], "{:?}", allowed.said);
    let own = format!(
        "python3 -c \"
import socket
s = socket.create_server(('127.0.0.1', {port}))
socket.create_connection(('127.0.0.1', {port}))\""
    );
    let own = reported(&world, &[], &own);
    assert_eq!((own.said.ok(), own.denials()), ("", &[] as &[Value]));
    drop(listener);
    assert_eq!(reported(&world, &[], &connect).denials(), &[] as &[Value], "nothing is outside");
}

#[test]
fn abstract_sockets_of_the_host_are_told() {
    let world = World::new();
    let name = format!("endow-it-{}-bus", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("bound");
    let python = |calls: &str| {
        format!("python3 -c \"\nimport socket\na = '\\0{name}'\n{calls}\" 2>/dev/null; true")
    };
    let connect = python("socket.socket(socket.AF_UNIX).connect(a)");
    let seen = reported(&world, &[], &connect);
    let denied = seen.of("socket", &format!("@{name}"));
    assert_eq!((&denied["layer"], &denied["operation"]), (&"network".into(), &"connect".into()));
    assert_eq!((&denied["remedy"], &denied["process"]["name"]), (&Value::Null, &"python3".into()));
    let own = "s = socket.socket(socket.AF_UNIX)\ns.bind(a)\ns.listen()
socket.socket(socket.AF_UNIX).connect(a)";
    assert_eq!(reported(&world, &[], &python(own)).denials(), &[] as &[Value]);
    drop(listener);
    assert_eq!(reported(&world, &[], &connect).denials(), &[] as &[Value], "nothing is outside");
}

/// The attack is a tool call that has an agent believe in another list.
#[test]
fn nobody_inside_can_forge_what_was_refused() {
    let world = World::new();
    let attacks = "
        f=/run/endow/denials.jsonl
        echo forged >>$f; echo forged >$f; truncate -s 0 $f; rm -f $f; mv $f /run/x; ln -f /etc/passwd $f
        chmod 777 $f; rmdir /run/endow; rm -rf /run/endow; mv /run/endow /run/away
        mkdir -p /run/endow && echo forged >/run/endow/denials.jsonl";
    let script = format!("{UNSHARE}\nsleep 0.2\n{attacks}\ncat $f");
    let seen = reported(&world, &[], &script);
    assert!(seen.said.ok().starts_with("{\"call\":\"unshare\""), "{:?}", seen.said);
    assert!(!seen.said.stdout.contains("forged"));
    // Where endow has no file there, the same commands leave one.
    let control = world.run(&["run", "--no-observe"], &format!("{attacks}\ncat $f"));
    assert_eq!(control.ok(), "forged\n");
}

#[test]
fn what_the_command_reads_names_no_path_of_the_host() {
    let world = World::new();
    world.write("hidden-place/file", "");
    let host = world.root().join("hidden-place").display().to_string();
    let option = format!("/data={host}");
    let script = "mkdir /data/new; touch /data/file; sleep 0.3; cat /run/endow/denials.jsonl";
    let seen = reported(&world, &["--explain", "--ro", &option], script);
    let denied = seen.of("path", "/data/new");
    assert_eq!(denied["remedy"], format!("--rw /data={host}"));
    assert_eq!(denied["layer"], "mount");
    assert!(seen.said.stdout.contains("\"path\":\"/data/new\""), "{:?}", seen.said);
    assert!(!seen.said.stdout.contains("hidden-place"), "{:?}", seen.said);
}

#[test]
fn explain_tells_of_files() {
    let world = World::new();
    world.write("home/.netrc", "secret");
    world.write("home/project/.env", "secret");
    let home = world.home().display().to_string();
    let project = world.project().display().to_string();
    let script = format!(
        "cat {home}/.netrc; cat {home}/nonesuch; cat .env; test -e ../.netrc
         mkdir {home}/own; echo mine >{home}/own/file; cat {home}/own/file"
    );
    let seen = reported(&world, &["--explain"], &script);
    let read = seen.of("path", &format!("{home}/.netrc"));
    assert!(read["remedy"] == format!("--ro {home}/.netrc"), "{read}");
    assert_eq!(read["count"], 2, "read, and looked for as ../.netrc");
    let hidden = seen.of("path", &format!("{project}/.env"));
    assert_eq!(hidden["layer"], "deny");
    assert_eq!(hidden["remedy"], "--deny '!.env'");
    let told = |name: &str| seen.denials().iter().any(|it| it["path"] == format!("{home}/{name}"));
    assert!(!told("nonesuch") && !told("own") && !told("own/file"), "{:?}", seen.denials());
    let plain = reported(&world, &[], &script);
    assert_eq!(plain.denials(), &[] as &[Value]);
}

/// glibc's realpath(3) asks of each directory of a path whether it is a link: a compiler does little else.
#[test]
fn links_are_told_but_not_the_ways_of_resolved_paths() {
    let world = World::new();
    let [read, resolved] = ["read", "resolved"].map(|name| world.write(format!("home/{name}"), ""));
    let calls = format!(
        "import ctypes, os
try: os.readlink('{}')
except OSError: pass
print(ctypes.CDLL(None).realpath(b'{}', 0))",
        read.display(),
        resolved.display()
    );
    let seen = reported(&world, &["--explain"], &format!("python3 -c \"{calls}\""));
    assert_eq!(seen.said.ok(), "0\n", "absent for both");
    seen.of("path", &read.display().to_string());
    let told = seen.denials().iter().any(|it| it["path"] == resolved.display().to_string());
    assert!(!told, "{:?}", seen.denials());
}

#[test]
fn a_flood_of_refused_calls_is_bounded_and_ends_in_time() {
    let world = World::new();
    let number = if cfg!(target_arch = "x86_64") { 272 } else { 97 };
    let script = format!("exec perl -e 'fork; while (1) {{ syscall({number}, 0x10000000) }}'");
    let begun = Instant::now();
    let seen = reported(&world, &["--timeout=1s", "--grace=1s"], &script);
    seen.said.fails(124);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let denied = seen.of("call", "unshare");
    assert!(denied["count"].as_u64().is_some_and(|count| count > 1000), "{denied}");
}

#[test]
fn a_flood_of_names_is_bounded() {
    let world = World::new();
    let script = "exec perl -e 'for (my $i = 0; $i < 70000; $i++) { stat(\"/nonesuch/$i\") }'";
    let seen = reported(&world, &["--explain"], script);
    seen.said.ok();
    assert!(
        seen.report["denials_left_out"].as_u64().is_some_and(|left| left > 0),
        "{:?}",
        seen.report
    );
}

#[test]
fn nothing_is_claimed_where_nobody_can_listen() {
    let world = World::new();
    let options = ["--require=landlock", "--workspace=ro", "--explain"];
    let seen = reported(&world, &options, "true");
    assert_eq!(seen.report["denials"], Value::Null);
    assert!(seen.said.stderr.contains("nothing was observed"), "{:?}", seen.said);
    let endow = endow().display().to_string();
    let inner = "run --no-policy --workspace=ro --require=landlock --report=/tmp/report";
    let script = format!("{endow} {inner} -- true; cat /tmp/report");
    let nested = world.run(&["run", "--ro", &endow], &script);
    let report: Value = serde_json::from_str(nested.ok()).unwrap_or_else(|_| panic!("{nested:?}"));
    assert_eq!(report["outcome"]["code"], 0);
    assert_eq!(report["denials"], Value::Null);
}

#[test]
fn events_and_details_tell_at_once() {
    let world = World::new();
    let events = world.root().join("events").display().to_string();
    let option = format!("--events={events}");
    let said = world.run(&["run", "-v", &option], &format!("{UNSHARE}; true"));
    assert!(said.stderr.contains("refused to unshare"), "{said:?}");
    assert!(said.stderr.contains("to allow: --allow userns"), "{said:?}");
    let events = fs::read_to_string(events).expect("events");
    let event = events.lines().find(|line| line.contains("\"event\":\"denied\""));
    assert!(event.is_some_and(|line| line.contains("\"call\":\"unshare\"")), "{said:?}");
}

#[test]
fn the_end_names_what_the_user_may_allow() {
    let world = World::new();
    let tool = tool(&world);
    let last = |script: &str| Pty::start(&world.endow(["--", "sh", "-c", script])).end().1;
    let said = last(&format!("{UNSHARE}; {tool}; true"));
    assert!(
        said.contains("endow: refused: unshare by unshare; to allow: --allow userns"),
        "{said}"
    );
    assert!(said.contains(&format!("{tool} (--ro {tool})")), "{said}");
    let file = world.write("home/.netrc", "secret").display().to_string();
    let script = format!("cat {file}; true");
    let explained =
        Pty::start(&world.endow(["run", "--explain", "--", "sh", "-c", &script])).end().1;
    assert!(explained.contains(&format!("{file} (--ro {file})")), "{explained}");
    assert!(!last(&script).contains("endow:"));
    // Without a terminal who asked is told, and nobody else.
    let unseen = |options: &[&str]| world.run(options, &script).stderr;
    assert!(unseen(&["run", "--explain"]).contains(&format!("{file} (--ro {file})")));
    assert!(!unseen(&["run"]).contains("endow:"));
    let quiet = last("ls / >/dev/null; git --version; /usr/bin/python3 --version; id");
    assert!(!quiet.contains("endow:"), "{quiet}");
}
