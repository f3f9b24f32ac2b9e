//! A machine with a network of its own, and servers beyond it: made by an ordinary user, in
//! namespaces. It ends when it is dropped, and with this process whatever ends that.

mod keys;
pub(super) mod places;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Running, World, debian_program, endow, said, skip, soon};

pub(super) use keys::authority;

/// The programs of the servers.
const SERVERS: [(&str, &str); 5] = [
    ("noted.py", include_str!("../servers/noted.py")),
    ("dns.py", include_str!("../servers/dns.py")),
    ("web.py", include_str!("../servers/web.py")),
    ("streams.py", include_str!("../servers/streams.py")),
    ("world.py", include_str!("../servers/world.py")),
];

/// Where names are looked up in the world: in its own files and at its own server.
const LOOKED_UP: &str = "passwd: files\ngroup: files\nhosts: files dns\n";

/// A machine whose network leads to the servers of [`places`] and nowhere else.
pub(crate) struct NetWorld {
    files: World,
    holder: Running,
    /// Its first process, whose namespaces are the machine's.
    pid: String,
}

impl NetWorld {
    /// Makes one; says why where that can't be done.
    pub(crate) fn start() -> Option<Self> {
        for program in ["ip", "nsenter", "openssl", "python3", "setpriv", "timeout", "unshare"] {
            debian_program(program)?;
        }
        let files = World::new();
        write_files(&files);
        let holder = Running::start(&mut hold(&files));
        let line = holder.line();
        let Some(pid) = line.strip_prefix("ready ").map(ToOwned::to_owned) else {
            skip(&format!("no world: {line}"));
            return None;
        };
        Some(Self { files, holder, pid })
    }

    /// Changes the network of the machine by a line for `ip -batch`.
    pub(super) fn change(&mut self, line: &str) {
        self.holder.say(&format!("{line}\n"));
        self.holder.expect("changed");
    }

    /// Returns the home, the project and the state on that machine.
    pub(crate) fn files(&self) -> &World {
        &self.files
    }

    /// Returns a command that runs on that machine, without a sandbox: for two minutes at
    /// most, and not longer than the one who waits for it.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.command_within(120, program)
    }

    /// Returns whether the process of an entry of `/proc` sees the mounts of that machine.
    pub(super) fn has(&self, process: &Path) -> bool {
        let mounts = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
        mounts(process).is_some_and(|it| mounts(&Path::new("/proc").join(&self.pid)) == Some(it))
    }

    /// Returns one that may take longer than others.
    pub(crate) fn command_within(&self, seconds: u32, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.files.command("timeout");
        let seconds = seconds.to_string();
        command.args(["--kill-after=5", &seconds, "nsenter", "--target", &self.pid]);
        command.args(["--mount", "--net"]);
        if !is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg(format!("--wdns={}", self.files.project().display()));
        command.args(["--", "setpriv", "--pdeathsig=KILL", "--"]).arg(program);
        command
    }

    /// Returns `endow` with arguments, on that machine.
    pub(super) fn endow<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(endow());
        command.args(arguments);
        command
    }

    /// Returns what the servers have noted so far, all of what came before this call included.
    pub(super) fn seen(&self) -> Vec<Value> {
        said(self.command("getent").args(["ahostsv4", places::FENCE])).ok();
        let text = fs::read_to_string(self.files.root().join("seen")).expect("a log");
        text.lines().map(|line| serde_json::from_str(line).expect("json")).collect()
    }

    /// Returns the names that the DNS server was asked for, in lower case, each once.
    pub(super) fn asked(&self) -> Vec<String> {
        let of_dns = self.seen().into_iter().filter(|it| it["server"] == "dns");
        let names = of_dns.map(|it| it["name"].as_str().expect("a name").to_lowercase());
        let mut names: Vec<String> = names.filter(|name| name != places::FENCE).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the addresses and ports of all servers but DNS that something came to, each once.
    pub(super) fn reached(&self) -> Vec<String> {
        let kinds = ["connection", "datagram"];
        let others =
            self.seen().into_iter().filter(|it| kinds.iter().any(|kind| it["server"] == *kind));
        let mut places: Vec<String> =
            others.map(|it| it["at"].as_str().expect("a place").to_owned()).collect();
        places.sort();
        places.dedup();
        places
    }

    /// Returns the HTTP requests in the order in which they came.
    pub(super) fn requests(&self) -> Vec<Value> {
        self.seen().into_iter().filter(|it| it["server"] == "http").collect()
    }
}

fn write_files(files: &World) {
    for (name, text) in SERVERS {
        files.write(format!("servers/{name}"), text);
    }
    files.write("etc/resolv.conf", &format!("nameserver {}\n", places::NAMES));
    files.write("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
    files.write("etc/nsswitch.conf", LOOKED_UP);
    keys::make(files);
    files.write("config.json", &places::config(files.root()).to_string());
}

/// The first process, as one that may make devices and bind any port of its own namespaces. It is
/// process 1 of a namespace of processes, so that no server outlives it.
fn hold(files: &World) -> Command {
    let mut command = files.command("unshare");
    if !is_root() {
        command.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    command.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--", "python3"]);
    command.arg(files.root().join("servers/world.py")).arg(files.root().join("config.json"));
    command.stdin(Stdio::piped());
    command
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// No server and no namespace outlives a test, whatever ends it.
#[test]
fn world_ends_with_its_owner() {
    let Some(world) = NetWorld::start() else { return };
    let first = format!("/proc/{}", world.pid);
    assert!(fs::exists(&first).expect("proc"));
    drop(world);
    soon("its first process is gone", || !fs::exists(&first).expect("proc"));
}
