//! What an action of `endow build` costs: many small ones with shared inputs, beside Bazel's linux-sandbox, what
//! buildbox-run with bubblewrap does at least, and no sandbox at all.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use super::bound::Bound;
use super::casd;
use super::rounds::{self, Contestant, Series};
use super::scratch::{Scratch, released};
use super::table;

const ACTIONS: u32 = 1000;
/// Inputs that every action sees beside its own.
const SHARED: usize = 2000;

/// What an action may cost more than the bare command, in microseconds.
const MORE: f64 = 2500.0;
/// What it may cost of linux-sandbox alone, and of that with a forest of links for the inputs.
const OF_SANDBOX: f64 = 0.75;
const OF_FOREST: f64 = 0.2;
/// What a build may take of which all results are known, in microseconds.
const KNOWN: f64 = 300_000.0;
/// Inputs that nobody has changed, and what looking them through may take, in microseconds.
const UNCHANGED: usize = 40_000;
const LOOKED: f64 = 100_000.0;

/// Measures one action after the other, two at a time, and a build of which all is known.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Vec<Value>> {
    let project = project(&scratch.on_disk("actions")?)?;
    let place = scratch.in_memory("actions-endow")?;
    let endow = |name: &str, words: &[&str]| endow(name, &project, &place, words);
    let mut results = Vec::new();
    for (title, jobs) in [("one at a time", 1), ("two at a time", 2)] {
        let mut contestants = vec![
            each("bare", jobs, "/usr/bin/true"),
            endow("endow", &["--no-cache", &format!("-j{jobs}")])?,
        ];
        if let Some(sandbox) = linux_sandbox() {
            let alone = format!("{sandbox} -W {} -N -- /usr/bin/true", project.display());
            let forest = scratch.in_memory("forest")?;
            contestants.push(each("linux-sandbox", jobs, &alone));
            contestants.push(each("and its forest", jobs, &in_forest(&project, &forest, &sandbox)));
        } else {
            eprintln!("linux-sandbox is not measured: install bazel-bootstrap");
        }
        let series = rounds::measure(&contestants, rounds, &[], &|| Ok(()))?;
        let mut series: Vec<Series> = series.into_iter().map(of_one).collect();
        if jobs == 1 {
            // One tree for all of them: casd has an easier time.
            series.extend(casd::actions(&model(&project)?, &scratch.in_memory("casd")?, rounds)?);
        }
        let title = format!(
            "one of {ACTIONS} actions with {SHARED} shared inputs, {title}, {rounds} rounds"
        );
        let table = table::show(&title, &series, "bare");
        let mut bounds = Vec::new();
        if jobs == 1 {
            bounds.push(
                Bound::more("an action over bare, in us", &series, ["bare", "endow"], MORE).show(),
            );
        }
        let of = |peer, most| {
            Bound::ratio(&format!("an action of {peer}"), &series, "endow", &[peer], most)
        };
        // What was not measured passes no bound.
        for (peer, most) in [("linux-sandbox", OF_SANDBOX), ("and its forest", OF_FOREST)] {
            if series.iter().any(|one| one.name == peer) {
                bounds.push(of(peer, most).show());
            }
        }
        results.push(json!({ "table": table, "bounds": bounds }));
    }
    let known = [endow("known", &[])?];
    let series = rounds::measure(&known, rounds + 2, &[], &|| Ok(()))?;
    let table = table::show(&format!("{ACTIONS} actions of which all is known"), &series, "known");
    let bound = Bound::most("nothing to do, in us", &series, "known", KNOWN);
    results.push(json!({ "table": table, "bounds": [bound.show()] }));
    results.push(unchanged(scratch, rounds)?);
    Ok(results)
}

