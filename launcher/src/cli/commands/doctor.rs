//! `endow doctor`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use endow_policy::Level;
use serde::Serialize;

use crate::cli::args::{DoctorArgs, PolicyArgs};
use crate::cli::error::CommandError;
use crate::cli::exit;
use crate::cli::helper::{self, Task};
use crate::cli::output::{Output, printable};
use crate::cli::sources::surroundings;
use crate::cli::stages::{self, Request};
use crate::plan::verify::{self, Seen, Trait, traits};
use crate::probe::doctor::{self, Finding, Status};

/// What is printed.
#[derive(Debug, Serialize)]
struct Diagnosis {
    version: u32,
    /// The highest level that works here: `full`, `namespaces`, `landlock` or none.
    level: Option<String>,
    checks: Vec<Finding>,
    /// What a process in a sandbox saw of itself.
    sandbox: BTreeMap<String, String>,
}

/// What came of a trial.
struct Trial {
    level: Option<String>,
    finding: Finding,
    seen: BTreeMap<String, String>,
}

/// Runs the command.
pub(crate) fn run(_args: &DoctorArgs, output: &Output) -> Result<ExitCode, CommandError> {
    let state = surroundings::read(None)?.dirs.state;
    let mut checks = doctor::ask(&state);
    let trial = sandbox();
    let mut level = trial.level;
    checks.insert(0, trial.finding);
    match level.as_deref() {
        None => checks.insert(1, in_place()),
        Some("landlock") => {}
        Some(_) => checks.insert(1, hiding()),
    }
    let is_short = checks.iter().any(|check| check.status == Status::Missing);
    level = level.filter(|level| level != "full" || !is_short);
    let works = level.as_deref() == Some("full");
    let diagnosis = Diagnosis { version: 1, level, checks, sandbox: trial.seen };
    if output.is_json() {
        output.json(&diagnosis);
    } else {
        output.text(&text(&diagnosis));
    }
    Ok(ExitCode::from(if works { 0 } else { exit::UNENFORCEABLE }))
}

/// Starts a sandbox in which endow's own helper looks around.
fn sandbox() -> Trial {
    match tried(&PolicyArgs::trivial()) {
        Err(error) => {
            let finding = of_error("sandbox", Status::Missing, &error);
            Trial { level: None, finding, seen: BTreeMap::new() }
        }
        Ok((level, seen)) => {
            let wrong = unexpected(&seen, level);
            let finding = match wrong {
                None => Finding::ok("sandbox", "one was started, and is as it should be"),
                Some(wrong) => Finding::new("sandbox", Status::Missing, wrong)
                    .remedy("please report this with the output of `endow doctor --json`"),
            };
            Trial { level: Some(level.word().to_owned()), finding, seen }
        }
    }
}

/// Starts a sandbox that needs a layer which hides a name.
fn hiding() -> Finding {
    match tried(&PolicyArgs::trivial().hiding("/endow-doctor=/usr/bin", "env")) {
        Ok(_) => Finding::ok("hiding", "names can be hidden in read-only mounts"),
        Err(error) => of_error("hiding", Status::Missing, &error),
    }
}

/// Starts a sandbox without namespaces, which nobody gets who does not ask for it.
fn in_place() -> Finding {
    match tried(&PolicyArgs::trivial().requiring("landlock")) {
        Ok(_) => {
            Finding::new("in-place", Status::Note, "without namespaces, `--require landlock` works")
        }
        Err(error) => of_error("in-place", Status::Limited, &error),
    }
}

fn tried(args: &PolicyArgs) -> Result<(Level, Seen), CommandError> {
    let request = Request { argv: vec!["true".into()], ..Request::default() };
    // Without Landlock the other layers are tried all the same.
    let planned = stages::plan(args, request.clone())
        .or_else(|_| stages::plan(&args.clone().requiring("namespaces"), request));
    let mut planned = planned?;
    let level = planned.plan.enforcement.level;
    let said = helper::run(&mut planned, Task::Report)?;
    Ok((level, verify::seen(&said)))
}

/// Returns what a process inside is and should not be.
fn unexpected(seen: &Seen, level: Level) -> Option<&'static str> {
    let wrong = traits(level).into_iter().find(|it| !it.holds(seen, level));
    wrong.map(Trait::wrong)
}

fn of_error(name: &'static str, status: Status, error: &CommandError) -> Finding {
    let causes = error.causes.iter().map(|cause| format!(": {cause}")).collect::<String>();
    let object = error.object.iter().map(|object| format!(": {object}")).collect::<String>();
    let finding = Finding::new(name, status, format!("{}{object}{causes}", error.message));
    match error.hints.first() {
        Some(hint) => finding.remedy(hint),
        None => finding,
    }
}

fn text(diagnosis: &Diagnosis) -> String {
    let head = match diagnosis.level.as_deref() {
        Some("full") => "level full: every promise is kept here\n".to_owned(),
        Some("landlock") => {
            "level landlock: this is inside another endow; runs here narrow its view\n".to_owned()
        }
        Some(level) => format!("level {level}: `full` does not work here\n"),
        None => "no sandbox can be started here\n".to_owned(),
    };
    let lines: Vec<String> = [head].into_iter().chain(diagnosis.checks.iter().map(lines)).collect();
    lines.concat()
}

fn lines(check: &Finding) -> String {
    let status = match check.status {
        Status::Ok => "ok",
        Status::Note => "note",
        Status::Limited => "limited",
        Status::Missing => "missing",
    };
    let line = format!("{status:<8} {:<14} {}\n", check.name, printable(&check.detail));
    let remedy = check.remedy.as_ref();
    let remedy = remedy.map(|it| format!("{:<8} {:<14} remedy: {}\n", "", "", printable(it)));
    line + &remedy.unwrap_or_default()
}
