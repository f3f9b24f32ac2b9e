//! A session of an agent that is killed at a hundred moments or more, most of them within milliseconds of a
//! write: the host has no stub and no half-written file, and the agent's state is old or new.
//!
//! A stand-in writes as agents do: to the live workspace, protected names included, to its state
//! and to its file of settings, all by a rename.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Running, World, said, within};

/// All moments, and how many of them must be near a write: where the machine is busy there are more.
const MOMENTS: usize = 100;
const MOST: usize = 400;
const NEAR: usize = 60;
/// How long after the word of a write a kill counts as near it.
const CLOSE: Duration = Duration::from_millis(5);
/// Sessions at once.
const THREADS: usize = 2;
/// Rounds of writes, each with five.
const ROUNDS: usize = 6;

/// Says a word before each write.
const AGENT: &str = r#"#!/bin/sh
put() { echo w; { printf '{"n":%s,"pad":"' $2; head -c 20000 /dev/zero | tr '\0' x; echo '","end":1}'; } >"$1.tmp"; mv "$1.tmp" "$1"; }
mkdir -p ~/.claude/projects
n=0
while [ $n -lt 6 ]; do
    n=$((n + 1))
    put work $n
    put ~/.claude.json $n
    put ~/.claude/projects/log $n
    put .envrc $n
    put sub/new$n $n
done
echo end
"#;

/// What the host may have when nothing runs any more, below the home.
const NAMES: [&str; 12] = [
    ".claude",
    ".claude.json",
    ".claude/projects",
    ".claude/projects/log",
    "project",
    "project/.claude",
    "project/.claude/settings.json",
    "project/Makefile",
    "project/sub",
    "project/work",
    "project/.git",
    ".gitconfig",
];

/// One session and its end.
struct Moment {
    number: usize,
    world: World,
    /// Where the state is of every other one, so that what is written back is copied.
    memory: World,
    /// The agent has run before.
    had_state: bool,
}

impl Moment {
    fn new(number: usize) -> Self {
        let (world, memory) = (World::new(), World::in_memory());
        let had_state = number % 4 < 2;
        world.write("home/project/Makefile", &text(0));
        world.write("home/project/work", &text(0));
        world.write("home/project/.claude/settings.json", &text(0));
        fs::create_dir(world.project().join("sub")).expect("a directory");
        if had_state {
            world.write("home/.claude/projects/log", &text(0));
            world.write("home/.claude.json", &text(0));
        }
        let agent = world.write("programs/claude", AGENT);
        fs::set_permissions(agent, fs::Permissions::from_mode(0o755)).expect("executable");
        Self { number, world, memory, had_state }
    }

    /// Runs a session and kills it; returns whether that was near a write.
    fn kill(&self) -> bool {
        let path = format!("{}/programs:/usr/bin:/bin", self.world.root().display());
        let mut endow = self.command(&["--", "claude"]);
        endow.env("PATH", path).stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut running = Running::start(&mut endow);
        let at_end = self.number % 10 >= 7;
        let words = if at_end { ROUNDS * 5 } else { 1 + self.number * 7 % (ROUNDS * 5 - 1) };
        (0..words).for_each(|_| running.expect("w"));
        if at_end {
            running.expect("end");
        }
        let said = Instant::now();
        let wait =
            if at_end { self.number % 10 * 8 + self.number / 10 % 8 } else { self.number % 3 };
        std::thread::sleep(Duration::from_millis(u64::try_from(wait).expect("small")));
        // Everything of endow that is outside is in its process group.
        let to = if self.number % 5 == 4 { -running.pid() } else { running.pid() };
        crate::harness::send(9, to);
        let is_near = !at_end && said.elapsed() <= CLOSE;
        let code = running.end();
        assert!(code == 137 || at_end && code == 0, "{}: {code}", self.about());
        is_near
    }

    /// Checks the host as it is, and after the next commands.
    fn check(&self) {
        self.wait();
        self.check_files("killed");
        self.endow(&["gc"]);
        self.check_files("the next command");
        assert_eq!(self.world.bare("cd; find . -name '.endow*'").ok(), "", "{}", self.about());
        let settings = fs::read_to_string(self.world.home().join(".claude.json"));
        assert!(settings.is_ok() || !self.had_state, "{}", self.about());
        // What waits is in conflict with nothing.
        self.endow(&["apply"]);
        self.check_files("applied");
        for name in [".claude.json", ".claude/projects/log"] {
            let text = fs::read_to_string(self.world.home().join(name));
            assert!(text.is_ok() || !self.had_state, "{name}: {}", self.about());
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut endow = self.world.endow(words);
        endow.env("ENDOW_STATE_DIR", self.state());
        endow
    }

    fn state(&self) -> PathBuf {
        if self.number.is_multiple_of(2) { self.memory.state() } else { self.world.state() }
    }

    fn endow(&self, words: &[&str]) {
        let said = said(&mut self.command(words));
        assert!([0, 2, 121].contains(&said.code), "{words:?}, {}: {said:?}", self.about());
    }

    /// Waits until nothing of the run is left: until then it holds the lock of its directory.
    fn wait(&self) {
        within(Duration::from_secs(30), "the run is over", || {
            let runs = fs::read_dir(self.state().join("runs")).into_iter().flatten();
            let held = |path: PathBuf| {
                let mut flock = self.world.command("flock");
                !said(flock.arg("-n").arg(path).arg("true")).code.eq(&0)
            };
            !runs.flatten().any(|run| held(run.path()))
        });
    }

    /// Each file is whole, and each name is one of the session's.
    fn check_files(&self, when: &str) {
        let about = format!("{when}, {}", self.about());
        let find = "cd; find . -mindepth 1 -printf '%P %y\\n'";
        for line in self.world.bare(find).ok().lines() {
            let (name, kind) = line.rsplit_once(' ').expect("a line");
            // The command's own, before it renames them: as it would leave them without endow.
            if name.strip_suffix(".tmp").is_some() {
                continue;
            }
            let is_new = name.starts_with("project/sub/new") || name.contains("/.endow-");
            let is_held = name == "project/.envrc" && self.number % 5 == 4;
            let is_known = NAMES.contains(&name) || is_new || is_held;
            assert!(is_known || name.starts_with(".endow-"), "{name}: {about}");
            if kind == "f" && !name.contains(".endow-") {
                self.check_file(name, &about);
            }
        }
    }

    fn check_file(&self, name: &str, about: &str) {
        let text = fs::read_to_string(self.world.home().join(name)).expect("read");
        let value: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}, {about}"));
        assert_eq!(value["end"], 1, "{name}: {about}");
        let is_held = name.ends_with("settings.json") || name.ends_with("Makefile");
        assert!(!is_held || value["n"] == 0, "{name}: {about}");
    }

    fn about(&self) -> String {
        format!("moment {} in {}", self.number, self.world.root().display())
    }
}

fn text(number: u32) -> String {
    format!("{{\"n\":{number},\"end\":1}}\n")
}

/// Kills one session after another, until there were enough.
fn kill(next: &AtomicUsize, near: &AtomicUsize) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let is_enough = near.load(Ordering::Relaxed) >= NEAR || number >= MOST;
        if number >= MOMENTS && is_enough {
            return;
        }
        let moment = Moment::new(number);
        near.fetch_add(usize::from(moment.kill()), Ordering::Relaxed);
        moment.check();
    }
}

#[test]
fn killed_sessions_leave_what_was_or_what_is_new() {
    let (next, near) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| kill(&next, &near));
        }
    });
    let near = near.into_inner();
    assert!(near >= NEAR, "{near} within {CLOSE:?} of a write");
}
