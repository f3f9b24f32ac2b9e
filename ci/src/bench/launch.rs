//! What a launch costs: one usual view, and how the cost grows with the number of binds.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::rounds::{self, Series};
use super::scratch::Scratch;
use super::stats;
use super::table;
use super::view::View;

/// The mounts of the usual view, before endow adds its base.
const USUAL: usize = 20;

/// Numbers of binds whose cost is compared.
const BINDS: &[u16] = &[10, 100, 300, 1000];

const COMMAND: &[&str] = &["/usr/bin/true"];

/// Measures the usual view, and how the cost grows with the number of binds.
pub(super) fn run(scratch: &Scratch, rounds: usize, peer: &str) -> Result<Vec<Value>> {
    Ok(vec![usual(scratch, rounds, peer)?, growth(scratch, (rounds / 4).max(5))?])
}

fn usual(scratch: &Scratch, rounds: usize, peer: &str) -> Result<Value> {
    let mut view = View::system();
    view.rw(&scratch.in_memory("work")?, Path::new("/bench/work"));
    for number in 0..USUAL.saturating_sub(view.len()) {
        add_bind(scratch, &mut view, number)?;
    }
    let (mounts, mut contestants) = scratch.contestants(&view)?;
    contestants.insert(0, scratch.bare()?);
    let series = rounds::measure(&contestants, rounds, COMMAND, &|| Ok(()))?;
    let title = format!("launch of /usr/bin/true, {mounts} mounts, {rounds} rounds");
    Ok(table::show(&title, &series, peer))
}

fn growth(scratch: &Scratch, rounds: usize) -> Result<Value> {
    let mut measured: Vec<(f64, Vec<Series>)> = Vec::new();
    for binds in BINDS {
        let mut view = View::system();
        view.rw(&scratch.in_memory("work")?, Path::new("/bench/work"));
        for number in 0..usize::from(*binds) {
            add_bind(scratch, &mut view, number)?;
        }
        let (_, contestants) = scratch.contestants(&view)?;
        let series = rounds::measure(&contestants, rounds, COMMAND, &|| Ok(()))?;
        measured.push((f64::from(*binds), series));
    }
    eprintln!("\nlaunch by number of read-only binds, median us, {rounds} rounds");
    let heads: Vec<String> = BINDS.iter().map(|binds| format!("{binds:>10}")).collect();
    eprintln!("{:<16}{}   us per bind", "", heads.concat());
    let names: Vec<String> = measured
        .first()
        .map_or(Vec::new(), |(_, series)| series.iter().map(|one| one.name.clone()).collect());
    let rows: Vec<Value> = names.iter().map(|name| growth_of(name, &measured)).collect();
    Ok(json!({ "title": "us per bind", "rounds": rounds, "series": rows }))
}

fn growth_of(name: &str, measured: &[(f64, Vec<Series>)]) -> Value {
    let median = |series: &[Series]| {
        series.iter().find(|one| one.name == name).map(|one| one.summary().median)
    };
    let points: Vec<(f64, f64)> =
        measured.iter().filter_map(|(binds, series)| Some((*binds, median(series)?))).collect();
    let slope = stats::slope(&points);
    let cells: Vec<String> = points.iter().map(|(_, time)| format!("{time:>10.0}")).collect();
    eprintln!("{name:<16}{}   {slope:.1}", cells.concat());
    json!({ "name": name, "median_us": points, "us_per_bind": slope })
}

fn add_bind(scratch: &Scratch, view: &mut View, number: usize) -> Result<()> {
    let from = scratch.in_memory("binds")?.join(format!("{number:04}"));
    fs::create_dir_all(&from)?;
    view.ro(&from, &Path::new("/bench").join(format!("{number:04}")));
    Ok(())
}
