//! Runs a probe: a short script whose named attempts each print what came of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;

use crate::harness::{World, said};

const COMMON: &str = include_str!("probes/common.py");
const PYTHON: &str = "/usr/bin/python3";

/// What came of each attempt: `ok`, the name of an error, or a word of the probe's own.
#[derive(Debug)]
pub(crate) struct Attempts(BTreeMap<String, String>);

/// Runs a probe in a sandbox, with options before `--`.
pub(crate) fn inside(world: &World, options: &[&str], probe: &str, about: &[&str]) -> Attempts {
    let mut command = world.endow(["run"]);
    command.args(options).arg("--").args(script(probe, about));
    Attempts::of(&mut command)
}

/// Runs a probe without a sandbox: the control.
pub(crate) fn outside(world: &World, probe: &str, about: &[&str]) -> Attempts {
    let mut command = world.command(PYTHON);
    command.args(script(probe, about).into_iter().skip(1));
    Attempts::of(&mut command)
}

/// Returns the command line of a probe.
pub(crate) fn script(probe: &str, about: &[&str]) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![PYTHON.into(), "-S".into(), "-c".into()];
    line.push(format!("{COMMON}\n{probe}").into());
    line.extend(about.iter().map(OsString::from));
    line
}

impl Attempts {
    /// Runs a command line that ends in a probe's.
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        let said = said(command);
        let lines = said.ok().lines().filter_map(|line| line.split_once(' '));
        Self(lines.map(|(name, word)| (name.to_owned(), word.to_owned())).collect())
    }

    /// Returns what came of one attempt.
    #[track_caller]
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("no attempt `{name}` among {:?}", self.0))
    }

    /// Asserts what came of each attempt; there may be no others.
    #[track_caller]
    pub(crate) fn are(&self, expected: &[(&str, &str)]) {
        let expected: BTreeMap<&str, &str> = expected.iter().copied().collect();
        let found: BTreeMap<&str, &str> = self.iter().collect();
        assert_eq!(found, expected);
    }

    /// Asserts that these attempts succeeded.
    #[track_caller]
    pub(crate) fn succeed(&self, names: &[&str]) {
        for name in names {
            assert_eq!(self.get(name), "ok", "{name} of {:?}", self.0);
        }
    }

    /// Returns the attempts but one.
    pub(crate) fn but(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// Asserts that every attempt failed in this way.
    #[track_caller]
    pub(crate) fn all(&self, word: &str) {
        assert!(!self.0.is_empty(), "no attempt was made");
        let others: BTreeMap<_, _> = self.iter().filter(|(_, it)| *it != word).collect();
        assert!(others.is_empty(), "not {word}: {others:?}");
    }

    /// Returns what came of each attempt.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, word)| (name.as_str(), word.as_str()))
    }
}
