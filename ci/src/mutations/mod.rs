//! `cargo ci mutations`: which tests notice that a layer is missing.
//!
//! The tests of attacks, and of what one layer does, run with every run of endow lacking one layer. What fails
//! then, and does not with all layers, has noticed. A layer that nothing notices is a failure here.

mod layer;
mod page;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Result, bail};

use self::layer::Layer;
use crate::arch::Arch;
use crate::test::{self, Build, Filters, Place};

/// The tests that are run.
const TESTS: &[&str] =
    &["attacks::", "escape::", "in_place::", "layers::", "run_deny", "run_live_names"];

/// Tests that take layers away one after the other and say themselves that it is noticed.
const CONTROLS: &[&str] = &["build_verify::", "setup_faults::"];

/// What noticed one loss.
struct Noticed {
    layer: Layer,
    tests: BTreeSet<String>,
}

/// Runs the tests without each layer that is named, or without any in turn.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let (options, words): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|word| word.starts_with("--"));
    let write = options.iter().any(|word| *word == "--write");
    if let Some(other) = options.iter().find(|word| **word != "--write") {
        bail!("no option {other}: there is --write");
    }
    let layers = layer::all()?;
    if let Some(other) = words.iter().find(|word| layers.iter().all(|it| it.word != ***word)) {
        let known: Vec<&str> = layers.iter().map(|it| it.word.as_str()).collect();
        bail!("no layer {other}: there are {}", known.join(", "));
    }
    let place = Place::new()?;
    let build = Build::of(&place, Arch::HERE)?;
    let usual = failing(&place, &build, None)?;
    for name in &usual {
        println!("fails with all layers: {name}");
    }
    let mut all = Vec::new();
    for layer in layers.into_iter().filter(|it| words.is_empty() || words.contains(&&it.word)) {
        println!("\n== without {}", layer.word);
        let tests = &failing(&place, &build, Some(&layer.word))? - &usual;
        all.push(Noticed { layer, tests });
    }
    println!();
    for Noticed { layer, tests } in &all {
        println!("{}: {} tests notice", layer.word, tests.len());
    }
    if write {
        page::write(&all)?;
    }
    let is_fine = usual.is_empty() && all.iter().all(|it| !it.tests.is_empty());
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The tests that fail.
fn failing(place: &Place, build: &Build, layer: Option<&str>) -> Result<BTreeSet<String>> {
    let skips = CONTROLS.iter().flat_map(|part| ["--skip", part]);
    let tests: Vec<String> = TESTS.iter().copied().chain(skips).map(str::to_owned).collect();
    let counts = test::run_without(place, build, (layer, &Filters::of(&tests)))?;
    Ok(counts.failures.into_iter().collect())
}
