//! `endow build --dry-run`: what a build would do, as far as that is known before anything is executed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Session;
use crate::cli::build::outcome::Failure;
use crate::cli::build::schedule::Schedule;
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
    /// Says of each action what would become of it; what others share is fetched, since what needs it is known by
    /// that. Returns whether none would fail.
    pub(super) fn foretell(&mut self) -> bool {
        let all = self.foreseen();
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
        !all.iter().any(|(_, would)| *would == Would::Fail)
    }

    /// Goes through a build of which what would be executed never ends.
    fn foreseen(&mut self) -> Vec<(usize, Would)> {
        let graph = &self.wanted.graph;
        let mut schedule = Schedule::new(graph, self.wanted.actions.len(), true);
        let mut known = BTreeMap::new();
        while let Some(number) = self.next_action(&mut schedule) {
            let would = self.would(number);
            known.insert(number, would);
            if would == Would::BeTaken {
                schedule.ended(number, true);
            }
        }
        let of_one = |number: &usize| (*number, known.remove(number).unwrap_or(Would::Follow));
        graph.order().iter().map(of_one).collect()
    }

    fn would(&mut self, number: usize) -> Would {
        let ready = self.ahead.remove(&number).map_or_else(|| self.ready(number), Ok);
        match ready {
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
