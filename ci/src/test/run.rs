//! Starts test executables as a given user, shows their output in a stable order, and counts.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result};

use super::build::{Build, LAYERS, TestBinary};
use super::filters::{Filters, has};
use super::place::Place;
use super::summary::{Counts, SortedLines};
use crate::workspace;

/// Seconds after which an executable's tests count as hung.
const TIME_LIMIT: &str = "1800";
/// Seconds after which tests count as hung that fail every call once, which are tens of thousands of runs of endow.
const SWEEP_TIME_LIMIT: &str = "21600";

/// How long nothing may be said by what is left of an executable that has ended.
const PAUSE: Duration = Duration::from_secs(1);

/// Variables of the caller's that tests as another user get.
const PASSED: &[&str] =
    &["CI", "ENDOW_SWEEP", "ENDOW_TEST_REQUIRE", "ENDOW_TEST_SEED", "RUST_BACKTRACE", "TERM"];

/// A root user's tools may live in a home that the test user cannot enter.
const USER_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Whom tests run as.
#[derive(Clone, Debug)]
pub(crate) enum Identity {
    /// Whoever started the task, in their own environment.
    Current,
    /// Root, with a fresh home.
    Root,
    /// An ordinary user, with a fresh home and environment.
    User { name: String, uid: u32, gid: u32 },
}

impl Identity {
    fn name(&self) -> &str {
        match self {
            Self::Current => "the current user",
            Self::Root => "root",
            Self::User { name, .. } => name,
        }
    }
}

/// The tests of other people's builds and agents.
const WORK: &str = "work::";
/// Those that root does not run once more. Root differs by what it may do with files and in the kernel, by its
/// numbers and by its home: tests of that stay. Here are other people's programs, builds, what is told and kept of
/// runs, and what is decided about names and repositories, which ask nothing of who runs them.
const ONCE_IS_ENOUGH: [&str; 55] = [
    WORK,
    "runners::bazel::",
    "runners::buildbox_run::",
    "build::",
    "build_check::",
    "build_denied::",
    "build_faults::",
    "build_interrupted::",
    "build_limits::",
    "build_networks::",
    "build_outputs::",
    "build_places::",
    "build_remote::",
    "build_settings::",
    "build_shared::",
    "ci_examples::",
    "kept_killed::",
    "killed::killed_sessions",
    "learn::",
    "network::registries::",
    "network::streams::",
    "package::",
    "plan::",
    "run_checkpoint::",
    "run_conflicts::",
    "run_credentials::",
    "run_deep_names::names_further_down",
    "run_denials::",
    "run_deny_foreign::",
    "run_deny_meanwhile::",
    "run_enclosing::",
    "run_git::",
    "run_git_older::",
    "run_leads::many_repositories",
    "run_live_git::",
    "run_live_traps::",
    "run_many::",
    "run_merge::",
    "run_profiles::",
    "run_report::",
    "run_secrets::",
    "run_steered::",
    "run_usage::",
    "run_work_trees::",
    "setup_faults::controls",
    "sync_crash::",
    "sync_races::",
    "trees::diff::",
    "trees::hostile::",
    "trees::oracles::",
    "trees::progress::",
    "trees::real::",
    "trees::sparse::",
    "trees::stress::",
    "trees::unusual::",
];

/// Tests of an executable that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Batch {
    /// Units, which keep the processors busy.
    Units,
    /// Those that mostly wait: twice as many at a time as there are processors.
    Waiting,
    /// Other people's builds and agents, which keep the processors busy by themselves.
    Work,
    /// Those that take layers away.
    Layers,
}

impl Batch {
    /// End-to-end tests by their batches.
    const END_TO_END: [Self; 3] = [Self::Waiting, Self::Work, Self::Layers];

    fn of(test: &TestBinary, name: &str) -> Self {
        match name {
            _ if test.has_layers() && has(name, LAYERS) => Self::Layers,
            _ if name.starts_with(WORK) => Self::Work,
            _ => Self::Waiting,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Units | Self::Waiting => "",
            Self::Work => ", other people's programs",
            Self::Layers => ", tests that take layers away",
        }
    }
}

impl Identity {
    /// Whether a test is for such a user.
    fn wants(&self, name: &str) -> bool {
        let is_once = ONCE_IS_ENOUGH.iter().any(|part| name.starts_with(part));
        !matches!(self, Self::Root) || !is_once
    }
}

/// Runs test executables as one user.
pub(super) struct Runner<'a> {
    pub(super) place: &'a Place,
    pub(super) identity: &'a Identity,
    /// What was asked for.
    pub(super) filters: &'a Filters,
    /// The layer that is taken away from every run, where the build has the switches.
    pub(super) without: Option<&'a str>,
}

