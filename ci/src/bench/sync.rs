//! What write-back costs: collecting and applying, making it durable, and a run that changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::rounds::{self, Contestant};
use super::scratch::{Mounted, Scratch, released};
use super::table;
use super::view::View;
use crate::workspace;

/// Files of one directory of a tree.
const FILES_PER_DIR: usize = 100;
/// Files of the small and of the large tree.
const TREES: [usize; 2] = [400, 40_000];
/// Files that a run changes in a tree.
const CHANGES: usize = 100;
/// Files that are written durably.
const DURABLE: usize = 1000;

/// Measures all three.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Vec<Value>> {
    let mut results = vec![trees(scratch, rounds)?];
    results.extend(durable(scratch, rounds)?);
    results.push(empty(scratch, rounds * 5)?);
    Ok(results)
}

/// A tree, and the state of the runs in it.
struct Tree {
    root: PathBuf,
    state: PathBuf,
    endow: PathBuf,
}

impl Tree {
    fn new(endow: &Path, place: PathBuf) -> Self {
        let (root, state) = (place.join("tree"), place.join("state"));
        Self { root, state, endow: endow.to_owned() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.endow);
        command.env("ENDOW_STATE_DIR", &self.state).env("ENDOW_CACHE_DIR", &self.state);
        command.env("XDG_CONFIG_HOME", &self.state).stdin(Stdio::null());
        command
    }

    /// Leaves one run that waits, with what a script did.
    fn wait_with(&self, script: &str) -> Result<()> {
        if self.state.exists() {
            fs::remove_dir_all(&self.state)?;
        }
        let mut command = self.command();
        command.current_dir(&self.root);
        command.args([
            "run",
            "--no-policy",
            "--cow",
            ".",
            "--sync",
            "review",
            "--name",
            "bench",
            "--",
        ]);
        workspace::must(command.args(["sh", "-c", script]))
    }

    fn contestant(&self, name: &str) -> Contestant {
        let endow = self.endow.display().to_string();
        let mut one = Contestant::new(name, vec![endow]);
        for name in ["ENDOW_STATE_DIR", "ENDOW_CACHE_DIR", "XDG_CONFIG_HOME"] {
            one.env.push((name.to_owned(), self.state.display().to_string()));
        }
        one
    }
}

/// Measures the same changes in a small and in a large tree, in memory.
fn trees(scratch: &Scratch, rounds: usize) -> Result<Value> {
    let endow = released()?;
    let mut trees = Vec::new();
    for files in TREES {
        let name = format!("{files} files");
        let tree = Tree::new(&endow, scratch.in_memory(&format!("tree-{files}"))?);
        fill(&tree.root, files)?;
        trees.push((name, tree));
    }
    let contestants: Vec<Contestant> =
        trees.iter().map(|(name, tree)| tree.contestant(name)).collect();
    // Changed files lie in directories that both trees have.
    let script = format!(
        "i=0; while [ $i -lt {CHANGES} ]; do echo $$ changed >d$((i % 4))/f$((i / 4)); i=$((i+1)); done"
    );
    let wait = || trees.iter().try_for_each(|(_, tree)| tree.wait_with(&script));
    let series = rounds::measure(&contestants, rounds, &["apply", "bench"], &wait)?;
    let title = format!("apply of {CHANGES} changed files in memory, {rounds} rounds");
    Ok(table::show(&title, &series, &trees[0].0))
}

fn fill(root: &Path, files: usize) -> Result<()> {
    for dir in 0..files.div_ceil(FILES_PER_DIR) {
        let dir = root.join(format!("d{dir}"));
        fs::create_dir_all(&dir)?;
        for file in 0..FILES_PER_DIR {
            fs::write(dir.join(format!("f{file}")), "content\n")?;
        }
    }
    Ok(())
}

/// Many new files on a disk with a journal, against staging, one sync and renames by hand.
fn durable(scratch: &Scratch, rounds: usize) -> Result<Option<Value>> {
    let Some(disk) = Mounted::disk(scratch)? else {
        eprintln!("\nnot measured: durable write-back needs root, to mount a disk of its own");
        return Ok(None);
    };
    let by_hand = by_hand(scratch)?;
    let tree = Tree::new(&released()?, disk.place.join("endow"));
    fs::create_dir_all(&tree.root)?;
    let hand = disk.place.join("hand");
    fs::create_dir_all(&hand)?;
    let script = format!(
        "rm -rf new; mkdir new; i=0; while [ $i -lt {DURABLE} ]; do echo $$ >new/f$i; i=$((i+1)); done"
    );
    let prepare = || {
        tree.wait_with(&script)?;
        fs::remove_dir_all(&hand)?;
        fs::create_dir(&hand)?;
        workspace::must(&mut Command::new("sync"))
    };
    // Each gets the words of the other; both ignore what is not theirs.
    let words = ["apply", "bench"];
    let mut by_hand = Contestant::new("by hand", vec![by_hand.display().to_string()]);
    by_hand.launcher.extend([hand.display().to_string(), DURABLE.to_string()]);
    let contestants = [by_hand, tree.contestant("endow apply")];
    let series = rounds::measure(&contestants, rounds, &words, &prepare)?;
    let title = format!("{DURABLE} new files made durable on ext4, {rounds} rounds");
    Ok(Some(table::show(&title, &series, "by hand")))
}

fn by_hand(scratch: &Scratch) -> Result<PathBuf> {
    let program = scratch.on_disk("bin")?.join("durable");
    let source = workspace::root().join("tests/benches/durable.c");
    workspace::must(Command::new("gcc").args(["-O2", "-o"]).arg(&program).arg(source))?;
    Ok(program)
}

/// A buffered view in which nothing is changed, against a plain bind.
fn empty(scratch: &Scratch, rounds: usize) -> Result<Value> {
    let project = scratch.in_memory("buffered")?;
    fill(&project, TREES[0])?;
    let mut view = View::system();
    view.cow(&project, Path::new("/bench/project"));
    let (mounts, contestants) = scratch.contestants(&view)?;
    ensure!(contestants.iter().any(|one| one.name == "endow"), "endow does not work here");
    contestants.iter().find(|one| one.name == "bwrap").context("bubblewrap is not installed")?;
    let series = rounds::measure(&contestants, rounds, &["/usr/bin/true"], &|| Ok(()))?;
    let title = format!("buffered view without a change, {mounts} mounts, {rounds} rounds");
    Ok(table::show(&title, &series, "bwrap"))
}
