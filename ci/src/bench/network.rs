//! What the relay of an allowlist costs, against the host's plain loopback, and what an allowlist
//! costs at the start.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::bound::Bound;
use super::peer;
use super::rounds::{self, Contestant, Series};
use super::scratch::{Scratch, released};
use super::table;

/// How much is sent to see how fast that goes.
const MEGABYTES: &str = "1024";
/// How often is connected to see how long that takes.
const CONNECTIONS: &str = "300";
/// How many connections stand at once.
const TOGETHER: &str = "1000";

/// Without and with a relay in between.
const PLAIN: &str = "plain loopback";
const RELAYED: &str = "through endow";

/// Measures all of it.
pub(super) fn run(scratch: &Scratch, rounds: usize) -> Result<Vec<Value>> {
    let bench = Bench { address: peer::serve()?, scratch, rounds };
    let send = bench.measure("send", MEGABYTES)?;
    let receive = bench.measure("receive", MEGABYTES)?;
    let connect = bench.measure("connect", CONNECTIONS)?;
    let together = bench.measure("together", TOGETHER)?;
    let launch = launch(scratch, rounds * 5)?;
    eprintln!();
    let slower = 1.0 / 0.7;
    let bounds = vec![
        Bound::ratio("sending, to plain loopback", &send, RELAYED, &[PLAIN], slower).show(),
        Bound::ratio("receiving, to plain loopback", &receive, RELAYED, &[PLAIN], slower).show(),
        Bound::more("more to connect, us", &connect, [PLAIN, RELAYED], 300.0).show(),
        Bound::most("1,000 connections at once, us", &together, RELAYED, 5e6).show(),
        Bound::more("more to launch, us", &launch, ["--net none", "--net HOST"], 1000.0).show(),
    ];
    let shown = [send, receive, connect, together, launch].map(|series| shown(&series));
    Ok(shown.into_iter().chain([json!({ "title": "bounds", "bounds": bounds })]).collect())
}

fn shown(series: &[Series]) -> Value {
    table::show("network", series, series.first().map_or("", |first| &first.name))
}

struct Bench<'a> {
    address: SocketAddr,
    scratch: &'a Scratch,
    rounds: usize,
}

impl Bench<'_> {
    /// Has the client measure, outside and inside in turn.
    fn measure(&self, what: &str, number: &str) -> Result<Vec<Series>> {
        let mut series =
            [PLAIN, RELAYED].map(|name| Series { name: name.to_owned(), times: Vec::new() });
        for round in 0..self.rounds {
            for turn in 0..2 {
                let inside = (turn + round) % 2;
                let took = self.client(inside == 1, what, number)?;
                series[inside].times.push(took);
            }
        }
        eprintln!("\n{what} {number}, {} rounds", self.rounds);
        Ok(series.into())
    }

    fn client(&self, inside: bool, what: &str, number: &str) -> Result<f64> {
        let own = std::env::current_exe()?;
        let mut command = if inside {
            let mut endow = Command::new(released()?);
            let state = self.scratch.in_memory("network-state")?;
            endow.env("ENDOW_STATE_DIR", &state).env("ENDOW_CACHE_DIR", &state);
            endow.args(["run", "--no-policy", "--workspace", "none", "--chdir", "/", "--ro"]);
            endow.arg(&own).arg("--net").arg(format!("localhost:{}", self.address.port()));
            endow.arg("--").arg(&own);
            endow
        } else {
            Command::new(&own)
        };
        command.args(["peer", what, &self.address.to_string(), number]);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{what}: {}", output.status);
        let text = String::from_utf8(output.stdout)?;
        text.trim().parse().with_context(|| format!("{what}: {text:?}"))
    }
}

/// A start with an allowlist, and one without a network.
fn launch(scratch: &Scratch, rounds: usize) -> Result<Vec<Series>> {
    let endow = released()?.display().to_string();
    let state = scratch.in_memory("network-state")?.display().to_string();
    let contestant = |name: &str, words: &[&str]| {
        let fixed = ["run", "--no-policy", "--workspace", "none", "--chdir", "/"];
        let words = fixed.iter().chain(words).chain(&["--"]).map(|word| (*word).to_owned());
        let mut one = Contestant::new(name, std::iter::once(endow.clone()).chain(words).collect());
        one.env.push(("ENDOW_STATE_DIR".to_owned(), state.clone()));
        one.env.push(("ENDOW_CACHE_DIR".to_owned(), state.clone()));
        one
    };
    let contestants = [
        contestant("--net none", &["--net", "none"]),
        contestant("--net HOST", &["--net", "api.example.com", "--net", "*.example.org"]),
    ];
    rounds::measure(&contestants, rounds, &["/usr/bin/true"], &|| Ok(()))
}
