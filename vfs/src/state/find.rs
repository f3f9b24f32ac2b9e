//! Finding the run that is meant.

use super::list::Listed;
use super::{Record, RunId, RunState};

/// Which run is meant.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// The one with this id, this name, or the only one whose id begins so.
    Named(&'a str),
    /// The newest of some in one of these states.
    Newest {
        /// Which ones.
        fits: &'a dyn Fn(&Listed, &Record) -> bool,
        /// The states.
        states: &'a [RunState],
    },
}

/// Why there is not one run that is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No run has that id or name.
    #[error("no such run")]
    NoSuch,
    /// Several ids begin so.
    #[error("several runs begin so")]
    Ambiguous(Vec<RunId>),
    /// No run of the workspace is in such a state.
    #[error("no run of this workspace is in such a state")]
    NoneHere,
}

/// Finds a run in a list.
///
/// # Errors
/// None or several are meant.
pub fn find<'a>(runs: &'a [Listed], wanted: Wanted<'_>) -> Result<&'a Listed, FindError> {
    match wanted {
        Wanted::Named(name) => named(runs, name),
        Wanted::Newest { fits, states } => {
            let is_it = |run: &&Listed| {
                run.record().is_some_and(|record| fits(run, record))
                    && run.state().is_some_and(|it| states.contains(&it))
            };
            runs.iter().filter(is_it).max_by_key(|run| run.age()).ok_or(FindError::NoneHere)
        }
    }
}

fn named<'a>(runs: &'a [Listed], name: &str) -> Result<&'a Listed, FindError> {
    let exactly = runs.iter().find(|run| run.id.as_str() == name);
    if let Some(run) = exactly {
        return Ok(run);
    }
    let called = only(runs.iter().filter(|run| run.name() == Some(name)));
    let begins = || only(runs.iter().filter(|run| run.id.as_str().starts_with(name)));
    match called {
        Err(FindError::NoSuch) if !name.is_empty() => begins(),
        result => result,
    }
}

fn only<'a>(runs: impl Iterator<Item = &'a Listed>) -> Result<&'a Listed, FindError> {
    let runs: Vec<&Listed> = runs.collect();
    match runs.as_slice() {
        [] => Err(FindError::NoSuch),
        [run] => Ok(run),
        several => Err(FindError::Ambiguous(several.iter().map(|run| run.id.clone()).collect())),
    }
}

#[cfg(test)]
mod tests;