/// Measures what many inputs cost that are as they were, of an action whose result is known.
fn unchanged(scratch: &Scratch, rounds: usize) -> Result<Value> {
    let place = scratch.in_memory("inputs-endow")?;
    let mut contestants = Vec::new();
    for (name, count) in [("one input", 1), ("all inputs", UNCHANGED)] {
        let project = scratch.on_disk(&format!("inputs-{count}"))?;
        inputs(&project, count)?;
        contestants.push(endow(name, &project, &place, &[])?);
    }
    let series = rounds::measure(&contestants, rounds + 2, &[], &|| Ok(()))?;
    let title = format!("an action of which all is known, with {UNCHANGED} inputs");
    let table = table::show(&title, &series, "one input");
    let what = "inputs looked through, in us";
    let bound = Bound::more(what, &series, ["one input", "all inputs"], LOOKED);
    Ok(json!({ "table": table, "bounds": [bound.show()] }))
}

/// A project of one action, which has so many inputs in directories of a hundred.
fn inputs(project: &Path, count: usize) -> Result<()> {
    for number in 0..count {
        let directory = project.join("src").join((number / 100).to_string());
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("{number}.h")), format!("int i{number};\n"))?;
    }
    let action = "version = 1\n[[action]]\nname = \"a\"\ncommand = [\"/usr/bin/true\"]\ninputs = [\"src/**\"]\n";
    Ok(fs::write(project.join("endow.toml"), action)?)
}

/// Builds of a project, with caches of their own.
fn endow(name: &str, project: &Path, place: &Path, words: &[&str]) -> Result<Contestant> {
    let (program, project) = (released()?.display().to_string(), project.display().to_string());
    let words = [&[program.as_str(), "build", "-q", "-C", &project][..], words].concat();
    let mut endow = Contestant::new(name, words.into_iter().map(str::to_owned).collect());
    endow.keep_below(place);
    Ok(endow)
}

/// A directory with the inputs of one action.
fn model(project: &Path) -> Result<PathBuf> {
    let model = project.join("model");
    fs::create_dir_all(model.join("include"))?;
    fs::create_dir_all(model.join("src"))?;
    for number in 0..SHARED {
        let name = format!("include/{number}.h");
        fs::copy(project.join(&name), model.join(&name))?;
    }
    fs::copy(project.join("src/1"), model.join("src/1"))?;
    Ok(model)
}

fn of_one(series: Series) -> Series {
    Series { times: series.times.iter().map(|time| time / f64::from(ACTIONS)).collect(), ..series }
}

/// A command, once for each action.
fn each(name: &str, jobs: usize, command: &str) -> Contestant {
    let script = format!("seq {ACTIONS} | xargs -P{jobs} -I@ {command}");
    Contestant::new(name, ["sh", "-c", &script].map(str::to_owned).to_vec())
}

/// Returns a command that runs an action as Bazel does: in a directory with a link for each input.
fn in_forest(project: &Path, forest: &Path, sandbox: &str) -> String {
    format!(
        "sh -c 'mkdir -p {forest}/@/include && ln -s {project}/include/* {forest}/@/include && \
         ln -s {project}/src/@ {forest}/@ && {sandbox} -W {forest}/@ -N -- /usr/bin/true; rm -r {forest}/@'",
        project = project.display(),
        forest = forest.display(),
    )
}

fn linux_sandbox() -> Option<String> {
    if let Ok(named) = std::env::var("ENDOW_LINUX_SANDBOX") {
        return Some(named);
    }
    let found = format!("/usr/libexec/{}-linux-gnu/bazel/linux-sandbox", std::env::consts::ARCH);
    Path::new(&found).exists().then_some(found)
}

fn project(place: &Path) -> Result<PathBuf> {
    for directory in ["include", "src"] {
        fs::create_dir_all(place.join(directory))?;
    }
    for number in 0..SHARED {
        fs::write(place.join(format!("include/{number}.h")), format!("int i{number};\n"))?;
    }
    let mut policy = String::from("version = 1\n");
    for number in 1..=ACTIONS {
        fs::write(place.join(format!("src/{number}")), format!("{number}\n"))?;
        writeln!(
            policy,
            "[[action]]\nname = \"a{number}\"\ncommand = [\"/usr/bin/true\"]\ninputs = [\"src/{number}\", \"include/*.h\"]"
        )?;
    }
    fs::write(place.join("endow.toml"), policy)?;
    Ok(place.to_owned())
}
