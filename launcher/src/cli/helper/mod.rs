//! Starts endow's own helper in a sandbox, in the place of its command.

pub(crate) mod questions;
pub(crate) mod trials;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;

use super::error::{CommandError, Kind};
use super::stages::Planned;
use crate::apply::{SpawnError, prepare};
use crate::cli::run::sandbox::{self, Given};
use crate::finish::finish;
use crate::guest;
use crate::supervise::Outcome;

/// What the helper does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task<'a> {
    /// Tries these questions.
    Probe(&'a [u8]),
    /// Tells what it is.
    Report,
    /// Tries these questions, and tells what it is.
    Verify(&'a [u8]),
}

/// Runs the helper in exactly the planned sandbox; returns what it said.
pub(crate) fn run(planned: &mut Planned, task: Task<'_>) -> Result<String, CommandError> {
    let failed = |error: io::Error| {
        CommandError::new(Kind::Setup, "can't speak with the helper").cause(error)
    };
    let questions = memory(c"endow-questions").map_err(failed)?;
    let mut answers = memory(c"endow-answers").map_err(failed)?;
    let keep = vec![questions.as_raw_fd(), answers.as_raw_fd()];
    let (word, text) = match task {
        Task::Probe(text) => ("probe", Some(text)),
        Task::Verify(text) => ("verify", Some(text)),
        Task::Report => ("report", None),
    };
    let mut argv = vec![guest::NAME.to_owned(), word.to_owned()];
    if let Some(text) = text {
        write(&questions, text).map_err(failed)?;
        argv.push(questions.as_raw_fd().to_string());
    }
    argv.push(answers.as_raw_fd().to_string());
    let argv = argv.into_iter().map(OsString::from).collect();
    planned.plan = planned.plan.clone().with_helper(argv, keep);
    start(planned)?;
    let mut said = String::new();
    answers.rewind().and_then(|()| answers.read_to_string(&mut said)).map_err(failed)?;
    Ok(said)
}

fn memory(name: &std::ffi::CStr) -> io::Result<File> {
    let file = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
    Ok(File::from(file))
}

fn write(mut file: &File, text: &[u8]) -> io::Result<()> {
    file.write_all(text)?;
    file.rewind()
}

fn start(planned: &Planned) -> Result<(), CommandError> {
    let state = &planned.surroundings.dirs.state;
    let mut prepared = prepare(&planned.plan, state, &planned.id, &|_| {})?;
    let ended = sandbox::run(planned, &mut prepared, Given::default(), &mut |_| {})?.ended;
    finish(&planned.plan, prepared, None, &ended, Vec::new()).map_err(|error| {
        CommandError::new(Kind::Setup, "can't remove the run's directory").cause(error)
    })?;
    match ended.outcome {
        Outcome::Exited(0) => Ok(()),
        Outcome::SetupFailed(failure) => Err(SpawnError::of_step(&failure, &planned.plan).into()),
        _ => Err(CommandError::new(Kind::Setup, "the helper did not finish")),
    }
}
