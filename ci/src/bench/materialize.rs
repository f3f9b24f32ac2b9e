//! What a git tree costs: made for the first time, against git's own ways, made again one commit
//! later, shown again, and landed with changes. Each has a bound.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::bound::Bound;
use super::capture;
use super::casd;
use super::rounds::{self, Contestant, Series};
use super::scratch::{Mounted, Scratch, released};
use super::table;
use crate::workspace;

/// Files of the tree.
const FILES: usize = 40_000;
/// Files of one directory of it.
const FILES_PER_DIR: usize = 40;
/// Lines of a file: about as long as those of programs are.
const LINES: usize = 40;
/// Files that one commit changes.
const CHANGED: usize = 100;
/// Directories of the tree that is small, for comparison.
const SMALL_DIRS: usize = 4;

/// The first time, against the best way of git's.
const COLD: f64 = 0.8;
/// One commit later, against the first time.
const LATER: f64 = 0.05;
/// What a launch takes longer with a tree that is there, in microseconds.
const WARM: f64 = 1000.0;
/// How many system calls more a large tree may take than a small one.
const CALLS: f64 = 0.0;

/// Measures all, in memory and on a disk of its own.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Vec<Value>> {
    let repository = repository(&scratch.in_memory("repository")?, FILES / FILES_PER_DIR)?;
    let small = repository_small(scratch)?;
    let memory = scratch.in_memory("trees")?;
    let mut results = vec![
        first(&repository, &memory, "in memory", rounds)?,
        again(&[&small, &repository], &memory, rounds * 10)?,
    ];
    match Mounted::disk(scratch)? {
        Some(disk) => results.push(first(&repository, &disk.place, "on ext4", rounds)?),
        None => eprintln!("\nnot measured: a tree on ext4 needs root, to mount a disk of its own"),
    }
    // Last, as it adds to the repositories.
    results.push(landed(&[&small, &repository], &memory, rounds * 3)?);
    Ok(results)
}

fn repository_small(scratch: &Scratch) -> Result<PathBuf> {
    repository(&scratch.in_memory("small")?, SMALL_DIRS)
}

/// A repository with two commits, packed.
fn repository(root: &Path, dirs: usize) -> Result<PathBuf> {
    for dir in 0..dirs {
        let place = directory(root, dir);
        fs::create_dir_all(&place)?;
        for file in 0..FILES_PER_DIR {
            fs::write(place.join(format!("f{file}.txt")), text(dir * FILES_PER_DIR + file)?)?;
        }
    }
    let shell =
        |script: &str| workspace::must(Command::new("sh").args(["-ec", script]).current_dir(root));
    shell(
        "git init -q . && git config gc.auto 0 && git config user.name b && git config user.email b@example.com",
    )?;
    shell("git add . && git commit -qm all")?;
    for change in 0..CHANGED.min(dirs) {
        let place = directory(root, change * dirs / CHANGED.min(dirs));
        fs::write(place.join("f7.txt"), text(FILES + change)?)?;
    }
    shell("git add . && git commit -qm later && git gc -q")?;
    shell("git config checkout.workers 2 && git config checkout.thresholdForParallelism 0")?;
    Ok(root.to_owned())
}

fn directory(root: &Path, number: usize) -> PathBuf {
    root.join(format!("d{}/d{number}", number % 30))
}

/// A text that no other file has.
fn text(number: usize) -> Result<String> {
    let mut text = String::new();
    for line in 0..LINES {
        let value = (number * LINES + line).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(text, "    let value_{line} = compute({value:016x}, {number});")?;
    }
    Ok(text)
}

/// The first time: nothing of the tree is there. Then the next commit, whose parent is.
fn first(repository: &Path, place: &Path, name: &str, rounds: usize) -> Result<Value> {
    let out = place.join("out");
    let contestants = peers(repository, &out).into_iter().chain([endow(place, &[repository])?]);
    let contestants: Vec<Contestant> = contestants.collect();
    let before = || empty(repository, place);
    let mut series = rounds::measure(&contestants, rounds, &["true"], &before)?;
    let [old, new] = ["HEAD~1", "HEAD"].map(|rev| endow_at(place, repository, rev));
    let [old, mut new] = [old?, new?];
    "one commit later".clone_into(&mut new.name);
    let before = || {
        empty(repository, place)?;
        workspace::must(&mut old.command(&["true"]))
    };
    series.extend(rounds::measure(&[new], rounds, &["true"], &before)?);
    series.extend(others(repository, place, rounds)?);
    empty(repository, place)?;
    let title = format!("a tree of {FILES} files for the first time, {name}, {rounds} rounds");
    let table = table::show(&title, &series, "worktree add");
    let bounds = [
        Bound::ratio("the first time, to git's best", &series, "endow", &GITS, COLD),
        Bound::ratio("one commit later", &series, "one commit later", &["endow"], LATER),
    ];
    Ok(json!({ "table": table, "bounds": bounds.map(Bound::show) }))
}

/// The ways of git that are measured.
const GITS: [&str; 2] = ["worktree add", "archive, tar"];

fn peers(repository: &Path, out: &Path) -> Vec<Contestant> {
    let (repository, out) = (repository.display(), out.display());
    vec![
        script(
            "worktree add",
            format!("git -C {repository} worktree add -q -f --detach {out} HEAD"),
        ),
        script(
            "archive, tar",
            format!("mkdir {out}; git -C {repository} archive HEAD | tar -x -C {out}"),
        ),
    ]
}

