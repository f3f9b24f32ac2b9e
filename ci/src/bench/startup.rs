//! What the size of a workspace costs before the command starts, and what a run in a repository costs
//! in all, beside other sandboxes for agents.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::bound::Bound;
use super::rounds::{self, Contestant};
use super::scratch::{Mounted, Scratch, dir, released};
use super::table;
use super::tree::Shape;
use crate::workspace;

const SMALL: usize = 100;
const LARGE: usize = 1_000_000;
const REPOSITORY: usize = 10_000;

/// Without any-depth patterns, a large workspace against a small one.
const ANCHORED: f64 = 1.2;
/// With them, microseconds for each name that has to be read.
const NAME: f64 = 1.0;
/// What the start in a repository may take longer than the bare command's, in microseconds.
const OVER_BARE: f64 = 15_000.0;

/// Patterns that lead from the root, so that nobody has to look for names.
const POLICY: &str = "version = 1\n[deny]\ndefaults = false\npatterns = [\"secrets/**\", \"config/keys/**\"]\n\
    [protect]\ndefaults = false\nnames = [\".git/hooks/**\", \".git/config\", \".vscode/**\", \".envrc/**\"]\n";

/// Other sandboxes for agents, each with the words before its command.
const OTHERS: [(&str, &[&str]); 2] =
    [("srt", &["srt"]), ("codex sandbox", &["codex", "sandbox", "--"])];

/// Measures all three.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Vec<Value>> {
    let shape = Shape::read()?;
    let memory = Mounted::memory(scratch)?;
    let below = memory.as_ref().map_or(scratch.on_disk("trees")?, |it| it.place.clone());
    let small = shape.make(&dir(&below, "small")?, SMALL)?;
    let large = shape.make(&dir(&below, "large")?, LARGE)?;
    let place = scratch.in_memory("startup")?;
    let names = names_below(&large)?;
    let results = vec![
        anchored(&place, [&small, &large], rounds)?,
        any_depth(&place, [&small, &large], names, rounds)?,
    ];
    fs::remove_dir_all(&large)?;
    let repository = shape.make(&dir(&below, "repository")?, REPOSITORY)?;
    let in_repository = in_a_repository(&place, &repository, rounds * 3)?;
    Ok(results.into_iter().chain(in_repository).collect())
}

/// No pattern makes anybody look for names.
fn anchored(place: &Path, trees: [&PathBuf; 2], rounds: usize) -> Result<Value> {
    let policy = place.join("anchored.toml");
    fs::write(&policy, POLICY)?;
    let policy = policy.display().to_string();
    let [small, large] = trees.map(|tree| live(place, tree, &["--policy", &policy]));
    let runs = [named(small?, "100 files"), named(large?, "1,000,000 files")];
    let series = rounds::measure_by(&runs, rounds * 3, &until_started)?;
    let title = format!("until the command starts, anchored patterns, {} rounds", rounds * 3);
    let table = table::show(&title, &series, "100 files");
    let bound =
        Bound::ratio("large to small", &series, "1,000,000 files", &["100 files"], ANCHORED);
    Ok(json!({ "table": table, "bounds": [bound.show()] }))
}

/// The usual patterns match at any depth, so that names are read, or remembered.
fn any_depth(place: &Path, trees: [&PathBuf; 2], names: f64, rounds: usize) -> Result<Value> {
    let [small, large] = trees.map(|tree| live(place, tree, &["--no-policy"]));
    let (small, large) = (small?, large?);
    let runs = [
        named(small, "100 files"),
        named(large.clone(), "1,000,000 files"),
        named(large, "remembered"),
    ];
    let series = rounds::measure_by(&runs, rounds, &|one| {
        if one.name != "remembered" {
            forget(place)?;
            return until_started(one);
        }
        // The first of two runs remembers, if none did.
        until_started(one)?;
        until_started(one)
    })?;
    let title = format!("until the command starts, patterns at any depth, {rounds} rounds");
    let table = table::show(&title, &series, "100 files");
    let most = names * NAME;
    let bounds = [
        Bound::more("a large one, in us", &series, ["100 files", "1,000,000 files"], most),
        Bound::ratio("remembered", &series, "remembered", &["1,000,000 files"], 1.0),
    ];
    Ok(json!({ "table": table, "names": names, "bounds": bounds.map(Bound::show) }))
}

/// An agent's profile beside what others take: until the command starts, and in all, with what is
/// compared at the end so that the run can be undone.
fn in_a_repository(place: &Path, tree: &Path, rounds: usize) -> Result<[Value; 2]> {
    let commit = "git add . && git -c user.name=b -c user.email=b@example.com commit -qm all";
    workspace::must(Command::new("sh").args(["-ec", commit]).current_dir(tree))?;
    let in_tree = ["/usr/bin/env", "-C", &tree.display().to_string()].map(str::to_owned);
    let endow = live(place, tree, &["--no-policy", "--profile", "claude"])?;
    let others = OTHERS.iter().map(|(name, words)| {
        let words = words.iter().map(|word| (*word).to_owned());
        Contestant::new(name, in_tree.iter().cloned().chain(words).collect())
    });
    let others = others.filter(|one| one.is_able("/usr"));
    let bare = Contestant::new("bare", in_tree.to_vec());
    let runs: Vec<Contestant> = [bare, named(endow, "endow")].into_iter().chain(others).collect();
    let started = rounds::measure_by(&runs, rounds, &until_started)?;
    let whole = rounds::measure(&runs, rounds, &["/usr/bin/true"], &|| Ok(()))?;
    let title =
        |what: &str| format!("{what} in a repository of {REPOSITORY} files, {rounds} rounds");
    let bound = Bound::more("over bare, in us", &started, ["bare", "endow"], OVER_BARE);
    let started = table::show(&title("until the command starts"), &started, "endow");
    let whole = table::show(&title("a whole run"), &whole, "endow");
    Ok([
        json!({ "table": started, "bounds": [bound.show()] }),
        json!({ "table": whole, "bounds": [] }),
    ])
}

/// Endow in a live workspace, with directories of its own.
fn live(place: &Path, tree: &Path, options: &[&str]) -> Result<Contestant> {
    let program = released()?.display().to_string();
    let tree = tree.display().to_string();
    let words = [&[&program, "run", "-C", &tree, "--workspace", "rw"][..], options, &["--"]];
    let mut endow = Contestant::new("", words.concat().into_iter().map(str::to_owned).collect());
    endow.keep_below(place);
    Ok(endow)
}

fn named(mut one: Contestant, name: &str) -> Contestant {
    name.clone_into(&mut one.name);
    one
}

/// Takes away what earlier walks remember.
fn forget(place: &Path) -> Result<()> {
    let cache = place.join("cache");
    if cache.exists() {
        fs::remove_dir_all(cache)?;
    }
    Ok(())
}

/// The time until the command says something. What follows is waited for, and not counted.
fn until_started(one: &Contestant) -> Result<f64> {
    let mut command = one.command(&["/usr/bin/echo"]);
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut said = child.stdout.take().context("no pipe")?;
    let length = said.read(&mut [0; 1])?;
    let time = start.elapsed();
    let status = child.wait()?;
    ensure!(length == 1 && status.success(), "{}: {status}", one.name);
    Ok(time.as_secs_f64() * 1e6)
}

/// How many names a walk meets.
#[expect(clippy::cast_precision_loss, reason = "millions")]
fn names_below(root: &Path) -> Result<f64> {
    let output =
        Command::new("find").arg(root).args(["-mindepth", "1", "-printf", "."]).output()?;
    ensure!(output.status.success(), "find(1) failed");
    Ok(output.stdout.len() as f64)
}
