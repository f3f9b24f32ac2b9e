//! Removing a run: it has another name before anything of it goes, so that half of one is never taken for a run.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};

use super::error::failed;
use super::layout::{GOING, PARTS};
use super::{RunDir, RunId, StateError};
use crate::fs::{Fs, Result};
use crate::tree::{RemoveError, remove_tree};

/// Gives a run the name of one that goes, and returns the name that it has. Where no other can be given, as on a full
/// disk, the run goes under its own.
pub(super) fn set_aside(fs: &dyn Fs, runs: BorrowedFd<'_>, name: &OsStr) -> OsString {
    let mut going = OsString::from(GOING);
    going.push(name);
    match fs.rename(runs, name, &going) {
        Ok(()) => going,
        Err(_) => name.to_owned(),
    }
}

/// Removes a run, whose lock the caller holds until the name is gone: a second sweep finds nothing or waits for none.
pub(super) fn take_away(
    fs: &dyn Fs,
    runs: BorrowedFd<'_>,
    name: &OsStr,
) -> std::result::Result<(), RemoveError> {
    // What is being made, or goes already, is none that anybody lists.
    let is_listed = name.to_str().is_some_and(|name| RunId::parse(name).is_ok());
    let name = if is_listed { set_aside(fs, runs, name) } else { name.to_owned() };
    remove_tree(fs, runs, &name)
}

/// Returns which run goes under a name; `None` for the names of others.
pub(super) fn is_going(name: &OsStr) -> Option<RunId> {
    RunId::parse(name.to_str()?.strip_prefix(GOING)?).ok()
}

impl RunDir {
    /// Returns whether it is what an interrupted removal left of a run: it has no record, and nothing that a later
    /// program or a write-back may need.
    ///
    /// # Errors
    /// A failing call.
    pub fn is_remnant(&self, fs: &dyn Fs) -> std::result::Result<bool, StateError> {
        let names: Result<_> = fs.list(self.as_fd(), PARTS.len() + 1);
        let names = names.map_err(failed("list", self.path()))?;
        let is_part = |name: &OsStr| PARTS.iter().any(|part| name == *part);
        let has_record = matches!(self.read_record(fs), Ok(Some(_)) | Err(_));
        Ok(!has_record && names.iter().all(|entry| is_part(&entry.name)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::SystemTime;

    use super::*;
    use crate::fs::OsFs;
    use crate::fs::faulty::FaultyFs;
    use crate::state::{Durability, RunState, StateDir, Sweep};
    use crate::testing::{Scratch, no_program_starts, record};

    fn open(scratch: &Scratch) -> StateDir {
        StateDir::open(&OsFs, &scratch.path().join("state")).expect("a state directory")
    }

    /// Keeps a run that is written back, with what takes that back.
    fn kept(state: &StateDir) -> RunDir {
        let id = RunId::generate().expect("an id");
        let mut run = state.create_run(&OsFs, &id).expect("a run");
        run.make_dir(&OsFs, Path::new("undo/000"), 0o700).expect("made");
        run.make_dir(&OsFs, Path::new("layers/000/m000/upper"), 0o700).expect("made");
        for file in ["undo/000/x", "undo/applied.json", "layers/000/m000/upper/y"] {
            fs::write(run.path().join(file), "x").expect("written");
        }
        let record = record(run.id(), RunState::Applied);
        run.write_record(&OsFs, &record, Durability::Cached).expect("written");
        run.keep();
        state.open_run(&OsFs, &id).expect("opened")
    }

    fn names(scratch: &Scratch) -> usize {
        fs::read_dir(scratch.path().join("state/runs")).expect("a list").count()
    }

    #[test]
    fn removal_that_is_killed_leaves_a_whole_run_or_what_a_sweep_takes() {
        let _locks_are_ours = no_program_starts();
        let scratch = Scratch::new();
        let state = open(&scratch);
        let (mut whole, mut swept) = (0, 0);
        for call in 0.. {
            let fs = FaultyFs::killed(call);
            drop(kept(&state).remove(&fs));
            let listed = state.runs(&OsFs).expect("a list");
            assert!(listed.iter().all(|run| run.record().is_some()), "{call}: {listed:?}");
            for run in listed {
                whole += 1;
                let run = state.open_run(&OsFs, &run.id).expect("opened");
                assert!(run.path().join("undo/000/x").exists(), "{call}");
                run.remove(&OsFs).expect("removed");
            }
            let sweep = Sweep { candidates: usize::MAX, start: 0, now: SystemTime::now() };
            swept += state.sweep(&OsFs, sweep).expect("swept").gone.len();
            assert_eq!(names(&scratch), 0, "{call}");
            if fs.calls() <= call {
                break;
            }
        }
        assert!(whole > 0 && swept > 3, "{whole} {swept}");
    }

    #[test]
    fn part_that_is_removed_as_a_whole_is_all_there_or_gone() {
        let _locks_are_ours = no_program_starts();
        let scratch = Scratch::new();
        let state = open(&scratch);
        let (mut whole, mut gone) = (0, 0);
        for call in 0.. {
            let fs = FaultyFs::killed(call);
            let run = kept(&state);
            drop(run.remove_whole(&fs, "undo"));
            let left = run.path().join("undo");
            let is_whole = left.join("000/x").exists() && left.join("applied.json").exists();
            assert!(is_whole || !left.exists(), "{call}");
            if is_whole {
                whole += 1;
            } else {
                gone += 1;
            }
            run.remove_whole(&OsFs, "undo").expect("again");
            run.remove_whole(&OsFs, "undo").expect("nothing is no error");
            assert!(!left.exists() && !run.path().join("aside").exists(), "{call}");
            run.remove(&OsFs).expect("removed");
            if fs.calls() <= call {
                break;
            }
        }
        assert!(whole > 0 && gone > 1, "{whole} {gone}");
    }

    #[test]
    fn remnant_has_no_record_and_nothing_unknown() {
        let _locks_are_ours = no_program_starts();
        let scratch = Scratch::new();
        let state = open(&scratch);
        let is_remnant = |run: &RunDir| run.is_remnant(&OsFs).expect("looked");
        let run = kept(&state);
        assert!(!is_remnant(&run), "it is whole");
        let record = run.path().join("record.json");
        fs::write(&record, "{\"version\": 2}").expect("written");
        assert!(!is_remnant(&run), "of a later program");
        fs::remove_file(&record).expect("removed");
        assert!(is_remnant(&run));
        for unknown in ["journal", "later"] {
            fs::write(run.path().join(unknown), "").expect("written");
            assert!(!is_remnant(&run), "{unknown}");
            fs::remove_file(run.path().join(unknown)).expect("removed");
        }
    }
}
