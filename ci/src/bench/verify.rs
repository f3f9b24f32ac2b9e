//! What it takes to try every rule before a job: `endow verify`, beside a run of the same sandbox.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::bound::Bound;
use super::rounds::{self, Contestant};
use super::scratch::{Scratch, dir, released};
use super::table;
use super::tree::Shape;
use crate::workspace;

const FILES: usize = 10_000;

/// What it may take, in microseconds: little enough to be done before each job.
const MOST: f64 = 50_000.0;

/// Measures an agent's profile in a repository.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Vec<Value>> {
    let tree = Shape::read()?.make(&dir(&scratch.on_disk("verified")?, "repository")?, FILES)?;
    let commit = "git init -q . && git add . && git -c user.name=b -c user.email=b@example.com commit -qm all";
    workspace::must(Command::new("sh").args(["-ec", commit]).current_dir(&tree))?;
    let place = scratch.in_memory("verify")?;
    let contestants = [endow(&place, &tree, "run")?, endow(&place, &tree, "verify")?];
    let series = rounds::measure(&contestants, rounds, &["/usr/bin/true"], &|| Ok(()))?;
    let title = format!("verifying in a repository of {FILES} files, {rounds} rounds");
    let table = table::show(&title, &series, "run");
    let bound = Bound::most("verify, in us", &series, "verify", MOST);
    Ok(vec![json!({ "table": table, "bounds": [bound.show()] })])
}

fn endow(place: &Path, tree: &Path, word: &str) -> Result<Contestant> {
    let (program, tree) = (released()?.display().to_string(), tree.display().to_string());
    let words = [&program, word, "-C", &tree, "--no-policy", "--profile", "claude", "--"];
    let mut endow = Contestant::new(word, words.map(str::to_owned).to_vec());
    endow.keep_below(place);
    Ok(endow)
}
