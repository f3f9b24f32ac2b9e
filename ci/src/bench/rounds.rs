//! Measures commands against each other: in rounds, each round in another order.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::stats::{self, Random, Ratio, Summary};

/// What a probe command exits with, so that a launcher that does nothing is not taken for fast.
const PROBE_CODE: i32 = 42;

/// A launcher with everything but the command it starts.
#[derive(Clone, Debug)]
pub(super) struct Contestant {
    /// Its name in tables.
    pub(super) name: String,
    /// Program and arguments; the measured command is added.
    pub(super) launcher: Vec<String>,
    /// Variables it is given.
    pub(super) env: Vec<(String, String)>,
}

/// A contestant's times in microseconds, one a round.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) times: Vec<f64>,
}

impl Contestant {
    /// A launcher by its words.
    pub(super) fn new(name: &str, launcher: Vec<String>) -> Self {
        Self { name: name.to_owned(), launcher, env: Vec::new() }
    }

    /// Gives endow directories of its own.
    pub(super) fn keep_below(&mut self, place: &Path) {
        for (name, part) in [
            ("ENDOW_STATE_DIR", "state"),
            ("ENDOW_CACHE_DIR", "cache"),
            ("XDG_CONFIG_HOME", "config"),
        ] {
            self.env.push((name.to_owned(), place.join(part).display().to_string()));
        }
    }

    /// The launcher starting `command`, silent and without input.
    pub(super) fn command(&self, command: &[&str]) -> Command {
        let mut words = self.launcher.iter().map(String::as_str).chain(command.iter().copied());
        let mut child = Command::new(words.next().unwrap_or("true"));
        child.args(words).stdin(Stdio::null()).stdout(Stdio::null());
        child.envs(self.env.iter().map(|(name, value)| (name, value)));
        child
    }

    /// Whether it really starts a command that sees `path`; tells why not.
    pub(super) fn is_able(&self, path: &str) -> bool {
        let script = format!("test -e {path} && exit {PROBE_CODE}");
        match self.command(&["/usr/bin/env", "sh", "-c", &script]).status() {
            Ok(status) if status.code() == Some(PROBE_CODE) => return true,
            Ok(status) => eprintln!("not measured: {}: {status}", self.name),
            Err(error) => eprintln!("not measured: {}: {error}", self.name),
        }
        false
    }
}

/// Runs `command` under each contestant once a round.
///
/// # Errors
///
/// When a run does not exit with 0: a time of something that failed means nothing.
pub(super) fn measure(
    contestants: &[Contestant],
    rounds: usize,
    command: &[&str],
    before_each: &dyn Fn() -> Result<()>,
) -> Result<Vec<Series>> {
    measure_by(contestants, rounds, &|one| {
        before_each()?;
        time_of(one, command)
    })
}

/// Asks for a time of each contestant once a round.
///
/// # Errors
///
/// When one can't be had.
pub(super) fn measure_by(
    contestants: &[Contestant],
    rounds: usize,
    time: &dyn Fn(&Contestant) -> Result<f64>,
) -> Result<Vec<Series>> {
    let empty = |one: &Contestant| Series { name: one.name.clone(), times: Vec::new() };
    let mut series: Vec<Series> = contestants.iter().map(empty).collect();
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let mut order: Vec<usize> = (0..contestants.len()).collect();
    // The first round warms caches and is not counted.
    for round in 0..=rounds {
        random.shuffle(&mut order);
        for at in &order {
            let time = time(&contestants[*at])?;
            if round > 0 {
                series[*at].times.push(time);
            }
        }
    }
    Ok(series)
}

fn time_of(contestant: &Contestant, command: &[&str]) -> Result<f64> {
    let mut child = contestant.command(command);
    let start = Instant::now();
    let status = child.status().with_context(|| format!("{} does not start", contestant.name))?;
    let time = start.elapsed();
    ensure!(status.success(), "{}: {status}", contestant.name);
    Ok(time.as_secs_f64() * 1e6)
}

impl Series {
    /// Its summary.
    pub(super) fn summary(&self) -> Summary {
        stats::summary(&self.times)
    }

    /// How much longer it took than a peer.
    pub(super) fn ratio(&self, peer: &Self) -> Ratio {
        stats::ratio(&self.times, &peer.times, &mut Random::new(0x2545_f491_4f6c_dd1d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Contestant {
        Contestant::new("env", vec!["/usr/bin/env".to_owned()])
    }

    #[test]
    fn measure_times_every_contestant_in_every_round() {
        let both = [env(), Contestant { name: "second".to_owned(), ..env() }];
        let series = measure(&both, 3, &["true"], &|| Ok(())).expect("times");
        assert_eq!(series.len(), 2);
        assert!(series.iter().all(|one| one.times.len() == 3 && one.summary().median > 0.0));
    }

    #[test]
    fn measure_refuses_a_command_that_fails() {
        assert!(measure(&[env()], 1, &["false"], &|| Ok(())).is_err());
    }

    #[test]
    fn a_launcher_that_starts_nothing_is_not_able() {
        assert!(env().is_able("/usr"));
        assert!(!env().is_able("/nonexistent"));
        let idle = Contestant::new("idle", vec!["/usr/bin/true".to_owned()]);
        assert!(!idle.is_able("/usr"));
        let absent = Contestant::new("absent", vec!["/nonexistent".to_owned()]);
        assert!(!absent.is_able("/usr"));
    }
}