impl Runner<'_> {
    /// Runs all tests of an executable.
    pub(super) fn run_all(&self, test: &TestBinary, build: &Build) -> Result<Counts> {
        if !test.end_to_end {
            return self.run_together(test, &build.endow);
        }
        let mut counts = Counts::default();
        for batch in Batch::END_TO_END {
            let endow = if batch == Batch::Layers { &build.switched } else { &build.endow };
            let names = self.names(test, |name| Batch::of(test, name) == batch)?;
            counts += self.run(test, endow, batch, names)?;
        }
        Ok(counts)
    }

    /// Runs all end-to-end tests of an executable together, also those of other people's programs.
    pub(super) fn run_together(&self, test: &TestBinary, endow: &Path) -> Result<Counts> {
        let names = self.names(test, |_| true)?;
        self.run(test, endow, Batch::Units, names)
    }

    /// The tests of an executable that are wanted, and for such a user.
    fn names(&self, test: &TestBinary, is_one: impl Fn(&str) -> bool) -> Result<Vec<String>> {
        let mut names = test.names()?;
        let is_for = |name: &str| self.identity.wants(name) && self.filters.let_through(name);
        names.retain(|name| is_one(name) && is_for(name));
        Ok(names)
    }

    /// Runs these tests of one executable, which would run all if it were given no names.
    fn run(
        &self,
        test: &TestBinary,
        endow: &Path,
        batch: Batch,
        names: Vec<String>,
    ) -> Result<Counts> {
        if names.is_empty() {
            return Ok(Counts::default());
        }
        println!("\n== {} as {}{}", test.label, self.identity.name(), batch.title());
        let skips = self.place.fresh_skips()?;
        let mut command = self.command(test);
        command
            .args(self.filters.words_for(names))
            .env("ENDOW_BIN", endow)
            .env("ENDOW_TEST_SKIPS", &skips);
        if batch == Batch::Waiting {
            let processors = std::thread::available_parallelism()?.get();
            command.env("RUST_TEST_THREADS", (2 * processors).to_string());
        }
        let mut counts = show(&mut command)?;
        counts.add_skips(&std::fs::read_to_string(&skips)?);
        Ok(counts)
    }

    fn command(&self, test: &TestBinary) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", time_limit()]);
        command.args(["sh", "-c", "umask 022 && exec \"$@\"", "sh"]);
        command.arg(&test.path).current_dir(&test.package).stdin(Stdio::null());
        let home = self.place.home(self.identity.name());
        match self.identity {
            Identity::Current | Identity::Root => {}
            Identity::User { name, uid, gid } => {
                command.env_clear().uid(*uid).gid(*gid);
                command.env("PATH", USER_PATH).env("USER", name).env("LOGNAME", name);
                command.env("SHELL", "/bin/sh").env("LANG", "C.UTF-8");
                let value = |name| std::env::var_os(name).map(|value| (name, value));
                command.envs(PASSED.iter().copied().filter_map(value));
            }
        }
        if let Some(home) = home {
            command.env("HOME", home).env("INSTA_UPDATE", "no");
        }
        command.env("CARGO_MANIFEST_DIR", &test.package);
        command.envs(self.without.map(|layer| ("ENDOW_TEST_WITHOUT", layer)));
        let work = workspace::work_dir();
        if work.is_dir() {
            command.env("ENDOW_TEST_WORK", work);
        }
        // Else insta asks cargo, which the test user may not have.
        command.env("INSTA_WORKSPACE_ROOT", self.place.source());
        command
    }
}

/// Runs to the end; tests finish in any order but are shown in one.
fn show(command: &mut Command) -> Result<Counts> {
    // Pipes of its own: programs that tests start make what they have for standard error non-blocking, for
    // everybody who has it.
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("timeout(1) does not start")?;
    let said = lines_of(child.stdout.take().context("no pipe")?);
    let complained = lines_of(child.stderr.take().context("no pipe")?);
    let shown = std::thread::spawn(move || {
        for line in complained {
            eprintln!("{line}");
        }
    });
    let mut counts = Counts::default();
    let mut lines = SortedLines::default();
    loop {
        match said.recv_timeout(PAUSE) {
            Ok(line) => {
                counts.read(&line);
                for ready in lines.push(line) {
                    println!("{ready}");
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    for rest in lines.finish() {
        println!("{rest}");
    }
    let status = child.wait()?;
    // What is left behind may keep it open.
    if !shown.is_finished() {
        std::thread::sleep(PAUSE);
    }
    if let Some(complaint) = counts.ended(status.code()) {
        println!("{complaint}");
    }
    Ok(counts)
}

/// Reads on a thread of its own. Nobody waits for it: what a test leaves behind, as tests without a layer
/// do, may keep the pipe open for good.
fn lines_of(stdout: impl Read + Send + 'static) -> Receiver<String> {
    let (teller, said) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if teller.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    said
}

fn time_limit() -> &'static str {
    let is_sweep = std::env::var_os("ENDOW_SWEEP").is_some_and(|value| value == "all");
    if is_sweep { SWEEP_TIME_LIMIT } else { TIME_LIMIT }
}
