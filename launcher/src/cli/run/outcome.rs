//! How a run ended, as exit code and in words.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use endow_policy::HostPath;
use rustix::process::Signal;

use super::not_found;
use crate::apply::SpawnError;
use crate::cli::error::{CommandError, Kind};
use crate::cli::exit;
use crate::cli::output::Output;
use crate::cli::stages::Planned;
use crate::cli::stages::installation;
use crate::plan::step::ExecSpec;
use crate::plan::why::undeny;
use crate::supervise::{Counted, Ended, Outcome};
use crate::sys;

/// What is said of a command that ended with SIGSYS, as by a system call of another architecture.
const FOREIGN: &str = "SIGSYS ended the command, as system calls of another architecture do; \
                       `--allow foreign-arch` is for 32-bit programs";

/// What is said of a run that the user's session keyring could not be kept from.
pub(crate) const NO_KEYRING: &str =
    "no session keyring: the user's quota is used up; the filter refuses keyring calls";

/// Returns the exit code, and says what the user must know.
pub(crate) fn tell(
    planned: &Planned,
    ended: &Ended,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    tell_beside(ended, output);
    failure(planned, ended).map_or_else(|| Ok(code(ended, output)), Err)
}

/// Returns why the command did not start, where it did not.
pub(crate) fn failure(planned: &Planned, ended: &Ended) -> Option<CommandError> {
    match ended.outcome {
        Outcome::SetupFailed(failure) => {
            Some(with_grant(SpawnError::of_step(&failure, &planned.plan), planned))
        }
        Outcome::Lost => Some(SpawnError::Killed.into()),
        Outcome::Short => Some(SpawnError::Descriptors.into()),
        _ => None,
    }
}

fn tell_beside(ended: &Ended, output: &Output) {
    if ended.no_keyring {
        output.detail(NO_KEYRING);
    }
    if ended.leftovers > 0 {
        output.detail(&format!("{} processes left behind were ended", ended.leftovers));
    }
}

fn code(ended: &Ended, output: &Output) -> ExitCode {
    let limit = match ended.outcome {
        Outcome::Exited(code) => return code_of(code),
        Outcome::Signaled(signal) => {
            if signal == Signal::SYS.as_raw() {
                output.warning(FOREIGN);
            }
            return code_of(exit::SIGNAL_BASE + signal);
        }
        Outcome::TimedOut => "the time limit has passed; the run was ended",
        Outcome::LayerFull => full(ended.counted),
        Outcome::OutOfMemory => "the memory limit was reached; the run was ended",
        Outcome::SetupFailed(_) | Outcome::Lost | Outcome::Short => {
            return ExitCode::from(exit::SETUP_FAILED);
        }
    };
    output.warning(limit);
    ExitCode::from(exit::TIMED_OUT)
}

/// Ends as the command did, by its signal: a shell that runs a script or a loop stops at a Ctrl-C that its child died of, and
/// names a crash. Returns where nothing comes of it, as in pid 1 of a container; the exit code says the same then. A kill is
/// left out: whoever was killed had no time to say anything.
pub(crate) fn as_the_command(outcome: Outcome, code: ExitCode) {
    if let Outcome::Signaled(signal) = outcome
        && signal != Signal::KILL.as_raw()
        && code == code_of(exit::SIGNAL_BASE + signal)
    {
        sys::signal::end_by(signal);
    }
}

fn full(counted: Counted) -> &'static str {
    match counted {
        Counted::Layers => "a layer is as large as it may be; the run was ended",
        Counted::FileSystem => {
            "a layer may be larger than it may be: some of it can't be looked at, and since the start \
             its file system was filled by more than the limit; the run was ended"
        }
    }
}

fn code_of(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(u8::MAX))
}

/// Names the command, and for one that the host has the grant that would show it.
fn with_grant(error: SpawnError, planned: &Planned) -> CommandError {
    let name = planned.plan.command_name();
    let error = CommandError::from(error);
    if !matches!(error.kind, Kind::NotFound | Kind::NotExecutable) {
        return error;
    }
    let error = error.about(name.to_string_lossy());
    let found = installation::on_host(name, &planned.surroundings);
    if let Some(pattern) = found.as_deref().and_then(|path| hiding(path, planned)) {
        let error = error.cause(format!("a deny pattern hides it: {pattern}"));
        return error.hint(undeny(&pattern));
    }
    if name.is_empty() {
        return error.cause("its name is empty");
    }
    if found.as_deref().is_some_and(Path::is_dir) {
        return error.cause("it is a directory");
    }
    if found.is_none()
        && let Some(hint) = in_quotes(name, planned)
    {
        return error.hint(hint);
    }
    let relative = installation::by_relative_entry(name, &planned.surroundings);
    match found {
        None if error.kind == Kind::NotFound && relative.is_some() => relative_entry(error, relative),
        Some(path) if error.kind == Kind::NotFound && !is_tried(&path, planned) => error
            .cause("no directory of PATH inside has it: those that are relative or absent inside are left out")
            .hint(format!("name it by its path: {}", path.display())),
        found if error.kind == Kind::NotFound => not_found::explain(error, planned, found.as_deref()),
        _ => error,
    }
}

/// Says how a command is written whose arguments stand in quotes with it.
fn in_quotes(name: &OsStr, planned: &Planned) -> Option<String> {
    let name = name.to_str()?;
    let (program, _) = name.split_once(' ')?;
    installation::on_host(OsStr::new(program), &planned.surroundings)?;
    Some(format!(
        "leave out the quotes around it, `-- {name}`, or have a shell read them: `-- sh -c '...'`"
    ))
}

/// Returns the deny pattern that hides a program.
pub(crate) fn hiding(path: &Path, planned: &Planned) -> Option<String> {
    let path = std::fs::canonicalize(path).ok().and_then(|path| HostPath::new(path).ok())?;
    let placed = planned.plan.placement.covering(&path.to_guest())?;
    let source = &placed.source.as_ref()?.path;
    let below = path.as_path().strip_prefix(source.as_path()).ok()?;
    let mut names = planned.host.hidden.get(source)?.names.iter();
    let hidden = names.find(|it| below.starts_with(&it.path) && it.is_for(&placed.spec))?;
    Some(planned.found.policy.deny.get(hidden.rule?)?.pattern.clone())
}

fn relative_entry(error: CommandError, program: Option<PathBuf>) -> CommandError {
    let error = error.cause("a relative directory of PATH has it; such are left out inside");
    program.into_iter().fold(error, |error, program| {
        error.hint(format!("name it by its path: {}", program.display()))
    })
}

/// Returns whether PATH inside leads to a program that the view has, or should.
fn is_tried(path: &Path, planned: &Planned) -> bool {
    let ExecSpec::Command { candidates, .. } = &planned.plan.exec else { return true };
    !is_in_view(path, planned)
        || candidates.iter().any(|it| it == path || planned.plan.command_name() == it)
}

fn is_in_view(path: &Path, planned: &Planned) -> bool {
    // Joined from a directory and what was typed, the path may have dots in it.
    let path = std::fs::canonicalize(path).ok();
    let path = path.and_then(|path| HostPath::new(path).ok());
    path.is_some_and(|path| planned.plan.placement.shows(&path))
}
