//! Sockets of the host in granted directories: closed but for those that `--socket` names.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use super::prober::{inside, outside, script};
use crate::harness::{Running, World};

const GRANTED: &str = include_str!("probes/granted.py");
const LISTEN: &str = include_str!("probes/listen.py");
const CONNECT: &str = include_str!("probes/connect.py");

/// A process of the host that listens in a project.
struct Services {
    world: World,
    running: Running,
    directory: String,
    link: String,
}

impl Services {
    fn start() -> Self {
        let world = World::new();
        let directory = world.project().join("d".repeat(100));
        std::fs::create_dir(&directory).expect("a directory");
        let link = world.project().join("link");
        symlink(directory.join("s"), &link).expect("a link");
        let text = |path: &std::path::Path| path.to_str().expect("text").to_owned();
        let (directory, link) = (text(&directory), text(&link));
        let line = script(LISTEN, &[&directory]);
        let mut command = world.command(&line[0]);
        let running = Running::start(command.args(&line[1..]).stdin(Stdio::piped()));
        running.expect("ready");
        Self { world, running, directory, link }
    }

    fn about(&self) -> [&str; 2] {
        [&self.directory, &self.link]
    }

    /// Names both sockets with `--socket`.
    fn named(&self, access: &str) -> Vec<String> {
        let sockets = ["s", "s.dgram"].map(|name| format!("{}/{name}", self.directory));
        let named = sockets.into_iter().flat_map(|path| ["--socket".to_owned(), path]);
        ["--workspace".to_owned(), access.to_owned()].into_iter().chain(named).collect()
    }
}

#[test]
fn escape_by_sockets_in_a_granted_directory() {
    let services = Services::start();
    outside(&services.world, GRANTED, &services.about()).all("ok");
    for (access, refusal) in [("ro", "ENOENT"), ("rw", "EACCES"), ("cow", "ECONNREFUSED")] {
        let named = services.named(access);
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        inside(&services.world, &named, GRANTED, &services.about()).all("ok");
        let granted = ["--workspace", access];
        inside(&services.world, &granted, GRANTED, &services.about()).all(refusal);
    }
}

/// What the base shows of a home holds programs, and sometimes a service's state beside them.
#[test]
fn escape_by_a_socket_beside_programs_of_the_base() {
    let world = World::new();
    let directory = world.root().join("home/.nvm/run");
    std::fs::create_dir_all(&directory).expect("a directory");
    let socket = directory.join("s");
    let _listening = UnixListener::bind(&socket).expect("bound");
    let at = socket.to_str().expect("text");
    outside(&world, CONNECT, &[at]).succeed(&["stream:s"]);
    let named = ["--socket", at];
    inside(&world, &named, CONNECT, &[at]).succeed(&["stream:s"]);
    inside(&world, &[], CONNECT, &[at]).are(&[("stream:s", "ENOENT"), ("dgram:s", "ENOENT")]);
}

/// No option but `--socket` opens one: these are not names that a pattern hides.
#[test]
fn escape_by_sockets_where_nothing_is_denied() {
    let services = Services::start();
    let project = services.world.project();
    let at = project.to_str().expect("text");
    for options in [
        &["--no-default-deny", "--workspace", "ro"][..],
        &["--ro", &format!("{at},nodeny")],
        &["--ro", &format!("{at},nodeny"), "--net", "host"],
    ] {
        inside(&services.world, options, GRANTED, &services.about()).all("ENOENT");
    }
}

#[test]
fn socket_of_a_directory_that_is_not_granted_is_reached() {
    let world = World::new();
    let bus = world.root().join("bus");
    let _listening = UnixListener::bind(&bus).expect("bound");
    let bus = bus.to_str().expect("text");
    let moved = format!("/run/moved={bus}");
    for (named, at) in [(bus, bus), (&moved, "/run/moved")] {
        let options = ["--workspace", "rw", "--socket", named];
        inside(&world, &options, CONNECT, &[at]).succeed(&[&format!("stream:{}", name(at))]);
    }
    let file = world.write("file", "");
    let refused = world.run(&["--socket", file.to_str().expect("text")], "true");
    assert!(refused.fails(125).contains("not a socket"), "{}", refused.stderr);
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// A service that starts again makes its socket anew.
#[test]
fn socket_that_is_made_again_is_closed_again() {
    for access in ["ro", "rw"] {
        let mut services = Services::start();
        let ask = "import os, socket, sys
os.chdir(sys.argv[1])
print('ready', flush=True)
for line in sys.stdin:
    try:
        socket.socket(socket.AF_UNIX).connect('s')
        print('open', flush=True)
    except OSError:
        print('closed', flush=True)";
        let options = ["run", "--workspace", access, "--", "/usr/bin/python3", "-c", ask];
        let mut command = services.world.endow(options);
        let mut running = Running::start(command.arg(&services.directory).stdin(Stdio::piped()));
        running.expect("ready");
        for _ in 0..3 {
            services.running.say("\n");
            services.running.expect("ready");
            running.is_closed_again();
        }
        running.hush();
        assert_eq!(running.end(), 0, "{access}");
    }
}

/// What the command makes in a writable place is its own, beside a service of the host.
#[test]
fn sockets_of_the_command_itself_are_reached() {
    let services = Services::start();
    let own = "import os, socket, sys
os.chdir(sys.argv[1])
one = socket.socket(socket.AF_UNIX)
one.bind('own')
one.listen()
socket.socket(socket.AF_UNIX).connect('own')
os.unlink('own')";
    for access in ["rw", "cow"] {
        let options = ["run", "--workspace", access, "--", "/usr/bin/python3", "-c", own];
        let mut command = services.world.endow(options);
        crate::harness::said(command.arg(&services.directory)).ok();
    }
}
