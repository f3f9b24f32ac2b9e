//! `endow build --dry-run`: what a build would do, as far as that is known before anything is executed.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{FAILED, Session};
use crate::cli::build::outcome::Failure;
use crate::cli::build::told;

/// What would become of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Would {
    BeTaken,
    BeExecuted,
    /// It is looked up once there is what it needs.
    Follow,
    Fail,
}

impl Would {
    /// Returns the word of JSON.
    fn word(self) -> &'static str {
        match self {
            Self::BeTaken => "cached",
            Self::BeExecuted => "executed",
            Self::Follow => "unknown",
            Self::Fail => "failed",
        }
    }

    fn told(self) -> &'static str {
        match self {
            Self::BeTaken => "from the cache",
            Self::BeExecuted => "would be executed",
            Self::Follow => "depends on what the actions leave that it needs",
            Self::Fail => "would fail",
        }
    }
}

impl Session<'_> {
    /// Says of each action what would become of it; what others share is not asked for.
    pub(super) fn foretell(&mut self) -> ExitCode {
        let order = self.wanted.graph.order().to_vec();
        let all: Vec<(usize, Would)> =
            order.into_iter().map(|number| (number, self.would(number))).collect();
        let name = |number: usize| self.action(number).name.as_str();
        if self.output.is_json() {
            let actions: Vec<Value> = all
                .iter()
                .map(|(number, would)| json!({"name": name(*number), "state": would.word()}))
                .collect();
            self.output.json(&json!({"version": 1, "dry_run": true, "actions": actions}));
        } else {
            let line =
                |(number, would): &(usize, Would)| format!("{}: {}\n", name(*number), would.told());
            self.output.text(&all.iter().map(line).collect::<String>());
        }
        let fails = all.iter().any(|(_, would)| *would == Would::Fail);
        if fails { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
    }

    fn would(&mut self, number: usize) -> Would {
        if !self.wanted.graph.needs(number).iter().all(|need| self.is_done(*need)) {
            return Would::Follow;
        }
        match self.ready(number) {
            Ok(ready) => {
                let would = if ready.known.is_some() { Would::BeTaken } else { Would::BeExecuted };
                self.told(number).result = ready.known;
                would
            }
            Err(error) => {
                told::failure(&self.action(number).name, &Failure::of(&error), self.output);
                Would::Fail
            }
        }
    }
}
