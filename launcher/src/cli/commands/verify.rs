//! `endow verify`.

use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;

use endow_policy::{Level, Verdict};
use serde::Serialize;

use crate::cli::args::VerifyArgs;
use crate::cli::asked::{self, Question};
use crate::cli::error::CommandError;
use crate::cli::helper::{self, Task};
use crate::cli::output::{Output, printable};
use crate::cli::stages::{self, Own, Planned, Request};
use crate::plan::verify::{self, Check, Seen, Trait, Trial, Tried};
use crate::plan::why::Questions;
use crate::probe::{HostObjects, protects_links};

/// A rule does not hold.
const BROKEN: u8 = 1;

/// What is printed.
#[derive(Debug, Serialize)]
struct Told {
    version: u32,
    /// Whether every rule that was tried holds.
    holds: bool,
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

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let argv = if args.command.is_empty() { vec!["true".into()] } else { args.command.clone() };
    let request = Request { argv, own: Own::Made, ..Request::default() };
    let planned = stages::plan(&args.policy, request)?;
    // Somebody to connect to, where the network is not kept away.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
    let listening = listener.as_ref().and_then(|it| Some(it.local_addr().ok()?.port()));
    let checks = checks(&planned, listening);
    #[cfg(feature = "test-switches")]
    let planned = planned.without(&stages::taken_away(&args.test_without));
    let level = planned.plan.enforcement.level;
    let (answers, seen) = ask(planned, &checks)?;
    let told = told(level, checks, (answers, &seen));
    if output.is_json() {
        output.json(&told);
    } else {
        output.text(&text(&told, output));
    }
    Ok(ExitCode::from(if told.holds { 0 } else { BROKEN }))
}

fn checks(planned: &Planned, listening: Option<u16>) -> Vec<Check> {
    let (plan, policy) = (&planned.plan, &planned.found.policy);
    let tree = HostObjects::new();
    let questions = Questions::new(plan, policy, &planned.host, &tree, protects_links());
    verify::checks((plan, policy, &planned.host), &questions, listening)
}

/// Asks all of it in one sandbox.
fn ask(mut planned: Planned, checks: &[Check]) -> Result<(Vec<i32>, Seen), CommandError> {
    let questions: Vec<_> =
        checks.iter().flat_map(|check| &check.trials).filter_map(question).collect();
    let text = asked::write(questions.iter().copied());
    let said = helper::run(&mut planned, Task::Verify(&text))?;
    let (answers, report) = asked::read(&said, questions.len())?;
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

fn told(level: Level, checks: Vec<Check>, (answers, seen): (Vec<i32>, &Seen)) -> Told {
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
    Told { version: 1, holds, level: level.word(), rules }
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
    ToldTrial { operation, subject, expected, errno: asked::errno(number), holds }
}

fn told_trait(it: Trait, holds: bool) -> ToldTrial {
    let wrong = (!holds).then(|| it.wrong().to_owned());
    let subject = it.name().to_owned();
    ToldTrial { operation: "is", subject, expected: Verdict::Allowed, errno: wrong, holds }
}

fn text(told: &Told, output: &Output) -> String {
    let mut lines: Vec<String> = told.rules.iter().filter_map(|it| line(it, output)).collect();
    let count = |holds| told.rules.iter().filter(|rule| rule.holds == holds).count();
    let (hold, broken, untried) = (count(Some(true)), count(Some(false)), count(None));
    let broken = if broken == 0 { "none is broken".to_owned() } else { format!("{broken} broken") };
    lines.push(format!("level {}: {hold} rules hold, {broken}, {untried} not tried\n", told.level));
    lines.concat()
}

/// Everything that was tried, and with `--verbose` what was not; with `--quiet` what is broken alone.
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
