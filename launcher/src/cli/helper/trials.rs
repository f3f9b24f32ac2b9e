//! Every rule of a sandbox, tried in it by endow's own prober.

use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;

use endow_policy::{Level, Verdict};
use serde::Serialize;

use super::questions::{self, Question};
use crate::cli::error::CommandError;
use crate::cli::helper::{self, Task};
use crate::cli::output::{Output, printable};
use crate::cli::stages::Planned;
use crate::plan::verify::{self, Check, Seen, Trait, Trial, Tried};
use crate::plan::why::Questions;
use crate::probe::{HostObjects, protects_links};

/// A rule does not hold.
const BROKEN: u8 = 1;

/// What is to be tried in a sandbox.
pub(crate) struct Trials {
    checks: Vec<Check>,
    /// Somebody to connect to, where the network is not kept away.
    _listener: Option<TcpListener>,
}

impl Trials {
    /// Takes the rules of a sandbox.
    pub(crate) fn of(planned: &Planned) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        let listening = listener.as_ref().and_then(|it| Some(it.local_addr().ok()?.port()));
        Self { checks: checks(planned, listening), _listener: listener }
    }

    /// Tries all rules in one sandbox.
    pub(crate) fn make(self, planned: Planned) -> Result<Verified, CommandError> {
        let level = planned.plan.enforcement.level;
        let (answers, seen) = ask(planned, &self.checks)?;
        Ok(told(level, self.checks, (answers, &seen)))
    }
}

/// What came of trying the rules of a sandbox.
#[derive(Debug, Serialize)]
pub(crate) struct Verified {
    /// Whether every rule that was tried holds.
    pub(crate) holds: bool,
    level: &'static str,
    rules: Vec<ToldRule>,
}

/// A rule, and what came of it.
#[derive(Debug, Serialize)]
struct ToldRule {
    rule: String,
    /// `None` for one of which nothing was tried.
    holds: Option<bool>,
    tried: Vec<ToldTrial>,
    #[serde(skip_serializing_if = "Option::is_none")]
    untried: Option<String>,
}

/// One trial.
#[derive(Debug, Serialize)]
struct ToldTrial {
    /// `read`, `write`, `execute`, `connect`, `call` or `is`.
    operation: &'static str,
    subject: String,
    expected: Verdict,
    /// The kernel's error; `None` for what worked.
    errno: Option<String>,
    holds: bool,
}

fn checks(planned: &Planned, listening: Option<u16>) -> Vec<Check> {
    let (plan, policy) = (&planned.plan, &planned.found.policy);
    let tree = HostObjects::new();
    let questions = Questions::new(plan, policy, &planned.host, &tree, protects_links());
    verify::checks((plan, policy, &planned.host), &questions, listening)
}

/// Has a helper try all rules in one sandbox; returns its answers and what it saw.
fn ask(mut planned: Planned, checks: &[Check]) -> Result<(Vec<i32>, Seen), CommandError> {
    let questions: Vec<_> =
        checks.iter().flat_map(|check| &check.trials).filter_map(question).collect();
    let text = questions::write(questions.iter().copied());
    let said = helper::run(&mut planned, Task::Verify(&text))?;
    let (answers, report) = questions::read(&said, questions.len())?;
    Ok((answers, verify::seen(report)))
}

fn question(trial: &Trial) -> Option<Question<'_>> {
    match &trial.tried {
        Tried::Path(at, operation) => Some(Question::Path(at.as_path().as_os_str(), *operation)),
        Tried::Server(host, port) => Some(Question::Server(host, *port)),
        Tried::Call(name) => Some(Question::Call(name)),
        Tried::Trait(_) => None,
    }
}

