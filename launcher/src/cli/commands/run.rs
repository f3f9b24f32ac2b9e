//! `endow run`, and the prefix form.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use endow_vfs::state::{Record, StateError};

use crate::apply::{self, Begun, Prepared, prepare};
use crate::cli::args::RunArgs;
use crate::cli::error::{CommandError, Kind};
use crate::cli::learn::{Kept, Lessons};
use crate::cli::output::Output;
use crate::cli::output::progress::ProgressLine;
use crate::cli::report::connections;
use crate::cli::report::events::Events;
use crate::cli::report::git_settings;
use crate::cli::report::write_back;
use crate::cli::report::{Finished, Phases, Report};
use crate::cli::run::descriptors;
use crate::cli::run::earlier;
use crate::cli::run::failure_hints;
use crate::cli::run::names;
use crate::cli::run::not_done;
use crate::cli::run::outcome;
use crate::cli::run::record;
use crate::cli::run::sandbox::{self, Given, Ran};
use crate::cli::run::told;
use crate::cli::runs::bounds;
use crate::cli::runs::sweep;
use crate::cli::sources::homeless;
use crate::cli::sources::surroundings;
use crate::cli::stages::{self, Own, Planned, Request, Settled};
use crate::finish::finish;
use crate::plan::seccomp::Observe;
use crate::supervise::Terminal;

/// Runs the command, with the pid 1 that was `opened` already where the sandbox begins like that.
pub(crate) fn run(
    args: &RunArgs,
    output: &Output,
    opened: Option<Begun>,
) -> Result<ExitCode, CommandError> {
    let own = opened.as_ref().map(Begun::descriptors).unwrap_or_default();
    let passed = descriptors::take(args, &own)?;
    let reports = passed.reports;
    let result = supervised(args, output, (passed.events, Purpose::Run), opened);
    match result {
        Ok(run) => {
            let mut written = Ok(());
            if output.is_json() || !reports.are_none() {
                let failure = outcome::failure(&run.planned, &run.ran.ended);
                let report = Report::of_run(&run).with(&passed.inherited).failed(failure.as_ref());
                written = reports.write(&report);
                if output.is_json() {
                    output.json(report.value());
                }
            }
            let logs = run.ran.connections.iter();
            logs.for_each(|log| connections::tell(log, args.explain, output));
            run.ran.settings.iter().for_each(|left| git_settings::tell(left, output));
            told::denied(observe(args), run.ran.observed.as_ref(), output);
            remember(args, &run, output);
            failure_hints::tell(&run.planned, &run.ran.ended, output);
            let code = outcome::tell(&run.planned, &run.ran.ended, output);
            let code = code.map(|code| not_done::weigh(&run, write_back::tell(&run, code, output)));
            let code = with_report(code, written, output);
            if run.sync.as_ref().is_some_and(|sync| sync.state.is_some()) {
                bounds::keep(&run.planned.surroundings);
            }
            let outcome = run.ran.ended.outcome;
            // Nothing follows but the end of the process, which frees everything at once.
            std::mem::forget(run);
            if let (false, Ok(code)) = (args.amendment.is_foreign, &code) {
                outcome::as_the_command(outcome, *code);
            }
            // The report tells of an error already: there is one object, whatever happens.
            if output.is_json() { code.or_else(|error| Ok(error.kind.code().into())) } else { code }
        }
        Err(error) => {
            let written = reports.write(&Report::of_failure(args, &error));
            with_report(Err(error), written, output)
        }
    }
}

/// Says where the report could not be written, which fails what did not fail otherwise.
fn with_report(
    ended: Result<ExitCode, CommandError>,
    written: Result<(), CommandError>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let Err(error) = written else { return ended };
    output.error(&error);
    ended.map(|code| if code == ExitCode::SUCCESS { error.kind.code().into() } else { code })
}

/// Begins the sandbox while the host is asked. What is captured needs descriptors that are not
/// open yet; and a refusal is told when the plan is made.
fn begin_early(
    settled: &mut Settled,
    (args, request): (&RunArgs, &Request),
    opened: Option<Begun>,
) -> Option<Begun> {
    let opening = settled.opening().filter(|_| !request.captured && is_whole(args))?;
    let opened = opened.and_then(|mut opened| opened.open_rest(&opening).then_some(opened));
    let mut begun = opened.or_else(|| apply::begin(&opening, None).ok())?;
    begun.go_ahead(&settled.early());
    Some(begun)
}

/// Whether no layer is taken away, the opening's own among them.
#[cfg_attr(
    not(feature = "test-switches"),
    expect(unused_variables, reason = "nothing can be taken away")
)]
fn is_whole(args: &RunArgs) -> bool {
    #[cfg(feature = "test-switches")]
    return stages::taken_away(&args.test_without).is_empty();
    #[cfg(not(feature = "test-switches"))]
    return true;
}

/// Prepares the run; a tree that is made for the first time may take a while.
fn prepared(planned: &Planned, output: &Output) -> Result<Prepared, CommandError> {
    descriptors::stay_inside(planned.found.policy.network.mode)?;
    let line = ProgressLine::begin(output, "making a tree");
    let state = &planned.surroundings.dirs.state;
    Ok(prepare(&planned.plan, state, &planned.id, &|progress| line.show(progress))?)
}

fn observe(args: &RunArgs) -> Observe {
    match (args.explain, args.no_observe) {
        (true, _) => Observe::Paths,
        (false, true) => Observe::Nothing,
        (false, false) => Observe::Calls,
    }
}

