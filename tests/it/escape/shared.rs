//! What processes share without files: System V memory, POSIX queues and memory, keyrings.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::prober::{Attempts, script};
use crate::harness::{World, endow, said};

const HOLD: &str = include_str!("probes/hold.py");
const SESSION: &str = include_str!("probes/session.py");
const KEYS: &str = include_str!("probes/keys.py");

/// A process that holds one of each; they are gone when it is dropped.
pub(crate) struct Holder {
    process: Child,
    /// Number, key, name of the queue and of the memory.
    pub(crate) about: Vec<String>,
}

impl Holder {
    pub(crate) fn new(world: &World) -> Self {
        let line = script(HOLD, &[]);
        let mut command = world.command("/usr/bin/python3");
        command.args(line.into_iter().skip(1)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("python starts");
        let mut said = String::new();
        let stdout = process.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut said).expect("a line");
        let about: Vec<String> = said.split_whitespace().map(str::to_owned).collect();
        assert_eq!(about.len(), 4, "{said}");
        Self { process, about }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}

/// Returns what a process finds of the keys that its caller has in the session.
pub(crate) fn with_keys(world: &World, mut line: Vec<OsString>) -> Attempts {
    line.extend(script(KEYS, &[]));
    let mut command = world.command("/usr/bin/python3");
    command.args(script(SESSION, &[]).into_iter().skip(1)).args(line);
    Attempts::of(&mut command)
}

fn sandboxed(world: &World, options: &[&str]) -> Attempts {
    let mut line: Vec<OsString> = vec![endow().into(), "run".into()];
    line.extend(options.iter().map(OsString::from));
    line.push("--".into());
    with_keys(world, line)
}

/// With the calls allowed the session is a new one; only the user's own keyring is then reachable.
#[test]
fn escape_by_the_session_keyring_with_keyrings_allowed() {
    let world = World::new();
    let attempts = sandboxed(&world, &["--workspace", "rw", "--allow", "keyring"]);
    assert_eq!((attempts.get("search-session"), attempts.get("request")), ("ENOKEY", "ENOKEY"));
    assert_eq!(attempts.get("read"), "EACCES");
}

/// Without a keyring of its own the command would have its caller's. The quota is used up for one call only:
/// it is the user's, and other tests make keys.
#[test]
fn escape_by_keys_where_the_quota_is_used_up() {
    let world = World::new();
    let run = |allowed: &[&str]| {
        let mut command = world.command("strace");
        command.args(["-qq", "-f", "-e", "trace=keyctl", "-e", "inject=keyctl:error=EDQUOT"]);
        command.arg(endow()).args(["run", "--workspace", "rw"]).args(allowed);
        said(command.args(["--", "echo", "started"]))
    };
    assert_eq!(run(&[]).ok(), "started\n");
    let refused = run(&["--allow", "keyring"]);
    assert_eq!(refused.stdout, "");
    let told = refused.fails(125);
    assert!(told.contains("usable-session-keyring") && told.contains("--allow keyring"), "{told}");
}
