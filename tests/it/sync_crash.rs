//! Write-back, undo and gc, killed or failed at system calls one after another: each file is old or
//! new, the next command finishes or rolls back, and nothing is left over.
//!
//! `ENDOW_SWEEP=all` tries every call, `ENDOW_SWEEP=renameat:1` one; by default each of these tests
//! takes some, other ones each time it runs.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Command;

use crate::harness::{Said, World, endow, said};

/// Calls that are tried when not all are.
const SOME: usize = 12;
/// Calls that can fail: memory and the start of the program are not among them.
const CAN_FAIL: &[&str] = &[
    "openat",
    "openat2",
    "statx",
    "newfstatat",
    "getdents64",
    "read",
    "pread64",
    "write",
    "pwrite64",
    "renameat",
    "renameat2",
    "linkat",
    "symlinkat",
    "mkdirat",
    "unlinkat",
    "fchmod",
    "fchmodat",
    "utimensat",
    "flock",
    "fsync",
    "syncfs",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "fremovexattr",
    "lremovexattr",
    "ftruncate",
    "copy_file_range",
    "lseek",
    "fcntl",
];

/// What the command changes: every kind of change.
const CHANGE: &str =
    "echo new >file; rm gone; rm -r tree; mkdir tree; echo x >tree/x; echo new >type/x
    rm -r swap; echo now a file >swap; mkdir made; echo y >made/y; ln made/y made/z; chmod 640 mode
    ln -s file link; touch -d @1500000000 time; rm became; mkdir became; echo b >became/b";

fn project() -> World {
    let world = World::new();
    let script =
        "echo old >file; echo old >gone; mkdir -p tree/a type swap/deep; echo old >tree/a/b
        echo old >type/x; echo old >swap/deep/x; echo old >mode; chmod 600 mode; echo old >time
        echo old >became; find . -exec touch -h -d @1400000000 '{}' +";
    world.bare(script).ok();
    world
}

/// Everything below the project, without the order in which names were made.
fn tree(world: &World) -> String {
    let script =
        "find . -printf '%P %y %m %T@ %l\\n' | sort; find . -type f | sort | xargs tail -n +1";
    world.bare(script).ok().to_owned()
}

/// A project with a run that waits, and what the project was and will be.
struct Waiting {
    world: World,
    old: String,
    new: String,
}

impl Waiting {
    fn new() -> Self {
        let expected = project();
        expected.bare(CHANGE).ok();
        let world = project();
        let old = tree(&world);
        world.run(&["run", "--sync", "review"], CHANGE).ok();
        assert_eq!(tree(&world), old);
        Self { world, old, new: without_times(&tree(&expected)) }
    }

    fn after(before: &[&str]) -> Self {
        let waiting = Self::new();
        if !before.is_empty() {
            waiting.endow(before).ok();
        }
        waiting
    }

    fn endow(&self, words: &[&str]) -> Said {
        said(&mut self.world.endow(words))
    }

    /// Runs a command of endow under strace with further options; returns the trace, too.
    fn traced(&self, words: &[&str], options: &[&str]) -> (Said, String) {
        let trace = self.world.root().join("trace");
        let mut command = self.world.command("strace");
        command.args(["-f", "-q", "-e", "signal=none"]).args(options).arg("-o").arg(&trace);
        let said = said(command.arg(endow()).args(words));
        (said, std::fs::read_to_string(&trace).expect("a trace"))
    }

    /// Runs a command of endow and does something to one of its calls; returns whether that call
    /// was reached.
    fn tampered(&self, words: &[&str], what: &str, call: &Call) -> bool {
        let (name, at) = call;
        let inject = format!("inject={name}:{what}:when={at}");
        let (said, trace) = self.traced(words, &["-e", &inject]);
        trace.contains("(INJECTED)") || said.code == 137
    }

    fn state(&self) -> String {
        let runs = std::fs::read_dir(self.world.state().join("runs")).expect("runs");
        let record =
            runs.flatten().find_map(|run| std::fs::read(run.path().join("record.json")).ok());
        let record: serde_json::Value =
            serde_json::from_slice(&record.expect("a record")).expect("json");
        record["state"].as_str().expect("a state").to_owned()
    }

    /// Each file is what it was or what it becomes; a directory may be half-way.
    fn check_each(&self, about: &str) {
        let now = without_times(&tree(&self.world));
        let (old, new) = (without_times(&self.old), &self.new);
        let known = |line: &&str| {
            let is_directory = line.split(' ').nth(1) == Some("d");
            let is_seen = old.lines().chain(new.lines()).any(|it| it == *line);
            is_seen || is_directory || line.contains(".endow-")
        };
        let strange: Vec<&str> = now.lines().filter(|line| !known(line)).collect();
        assert!(strange.is_empty(), "{about}: {strange:?}");
    }

