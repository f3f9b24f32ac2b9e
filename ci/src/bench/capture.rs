//! What it costs to land what a run changed in a tree: told by the run itself.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::bound::Bound;
use super::rounds::{Contestant, Series};
use super::table;
use crate::workspace;

/// Files that a run changes.
const EDITS: usize = 100;
/// Directories in which they lie.
const DIRS: usize = 4;
/// The most microseconds of it.
const MOST: f64 = 20_000.0;
/// The most times as long it may take in a large tree as in a small one.
const GROWTH: f64 = 1.25;

/// A tree of a repository that a run changes, and where its files are.
pub(super) struct Tree<'a> {
    pub(super) name: &'a str,
    pub(super) endow: Contestant,
    /// Returns the directory of this number.
    pub(super) directory: &'a dyn Fn(usize) -> String,
}

/// Measures the end of runs in a small and a large tree.
pub(super) fn run(trees: &[Tree<'_>; 2], place: &Path, rounds: usize) -> Result<Value> {
    let report = place.join("report.json");
    let empty = |tree: &Tree<'_>| Series { name: tree.name.to_owned(), times: Vec::new() };
    let mut series: Vec<Series> = trees.iter().map(empty).collect();
    // The first round makes the trees and is not counted.
    for round in 0..=rounds {
        for (tree, series) in trees.iter().zip(&mut series) {
            let time = time_of(tree, &report)?;
            if round > 0 {
                series.times.push(time);
            }
        }
    }
    let title = format!("landing {EDITS} changed files of a working copy, {rounds} rounds");
    let table = table::show(&title, &series, trees[0].name);
    let bounds = [
        Bound::most("landing in the large tree, in us", &series, trees[1].name, MOST),
        Bound::ratio("to the small one", &series, trees[1].name, &[trees[0].name], GROWTH),
    ];
    Ok(json!({ "table": table, "bounds": bounds.map(Bound::show) }))
}

/// Runs it once and returns how long the end took, in microseconds.
fn time_of(tree: &Tree<'_>, report: &Path) -> Result<f64> {
    let mut script = String::new();
    for edit in 0..EDITS {
        let directory = (tree.directory)(edit % DIRS);
        writeln!(script, "echo $$ changed >{directory}/f{}.txt", edit / DIRS)?;
    }
    let mut endow = tree.endow.clone();
    let at = endow.launcher.iter().position(|word| word == "--").context("no command")?;
    let words = ["--report".to_owned(), report.display().to_string()];
    endow.launcher.splice(at..at, words);
    workspace::must(&mut endow.command(&["sh", "-ec", &script]))?;
    let report: Value = serde_json::from_slice(&fs::read(report)?)?;
    report["phases_us"]["sync"].as_f64().context("the report tells no time")
}