fn told(level: Level, checks: Vec<Check>, (answers, seen): (Vec<i32>, &Seen)) -> Verified {
    let mut answers = answers.into_iter();
    let rules: Vec<_> = checks
        .into_iter()
        .map(|check| {
            let trials = check.trials.iter().map(|trial| match trial.tried {
                Tried::Trait(it) => told_trait(it, it.holds(seen, level)),
                // As many were read as asked.
                _ => told_trial(trial, answers.next().unwrap_or(-1)),
            });
            let (busy, tried): (Vec<_>, Vec<_>) = trials.partition(ToldTrial::is_busy);
            let holds = (!tried.is_empty()).then(|| tried.iter().all(|trial| trial.holds));
            let busy = (!busy.is_empty()).then(|| "writing: it is being executed".to_owned());
            ToldRule { rule: check.rule, holds, tried, untried: check.untried.or(busy) }
        })
        .collect();
    let holds = rules.iter().all(|rule| rule.holds != Some(false));
    Verified { holds, level: level.word(), rules }
}

impl ToldTrial {
    /// The kernel asks first whether a program runs (ETXTBSY), and then whether it may be written.
    fn is_busy(&self) -> bool {
        self.errno.as_deref() == Some("ETXTBSY")
    }
}

fn told_trial(trial: &Trial, number: i32) -> ToldTrial {
    let (operation, subject) = match &trial.tried {
        Tried::Path(at, operation) => (operation.word(), at.to_string()),
        Tried::Server(host, port) if host.contains(':') => ("connect", format!("[{host}]:{port}")),
        Tried::Server(host, port) => ("connect", format!("{host}:{port}")),
        Tried::Call(name) => ("call", (*name).to_owned()),
        Tried::Trait(it) => ("is", it.name().to_owned()),
    };
    let (expected, holds) = (trial.shall, verify::holds(trial.shall, number));
    ToldTrial { operation, subject, expected, errno: questions::errno(number), holds }
}

fn told_trait(it: Trait, holds: bool) -> ToldTrial {
    let wrong = (!holds).then(|| it.wrong().to_owned());
    let subject = it.name().to_owned();
    ToldTrial { operation: "is", subject, expected: Verdict::Allowed, errno: wrong, holds }
}

/// The exit code of a call of which all rules hold, or not.
pub(crate) fn code(holds: bool) -> ExitCode {
    ExitCode::from(if holds { 0 } else { BROKEN })
}

/// Returns what came of the rules as text for people.
pub(crate) fn text(told: &Verified, output: &Output) -> String {
    let mut lines: Vec<String> = told.rules.iter().filter_map(|it| line(it, output)).collect();
    let count = |holds| told.rules.iter().filter(|rule| rule.holds == holds).count();
    let (hold, broken, untried) = (count(Some(true)), count(Some(false)), count(None));
    let broken = if broken == 0 { "none is broken".to_owned() } else { format!("{broken} broken") };
    lines.push(format!("level {}: {hold} rules hold, {broken}, {untried} not tried\n", told.level));
    lines.concat()
}

/// Returns the line of a rule that was tried, with `--verbose` of any, with `--quiet` of a broken one alone.
fn line(rule: &ToldRule, output: &Output) -> Option<String> {
    let word = match rule.holds {
        Some(false) => "broken",
        _ if output.is_quiet() => return None,
        Some(true) => "holds",
        None if output.is_detailed() => "-",
        None => return None,
    };
    let trials: Vec<_> = rule.tried.iter().map(|trial| outcome(trial, &rule.rule)).collect();
    let all = trials.iter().chain(&rule.untried).map(String::as_str).collect::<Vec<_>>().join("; ");
    Some(format!("{word:<7} {}: {}\n", printable(&rule.rule), printable(&all)))
}

fn outcome(trial: &ToldTrial, rule: &str) -> String {
    // A mount's own path stands in the rule.
    let subject = if rule.contains(&format!(" {} ", trial.subject)) {
        String::new()
    } else {
        format!(" {}", trial.subject)
    };
    let said = trial.errno.as_deref();
    match (trial.operation, trial.holds) {
        ("is", true) => trial.subject.clone(),
        ("is", false) => said.unwrap_or_default().to_owned(),
        (operation, true) => format!("{operation}{subject} {}", said.unwrap_or("works")),
        (operation, false) => {
            let said = said.unwrap_or("works");
            format!("{operation}{subject} {said}, and shall be {}", trial.expected.word())
        }
    }
}
