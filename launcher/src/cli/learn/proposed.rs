//! From what was asked for to a difference of the policy file.

use std::collections::BTreeSet;

use endow_policy::learn::{self, Around, Need, Proposal, edited};
use endow_policy::{HostRule, Registry};
use serde_json::{Value, json};

use super::needs::{Judged, judge};
use super::target::Target;
use super::{Kept, Missed};
use crate::cli::args::PolicyArgs;
use crate::cli::diff::Look;
use crate::cli::error::{CommandError, Kind};
use crate::cli::sources::surroundings;
use crate::cli::stages::{self, Planned, Request};
use crate::probe;

/// A proposal, and the file that it is for.
#[derive(Debug)]
pub(crate) struct Proposed {
    pub(crate) target: Target,
    pub(crate) proposal: Proposal,
    /// The file with the proposal in it.
    pub(crate) text: String,
    /// How many things were asked for that no line gives.
    pub(crate) beyond: usize,
}

/// Proposes what would have given runs what they asked for.
pub(crate) fn propose(args: &PolicyArgs, runs: &[Kept]) -> Result<Proposed, CommandError> {
    let surroundings = surroundings::read(args.directory.as_deref())?;
    let target = Target::find(args, &surroundings)?;
    // The sandbox of any command is as good: a path that one is granted is granted to all.
    let request = Request { argv: vec!["true".into()], ..Request::default() };
    let planned = stages::plan(args, request)?;
    let missed: BTreeSet<&Missed> = runs.iter().flat_map(|run| &run.missed).collect();
    let Judged { needs, beyond } = judge(&planned, missed.into_iter());
    let registries = registries(&planned, &needs);
    let vars = &planned.surroundings.vars;
    let around = Around { vars, policy: &planned.found.policy, registries: &registries };
    let proposal = learn::propose(&needs, &around);
    let text = edited(target.text(), &proposal.lines, (&target.directory, vars))
        .map_err(|error| CommandError::new(Kind::Policy, error.to_string()).about(target.name()))?;
    Ok(Proposed { target, proposal, text, beyond })
}

/// The user's tools are only asked when a host was.
fn registries(planned: &Planned, needs: &[Need]) -> Vec<(Registry, Vec<HostRule>)> {
    if !needs.iter().any(|need| matches!(need, Need::Host(_))) {
        return Vec::new();
    }
    let surroundings = &planned.surroundings;
    let (environment, vars) = (&surroundings.environment, &surroundings.vars);
    probe::known_registries(&planned.found.policy, &planned.host.paths, (environment, vars))
}

impl Proposed {
    /// Returns whether the file would be another.
    pub(crate) fn is_change(&self) -> bool {
        !self.proposal.lines.is_empty() && self.target.text() != Some(self.text.as_str())
    }

    /// Returns the difference, as `git apply` and `patch -p1` take it; empty when there is none.
    pub(crate) fn diff(&self, look: Look) -> Vec<u8> {
        if self.is_change() { self.target.diff(&self.text, look) } else { Vec::new() }
    }

    /// Returns how many lines are comments, since they would be dangerous.
    pub(crate) fn dangerous(&self) -> usize {
        self.proposal.lines.iter().filter(|line| line.danger.is_some()).count()
    }

    /// Returns the lines for programs.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let line = |line: &learn::Suggestion| {
            json!({
                "key": line.gives.key(), "line": line.gives.to_string(),
                "reason": line.reason, "danger": line.danger,
            })
        };
        self.proposal.lines.iter().map(line).collect()
    }
}
