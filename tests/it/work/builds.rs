//! Foreign programs, built and tested by `make` and `cargo` with no flag but the two of the run:
//! the same artefacts as outside.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{copy, fresh_project, link, provisioned};
use crate::harness::{World, said};

const LIVE: [&str; 5] = ["--workspace", "rw", "--net", "none", "--"];
/// The default: what each command changes is written back before the next one starts.
const BUFFERED: [&str; 3] = ["--net", "none", "--"];

/// What a build left: for each file its mode and digest, for each link where it leads.
type Artefacts = BTreeMap<String, String>;

/// The outcome of a build.
#[derive(Debug, PartialEq, Eq)]
struct Built {
    /// What the tests of the package said, in order.
    results: Vec<String>,
    artefacts: Artefacts,
}

/// One build of the project, bare or inside.
struct Build<'a> {
    world: &'a World,
    source: &'a Path,
    commands: &'a [&'a [&'a str]],
    /// Lines of the output that are results, without times.
    result: fn(&str) -> Option<String>,
    /// Files that are artefacts.
    artefact: fn(&str) -> bool,
}

impl Build<'_> {
    /// Runs the commands in a fresh copy; `prefix` stands before each.
    fn run(&self, prefix: &[&str]) -> Built {
        fresh_project(self.world, self.source);
        let mut results = Vec::new();
        for command in self.commands {
            let said = said(&mut self.command(prefix, command));
            results.extend(said.ok().lines().filter_map(self.result));
        }
        results.sort();
        Built { results, artefacts: self.artefacts() }
    }

    fn command(&self, prefix: &[&str], command: &[&str]) -> Command {
        let path = format!("{}/.cargo/bin:/usr/bin:/bin", self.world.home().display());
        let (program, arguments) = command.split_first().expect("a command");
        let mut command = if prefix.is_empty() {
            self.world.command(program)
        } else {
            let mut endow = self.world.endow(prefix);
            endow.arg(program);
            endow
        };
        command.args(arguments).env("PATH", path);
        // Outside, /tmp has what other users left; inside it is the run's alone in any case.
        let temporary = self.world.root().join("tmp");
        fs::create_dir_all(&temporary).expect("a directory");
        command.env("TMPDIR", temporary);
        command
    }

    fn artefacts(&self) -> Artefacts {
        let mut found = Artefacts::new();
        let project = self.world.project();
        collect(&project, &project, &mut found);
        found.retain(|name, _| (self.artefact)(name));
        self.add_digests(&mut found);
        found
    }

    /// By sha256sum: a debug build of these tests would take minutes.
    fn add_digests(&self, found: &mut Artefacts) {
        let files = found.iter().filter(|(_, kind)| !kind.starts_with("->"));
        let files: Vec<String> = files.map(|(name, _)| name.clone()).collect();
        let sums = said(self.world.command("sha256sum").arg("--").args(&files));
        let lines = sums.ok().lines().filter_map(|line| line.split_once("  "));
        let digests: Vec<(&str, &str)> = lines.collect();
        assert_eq!(digests.len(), files.len(), "every file has a digest");
        for (digest, name) in digests {
            found.get_mut(name).expect("a file of the list").push_str(digest);
        }
    }

    /// Builds outside, then inside with each of the options, and compares.
    fn check(&self, each: &[&[&str]], at_least: usize) {
        let bare = self.run(&[]);
        for options in each {
            bare.assert_same(&self.run(options), at_least);
        }
    }
}

impl Built {
    fn assert_same(&self, inside: &Self, at_least: usize) {
        let differs = |name: &&String| self.artefacts.get(*name) != inside.artefacts.get(*name);
        let names = self.artefacts.keys().chain(inside.artefacts.keys());
        let different: Vec<&String> = names.filter(differs).collect();
        assert!(different.is_empty(), "different inside: {different:?}");
        assert_eq!(self.results, inside.results);
        assert!(inside.artefacts.len() >= at_least, "{:?}", inside.artefacts);
        assert!(!inside.results.is_empty(), "no test of the package ran");
    }
}

fn collect(root: &Path, directory: &Path, found: &mut Artefacts) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        let path = entry.path();
        let kind = entry.file_type().expect("a type");
        let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
        if kind.is_dir() {
            collect(root, &path, found);
        } else if kind.is_symlink() {
            found.insert(name, format!("-> {}", fs::read_link(&path).expect("a link").display()));
        } else {
            let mode = entry.metadata().expect("metadata").permissions().mode();
            found.insert(name, format!("{mode:o} "));
        }
    }
}

/// A makefile that builds and then compresses and compares samples.
#[test]
fn make_of_a_plain_package() {
    let Some(source) = provisioned("c/bzip2") else { return };
    let world = World::new();
    let result = |line: &str| line.starts_with("cmp ").then(|| line.to_owned());
    let commands: &[&[&str]] = &[&["make"], &["make", "test"]];
    Build { world: &world, source: &source, commands, result, artefact: |_| true }
        .check(&[&LIVE], 40);
}

#[test]
fn make_of_a_plain_package_in_a_buffered_workspace() {
    let Some(source) = provisioned("c/bzip2") else { return };
    let world = World::new();
    let result = |line: &str| line.starts_with("cmp ").then(|| line.to_owned());
    let commands: &[&[&str]] = &[&["make"], &["make", "test"], &["make", "clean"], &["make"]];
    Build { world: &world, source: &source, commands, result, artefact: |_| true }
        .check(&[&BUFFERED], 40);
}

/// A configure script asks the system hundreds of questions; each answer is in `config.h`.
#[test]
fn make_of_a_configured_package() {
    let Some(source) = provisioned("c/hello") else { return };
    let world = World::new();
    let result = |line: &str| {
        let counted = line.starts_with("# ") && line.contains(": ");
        (counted || line.starts_with("PASS: ")).then(|| line.to_owned())
    };
    let commands: &[&[&str]] = &[&["./configure"], &["make"], &["make", "check"]];
    // The log has the time and the numbers of processes.
    let artefact = |name: &str| name != "config.log";
    Build { world: &world, source: &source, commands, result, artefact }.check(&[&LIVE], 300);
}

/// A toolchain of rustup's in the home, dependencies fetched beforehand.
#[test]
fn cargo_test_of_a_crate() {
    let Some(rust) = provisioned("rust") else { return };
    let world = World::new();
    link(&rust.join("home/.rustup"), &world.home().join(".rustup"));
    copy(&rust.join("home/.cargo"), &world.home().join(".cargo"));
    let result = |line: &str| {
        let line = line.split("; finished in").next().unwrap_or(line);
        line.starts_with("test ").then(|| line.to_owned())
    };
    // Everything that rustc wrote; cargo's own notes beside it hold times.
    let artefact = |name: &str| name.starts_with("target/debug/deps/") || name == "target/debug/rg";
    let commands: &[&[&str]] = &[&["cargo", "test"]];
    // Three builds without what a debugger reads take a third less.
    let source = world.root().join("crate");
    copy(&rust.join("crate"), &source);
    let manifest = source.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(manifest, text + "\n[profile.dev]\ndebug = false\n").expect("written");
    let build = Build { world: &world, source: &source, commands, result, artefact };
    build.check(&[&LIVE, &BUFFERED], 100);
}
