//! `endow run`, and the prefix form.

use std::process::ExitCode;
use std::time::Instant;

use crate::apply::{Prepared, SpawnError, prepare, spawn};
use crate::cli::args::RunArgs;
use crate::cli::descriptors;
use crate::cli::error::{CommandError, Kind};
use crate::cli::events::Events;
use crate::cli::output::Output;
use crate::cli::report::{Phases, Report};
use crate::cli::stages::{self, Own, Planned, Request};
use crate::cli::{ending, words};
use crate::finish::finish;
use crate::supervise::{self, Ended, Notice, Renewal, Supervised, Terminal};

/// Runs the command.
pub(crate) fn run(args: &RunArgs, output: &Output) -> Result<ExitCode, CommandError> {
    if args.policy.allow.iter().any(|word| word == "help") {
        output.text(&words::allow_help());
        return Ok(ExitCode::SUCCESS);
    }
    let passed = descriptors::take(args)?;
    let reports = passed.reports;
    let result = supervised(args, output, passed.events);
    match result {
        Ok((planned, ended, phases)) => {
            let report = Report::of_run(&planned, &ended, phases);
            reports.write(&report)?;
            ending::tell(&planned, &ended, output)
        }
        Err(error) => {
            reports.write(&Report::of_failure(args, &error))?;
            Err(error)
        }
    }
}

fn supervised(
    args: &RunArgs,
    output: &Output,
    mut events: Events,
) -> Result<(Planned, Ended, Phases), CommandError> {
    let request = Request {
        argv: args.command.argv.clone(),
        keep: args.keep_fd.clone(),
        die_with_parent: args.die_with_parent,
        own: Own::Made,
    };
    let mut planned = stages::plan(&args.policy, request)?;
    #[cfg(feature = "test-switches")]
    {
        let remove = crate::plan::switches::remove;
        planned.plan = args.test_without.iter().fold(planned.plan, |plan, it| remove(plan, *it));
    }
    events.planned(&planned);
    let begun = Instant::now();
    let terminal = Terminal::remember();
    let pins = std::mem::take(&mut planned.pins).into_descriptors();
    let prepared = prepare(&planned.plan, &planned.surroundings.dirs.state, &planned.id, pins)?;
    let prepare_time = begun.elapsed();
    let (ended, spawn_time, run_time) =
        start_and_wait(&planned, &prepared, terminal.as_ref(), &mut |notice| {
            events.notice(notice);
            output.detail(&words::notice(notice, &planned));
        })?;
    finish(&planned.plan.finish, prepared).map_err(|error| {
        CommandError::new(Kind::Setup, "can't remove the run's directory").cause(error)
    })?;
    events.ended(&ended);
    let phases = Phases { took: planned.took, prepare_time, spawn_time, run_time };
    Ok((planned, ended, phases))
}

/// Starts the sandbox and supervises it to its end.
pub(crate) fn start_and_wait(
    planned: &Planned,
    prepared: &Prepared,
    terminal: Option<&Terminal>,
    notify: &mut dyn FnMut(Notice),
) -> Result<(Ended, std::time::Duration, std::time::Duration), CommandError> {
    let plan = &planned.plan;
    if plan.supervise.die_with_parent {
        supervise::die_with_parent();
    }
    let begun = Instant::now();
    let covers = prepared.covers();
    let renewal = Renewal::watch(&plan.supervise.renew, covers).map_err(|errno| {
        CommandError::new(Kind::Setup, "can't watch hidden names")
            .cause(std::io::Error::from(errno))
    })?;
    let sandbox = spawn(plan, prepared)?;
    let own_session = plan.starts_own_session();
    let supervised = Supervised::new(sandbox, &plan.supervise, renewal, own_session);
    let spawned = Instant::now();
    let ended = supervise::run(vec![supervised], terminal, &mut |_, notice| notify(notice))
        .map_err(|errno| {
            CommandError::new(Kind::Setup, "can't supervise").cause(std::io::Error::from(errno))
        })?;
    let ended = ended.first().copied().ok_or(SpawnError::Killed)?;
    Ok((ended, spawned - begun, spawned.elapsed()))
}