fn script(name: &str, script: String) -> Contestant {
    Contestant::new(name, ["sh", "-ec", &script].map(str::to_owned).to_vec())
}

/// Others that make trees of what they have: casd of its store, and hard links to a copy that is
/// there, which is no way to show a tree, but what names alone cost.
fn others(repository: &Path, place: &Path, rounds: usize) -> Result<Vec<Series>> {
    let (model, out) = (place.join("model"), place.join("out"));
    empty(repository, place)?;
    let make = "mkdir \"$1\"; git -C \"$0\" archive HEAD | tar -x -C \"$1\"";
    workspace::must(Command::new("sh").args(["-ec", make]).arg(repository).arg(&model))?;
    let copy = script("cp -al", format!("cp -al {} {}", model.display(), out.display()));
    let mut series = rounds::measure(&[copy], rounds, &["true"], &|| empty(repository, place))?;
    series.extend(casd::staging(&model, place, rounds)?);
    fs::remove_dir_all(&model)?;
    Ok(series)
}

fn empty(repository: &Path, place: &Path) -> Result<()> {
    let script = "chmod -R u+rwx \"$0\"/endow 2>/dev/null || true; rm -rf \"$0\"/out \"$0\"/endow; \
         git -C \"$1\" worktree prune; sync -f \"$0\"";
    workspace::must(Command::new("sh").args(["-ec", script]).arg(place).arg(repository))
}

/// Again: it is there, and a run shows it or not.
fn again(repositories: &[&Path; 2], place: &Path, rounds: usize) -> Result<Value> {
    let [small, large] = repositories;
    let mut runs = [endow(place, &[])?, endow(place, &[small])?, endow(place, &[large])?];
    for (run, name) in runs.iter_mut().zip(["no tree", "a small tree", "a tree"]) {
        name.clone_into(&mut run.name);
    }
    let series = rounds::measure(&runs, rounds, &["true"], &|| Ok(()))?;
    let title = format!("a run that shows a tree of {FILES} files again, {rounds} rounds");
    let table = table::show(&title, &series, "no tree");
    let mut bounds = vec![Bound::more("a tree, in us", &series, ["no tree", "a tree"], WARM)];
    match (calls(&runs[1]), calls(&runs[2])) {
        (Ok(small), Ok(large)) => bounds.push(Bound::calls(small, large, CALLS)),
        _ => eprintln!("not measured: system calls are counted by strace"),
    }
    let bounds: Vec<Value> = bounds.into_iter().map(Bound::show).collect();
    Ok(json!({ "table": table, "bounds": bounds }))
}

/// Landed: a run changed some files of a working copy.
fn landed([small, large]: &[&Path; 2], place: &Path, rounds: usize) -> Result<Value> {
    let tree = |name, repository: &Path| {
        let option = format!("--git=/work={}@HEAD,cow", repository.display());
        let endow = launcher(place, vec![option])?;
        let directory = &|number| directory(Path::new("/work"), number).display().to_string();
        Ok::<_, anyhow::Error>(capture::Tree { name, endow, directory })
    };
    capture::run(&[tree("a small tree", small)?, tree("a tree", large)?], place, rounds)
}

/// Counts the system calls of a run with all its processes; those that wait for another are
/// repeated by chance, so that the fewest of some runs count.
fn calls(run: &Contestant) -> Result<usize> {
    let count = || {
        let mut traced = run.clone();
        let words = ["strace", "-f", "-qq", "-o", "/dev/stdout"].map(str::to_owned);
        traced.launcher.splice(0..0, words);
        let output = traced.command(&["true"]).stdout(std::process::Stdio::piped()).output()?;
        let is_call = |line: &&str| !line.contains("resumed>") && !line.contains("+++");
        Ok(String::from_utf8_lossy(&output.stdout).lines().filter(is_call).count())
    };
    let counts: Result<Vec<usize>> = (0..9).map(|_| count()).collect();
    counts?.into_iter().filter(|count| *count > 0).min().context("strace counts nothing")
}

fn endow(place: &Path, repositories: &[&Path]) -> Result<Contestant> {
    match repositories {
        [repository] => endow_at(place, repository, "HEAD"),
        _ => launcher(place, Vec::new()),
    }
}

fn endow_at(place: &Path, repository: &Path, rev: &str) -> Result<Contestant> {
    launcher(place, vec![format!("--git=/ref={}@{rev}", repository.display())])
}

fn launcher(place: &Path, options: Vec<String>) -> Result<Contestant> {
    let program = released()?.display().to_string();
    let words = ["run", "--no-policy", "--workspace", "none", "--chdir", "/"].map(str::to_owned);
    let words = words.into_iter().chain(options).chain(["--".to_owned()]);
    let mut endow = Contestant::new("endow", std::iter::once(program).chain(words).collect());
    for (name, part) in
        [("ENDOW_STATE_DIR", "state"), ("ENDOW_CACHE_DIR", "cache"), ("XDG_CONFIG_HOME", "config")]
    {
        let place = place.join("endow").join(part).display().to_string();
        endow.env.push((name.to_owned(), place));
    }
    Ok(endow)
}
