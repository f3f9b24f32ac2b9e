//! `cargo ci bench`: what a sandbox costs, measured against the floor and against bubblewrap.
//!
//! Commands run interleaved in rounds, so that whatever slows the machine slows all of them, and
//! differences come with an interval. Every launcher makes the mounts that the kernel lists inside
//! endow: see [`view::View::like`].

mod actions;
mod bound;
mod capture;
mod casd;
mod compile;
mod launch;
mod materialize;
mod memory;
mod mountinfo;
mod network;
mod observe;
pub(crate) mod peer;
mod rounds;
mod scratch;
mod startup;
mod stats;
mod sync;
mod table;
mod tree;
mod verify;
mod view;

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use self::scratch::Scratch;
use crate::workspace;

/// Everything that can be measured.
pub(crate) const ALL: [&str; 10] = [
    "launch",
    "memory",
    "build",
    "sync",
    "materialize",
    "network",
    "startup",
    "observe",
    "verify",
    "actions",
];

/// What to measure and how.
struct Options {
    what: Vec<String>,
    rounds: Option<usize>,
    peer: String,
    json: bool,
    core: Option<String>,
}

/// Measures; the table goes to stderr, JSON to stdout when asked for.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let options = Options::parse(args)?;
    if let Some(core) = &options.core {
        pin(core)?;
    }
    let scratch = Scratch::new()?;
    let mut results = Vec::new();
    for what in &options.what {
        forget_names();
        results.extend(match what.as_str() {
            "launch" => launch::run(&scratch, options.rounds.unwrap_or(200), &options.peer)?,
            "memory" => vec![memory::run(&scratch)?],
            "build" => vec![compile::run(&scratch, options.rounds.unwrap_or(11))?],
            "sync" => sync::run(&scratch, options.rounds.unwrap_or(11))?,
            "materialize" => materialize::run(&scratch, options.rounds.unwrap_or(11))?,
            "network" => network::run(&scratch, options.rounds.unwrap_or(11))?,
            "startup" => startup::run(&scratch, options.rounds.unwrap_or(21))?,
            "observe" => observe::run(&scratch, options.rounds.unwrap_or(11))?,
            "verify" => verify::run(&scratch, options.rounds.unwrap_or(51))?,
            "actions" => actions::run(&scratch, options.rounds.unwrap_or(3))?,
            other => bail!("nothing called {other} can be measured: {}", ALL.join(", ")),
        });
    }
    if options.json {
        println!("{}", json!({ "version": 1, "results": Value::Array(results) }));
    }
    Ok(ExitCode::SUCCESS)
}

/// Has the kernel forget the names and inodes that it keeps, as only root can. A machine whose table of names
/// is small looks each up slower the more it keeps, whatever is measured: twice as slowly after a day of builds.
fn forget_names() {
    if std::fs::write("/proc/sys/vm/drop_caches", "2").is_err() {
        eprintln!("names that the kernel keeps stay: only root can have it forget them");
    }
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self {
            what: Vec::new(),
            rounds: None,
            peer: "floor".to_owned(),
            json: false,
            core: None,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().cloned().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--json" => options.json = true,
                "--rounds" => options.rounds = Some(value()?.parse().context("--rounds")?),
                "--peer" => options.peer = value()?,
                "--core" => options.core = Some(value()?),
                flag if flag.starts_with('-') => bail!("unknown option {flag}"),
                what => options.what.push(what.to_owned()),
            }
        }
        if options.what.is_empty() {
            options.what = ALL.map(str::to_owned).to_vec();
        }
        Ok(options)
    }
}

/// Keeps this process, and what it starts, on some cores.
fn pin(cores: &str) -> Result<()> {
    let own = std::process::id().to_string();
    workspace::must(Command::new("taskset").args(["--cpu-list", "--pid", cores, &own]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_have_defaults() {
        let options = parse(&[]).expect("no words are fine");
        assert_eq!(options.what, ALL);
        assert_eq!((options.peer.as_str(), options.rounds, options.json), ("floor", None, false));
    }

    #[test]
    fn options_are_read() {
        let options =
            parse(&["launch", "--rounds", "7", "--peer", "bwrap", "--json"]).expect("fine");
        assert_eq!(options.what, ["launch"]);
        assert_eq!((options.peer.as_str(), options.rounds, options.json), ("bwrap", Some(7), true));
    }

    #[test]
    fn options_refuse_what_they_do_not_know() {
        assert!(parse(&["--fast"]).is_err());
        assert!(parse(&["--rounds"]).is_err());
        assert!(parse(&["--rounds", "many"]).is_err());
    }
}
