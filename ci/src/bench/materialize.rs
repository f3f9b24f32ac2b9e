//! What a git tree costs: made for the first time, against git's own ways, and shown again.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use super::rounds::{self, Contestant};
use super::scratch::{Disk, Scratch, released};
use super::table;
use crate::workspace;

/// Files of the tree.
const FILES: usize = 40_000;
/// Files of one directory of it.
const FILES_PER_DIR: usize = 40;
/// Lines of a file: about as long as those of programs are.
const LINES: usize = 40;

/// Measures both, in memory and on a disk of its own.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Vec<Value>> {
    let repository = repository(scratch)?;
    let memory = scratch.in_memory("trees")?;
    let mut results = vec![cold(&repository, &memory, "in memory", rounds)?];
    match Disk::new(scratch)? {
        Some(disk) => results.push(cold(&repository, &disk.place, "on ext4", rounds)?),
        None => eprintln!("\nnot measured: a tree on ext4 needs root, to mount a disk of its own"),
    }
    results.push(warm(&repository, &memory, rounds * 10)?);
    Ok(results)
}

/// A repository with one commit, packed.
fn repository(scratch: &Scratch) -> Result<PathBuf> {
    let root = scratch.in_memory("repository")?;
    for dir in 0..FILES / FILES_PER_DIR {
        let place = root.join(format!("d{}/d{dir}", dir % 30));
        fs::create_dir_all(&place)?;
        for file in 0..FILES_PER_DIR {
            fs::write(place.join(format!("f{file}.txt")), text(dir * FILES_PER_DIR + file)?)?;
        }
    }
    let commit = "git init -q . && git config gc.auto 0 && git add . && git -c user.name=b -c user.email=b@example.com \
        commit -qm all && git gc -q && git config checkout.workers 2 \
        && git config checkout.thresholdForParallelism 0";
    workspace::must(Command::new("sh").args(["-c", commit]).current_dir(&root))?;
    Ok(root)
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

/// The first time: nothing of the tree is there.
fn cold(repository: &Path, place: &Path, name: &str, rounds: usize) -> Result<Value> {
    let (repository, out) = (repository.display(), place.join("out"));
    let out = out.display();
    let script = |name: &str, script: String| {
        Contestant::new(name, ["sh", "-ec", &script].map(str::to_owned).to_vec())
    };
    let contestants = [
        script(
            "worktree add",
            format!("git -C {repository} worktree add -q -f --detach {out} HEAD"),
        ),
        script(
            "archive, tar",
            format!("mkdir {out}; git -C {repository} archive HEAD | tar -x -C {out}"),
        ),
        endow(place, &[&format!("--git=/ref={repository}@HEAD")])?,
    ];
    let empty = format!(
        "chmod -R u+rwx {0}/endow 2>/dev/null || true; rm -rf {out} {0}/endow; \
         git -C {repository} worktree prune; sync -f {0}",
        place.display()
    );
    let before = || workspace::must(Command::new("sh").args(["-ec", &empty]));
    let series = rounds::measure(&contestants, rounds, &["true"], &before)?;
    before()?;
    let title = format!("a tree of {FILES} files for the first time, {name}, {rounds} rounds");
    Ok(table::show(&title, &series, "worktree add"))
}

/// Again: it is there, and a run shows it or not.
fn warm(repository: &Path, place: &Path, rounds: usize) -> Result<Value> {
    let mut without = endow(place, &[])?;
    "no tree".clone_into(&mut without.name);
    let mut with = endow(place, &[&format!("--git=/ref={}@HEAD", repository.display())])?;
    "a tree".clone_into(&mut with.name);
    let series = rounds::measure(&[without, with], rounds, &["true"], &|| Ok(()))?;
    let title = format!("a run that shows a tree of {FILES} files again, {rounds} rounds");
    Ok(table::show(&title, &series, "no tree"))
}

fn endow(place: &Path, options: &[&str]) -> Result<Contestant> {
    let program = released()?.display().to_string();
    let words = ["run", "--no-policy", "--workspace", "none", "--chdir", "/"];
    let words = words.iter().chain(options).chain(&["--"]).map(|word| (*word).to_owned());
    let mut endow = Contestant::new("endow", std::iter::once(program).chain(words).collect());
    for (name, part) in
        [("ENDOW_STATE_DIR", "state"), ("ENDOW_CACHE_DIR", "cache"), ("XDG_CONFIG_HOME", "config")]
    {
        let place = place.join("endow").join(part).display().to_string();
        endow.env.push((name.to_owned(), place));
    }
    Ok(endow)
}