/// What it asked for counts for `endow learn`, and what it used for `endow profile trim`.
fn remember(args: &RunArgs, run: &Finished, output: &Output) {
    let Some(observed) = run.ran.observed.as_ref().filter(|_| args.explain) else { return };
    let lessons = Lessons::of(&run.planned.surroundings);
    if let Err(error) = lessons.add(run.planned.id.as_str(), &Kept::of(run, observed)) {
        output.problem("can't remember what the run asked for", &error);
    }
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What the command does.
    Run,
    /// What it asks for: nothing that it changes remains.
    Learn,
}

fn disordered(error: StateError) -> CommandError {
    CommandError::new(Kind::Setup, "can't put the run's directory in order").cause(error)
}

/// Does what is done with a state of the user's own.
fn begin_own(args: &RunArgs, settled: &Settled, output: &Output) {
    if !args.amendment.is_foreign {
        homeless::tell(settled.surroundings(), "policies and runs", output);
        told::headless(settled, output);
        sweep::clear(&settled.surroundings().dirs.state, output);
    }
}

/// Runs the command to its end, with all that follows.
pub(crate) fn supervised(
    args: &RunArgs,
    output: &Output,
    (mut events, purpose): (Events, Purpose),
    opened: Option<Begun>,
) -> Result<Finished, CommandError> {
    let earlier = args.from.as_deref().map(earlier::open).transpose()?;
    let facts = earlier.as_ref().map(earlier::facts).transpose()?;
    let request = Request { earlier: facts, ..request(args, output, purpose) };
    let captured = request.captured;
    let (planned, begun) = decided(args, output, (request, purpose), opened)?;
    events.planned(&planned);
    let start = Instant::now();
    let terminal = Terminal::remember();
    let mut prepared = prepared(&planned, output)?;
    // Its layers are copied: others may have it now.
    drop(earlier);
    let prepare_time = start.elapsed();
    let capture = captured.then(|| prepared.start_capture()).transpose()?;
    let mut notify = |notice| {
        events.notice(&notice);
        told::meanwhile(&notice, &planned, output);
    };
    let record = recorded(args, &planned, &prepared)?;
    let given = Given {
        begun,
        terminal: terminal.as_ref(),
        capture,
        tells_processes: !args.report.is_empty() || args.events.is_some() || output.is_detailed(),
        rests: true,
        record: record.as_ref(),
        ..Given::default()
    };
    let run = || sandbox::run(&planned, &mut prepared, given, &mut notify);
    let mut ran = output.without_waiting(run)?.without_namespaces();
    events.ended(&ran.ended, output);
    let finishing = Instant::now();
    told::dropped(&planned, &prepared, output);
    let layers = std::mem::take(&mut ran.layers);
    let sync = finish(&planned.plan, prepared, record, &ran.ended, layers).map_err(disordered)?;
    let Ran { spawn_time, run_time, .. } = ran;
    let sync_time = finishing.elapsed();
    let phases = Phases { took: planned.took, prepare_time, spawn_time, run_time, sync_time };
    Ok(Finished { planned, ran, sync, phases })
}

/// Decides what is run, and says what that leaves out; its sandbox begins meanwhile.
fn decided(
    args: &RunArgs,
    output: &Output,
    (request, purpose): (Request, Purpose),
    opened: Option<Begun>,
) -> Result<(Planned, Option<Begun>), CommandError> {
    let mut settled = settled(args, purpose)?;
    let mut begun = begin_early(&mut settled, (args, &request), opened);
    begin_own(args, &settled, output);
    let planned = stages::decide(settled, request, &mut |sketch| {
        if let Some(begun) = &mut begun {
            begun.go_on(sketch);
        }
    })?;
    told::limits(&planned, output);
    #[cfg(feature = "test-switches")]
    let planned = planned.without(&stages::taken_away(&args.test_without));
    Ok((planned, begun))
}

/// Has the state remember the run, under its name; nobody else takes that meanwhile.
fn recorded(
    args: &RunArgs,
    planned: &Planned,
    prepared: &Prepared,
) -> Result<Option<Record>, CommandError> {
    let record = record::of_run(planned, prepared);
    let record = record.map(|record| Record { name: args.name.clone(), ..record });
    let state = &planned.surroundings.dirs.state;
    let _naming = args.name.as_ref().map(|name| names::take(name, state)).transpose()?;
    record.as_ref().map_or(Ok(()), |record| prepared.record(record))?;
    Ok(record)
}

/// What is asked of the plan, of a run that goes on from no other.
fn request(args: &RunArgs, output: &Output, purpose: Purpose) -> Request {
    Request {
        argv: args.command.argv.clone(),
        keep: args.keep_fd.clone(),
        die_with_parent: args.die_with_parent,
        captured: output.is_json() && purpose == Purpose::Run,
        earlier: None,
        own: Own::Made,
        observe: if purpose == Purpose::Learn { Observe::All } else { observe(args) },
        is_repeatable: false,
    }
}

/// The policy of the run, and a name that it may have.
fn settled(args: &RunArgs, purpose: Purpose) -> Result<Settled, CommandError> {
    let command = args.command.argv.first().map(OsString::as_os_str);
    let mut settled = if args.amendment.is_foreign {
        stages::settle_in(surroundings::of_account()?, &args.policy)?
    } else {
        stages::settle(&args.policy, command)?
    };
    settled.amend(args.amendment);
    if purpose == Purpose::Learn {
        settled.rehearse();
    }
    if let Some(name) = &args.name {
        names::accept(name, &settled.surroundings().dirs.state)?;
    }
    Ok(settled)
}