    /// The next commands bring it to one end, and then back.
    fn check_end(&self, about: &str) {
        self.endow(&["gc"]).ok();
        if self.state() == "applied" && tree(&self.world) == self.old {
            self.endow(&["undo"]).ok();
        }
        if self.state() == "undone" {
            assert_eq!(tree(&self.world), self.old, "{about}");
            return self.check_debris(about);
        }
        if self.state() != "applied" {
            let applied = self.endow(&["apply"]);
            assert_eq!(applied.code, 0, "{about}: {}", applied.stderr);
        }
        assert_eq!(without_times(&tree(&self.world)), self.new, "{about}");
        self.check_debris(about);
        let undone = self.endow(&["undo"]);
        assert_eq!(undone.code, 0, "{about}: {}", undone.stderr);
        assert_eq!(tree(&self.world), self.old, "{about}");
        self.check_debris(about);
    }

    fn check_debris(&self, about: &str) {
        let names = self.world.bare("find . -name '.endow*'");
        assert_eq!(names.ok(), "", "{about}");
        let runs = self.world.state().join("runs");
        let journal = Command::new("find").arg(runs).args(["-name", "journal*"]).output();
        assert!(journal.expect("find").stdout.is_empty(), "{about}: a journal is left");
    }
}

/// Times of what the run itself made differ between two worlds.
fn without_times(tree: &str) -> String {
    let line = |line: &str| -> String {
        let fixed = |word: &&str| {
            let second = word.split('.').next().unwrap_or_default();
            second.len() != 10 || second.starts_with("14") || second.starts_with("15")
        };
        let words: Vec<&str> = line.split(' ').filter(fixed).collect();
        words.join(" ")
    };
    tree.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A system call, and the how-manieth of its name it is.
type Call = (String, usize);

/// Returns every call that a command makes after `before`.
fn calls(before: &[&str], words: &[&str]) -> Vec<Call> {
    let waiting = Waiting::after(before);
    let (said, trace) = waiting.traced(words, &[]);
    said.ok();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let names = trace.lines().filter_map(|line| line.split_once(' ')?.1.trim().split_once('('));
    let names = names.map(|(name, _)| name).filter(|name| !name.contains(' '));
    let numbered = names.map(|name| {
        let number = seen.entry(name).or_default();
        *number += 1;
        (name.to_owned(), *number)
    });
    numbered.collect()
}

/// Leaves some, spread over all and other ones each time, or those that were asked for.
fn some(calls: Vec<Call>) -> Vec<Call> {
    let asked = std::env::var("ENDOW_SWEEP").unwrap_or_default();
    if asked == "all" {
        return calls;
    }
    if let Some((name, at)) = asked.split_once(':') {
        let is_it = |(known, number): &Call| known == name && number.to_string() == at;
        return calls.into_iter().filter(is_it).collect();
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = usize::try_from(now.expect("a time").subsec_nanos()).expect("small");
    let step = (calls.len() / SOME).max(1);
    calls.into_iter().skip(seed % step).step_by(step).collect()
}

/// Does `what` to one call of `words` after another, after `before`.
fn sweep(before: &[&str], words: &[&str], what: &str) {
    let fails = |(name, _): &Call| what.starts_with("signal") || CAN_FAIL.contains(&name.as_str());
    let all: Vec<Call> = calls(before, words).into_iter().filter(fails).collect();
    let (total, some) = (all.len(), some(all));
    let mut hits = 0;
    for call in some {
        let waiting = Waiting::after(before);
        let about = format!("{words:?} {what} at {call:?}");
        if !waiting.tampered(words, what, &call) {
            continue;
        }
        hits += 1;
        waiting.check_each(&about);
        waiting.check_end(&about);
    }
    assert!(hits > 0, "{words:?}: nothing was tampered with");
    let line = format!("{words:?} {what}: {hits} injections of {total} calls\n");
    std::io::stderr().write_all(line.as_bytes()).expect("stderr");
}

#[test]
fn killed_apply_is_finished_or_rolled_back() {
    sweep(&[], &["apply"], "signal=SIGKILL");
}

#[test]
fn killed_undo_is_finished_or_rolled_back() {
    sweep(&["apply"], &["undo"], "signal=SIGKILL");
}

#[test]
fn killed_gc_loses_nothing() {
    sweep(&[], &["gc"], "signal=SIGKILL");
}

#[test]
fn failed_calls_of_apply_lose_nothing() {
    for errno in ["ENOSPC", "EIO", "EMFILE", "EINTR"] {
        sweep(&[], &["apply"], &format!("error={errno}"));
    }
}

#[test]
fn failed_calls_of_undo_lose_nothing() {
    for errno in ["ENOSPC", "EIO", "EMFILE", "EINTR"] {
        sweep(&["apply"], &["undo"], &format!("error={errno}"));
    }
}
