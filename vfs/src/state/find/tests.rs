use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use endow_policy::HostPath;

use super::*;
use crate::fs::OsFs;
use crate::state::{Durability, RecordError, StateDir, StateError};
use crate::testing::{Scratch, no_program_starts, record};

const USABLE: &[RunState] = &[RunState::Waiting, RunState::Interrupted];

fn id(second: u64) -> RunId {
    RunId::new(UNIX_EPOCH + Duration::from_secs(second), [7; 5])
}

fn open(scratch: &Scratch) -> StateDir {
    StateDir::open(&OsFs, &scratch.path().join("state")).expect("a state directory")
}

fn keep(state: &StateDir, second: u64, is: RunState, name: Option<&str>) -> RunId {
    let run = state.create_run(&OsFs, &id(second)).expect("a run");
    let mut record = record(run.id(), is);
    record.name = name.map(str::to_owned);
    run.write_record(&OsFs, &record, Durability::Cached).expect("written");
    let id = run.id().clone();
    run.keep();
    id
}

fn here() -> HostPath {
    HostPath::new("/home/u/src").expect("a path")
}

#[test]
fn list_tells_the_living_from_the_dead() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let dead = keep(&state, 1000, RunState::Running, None);
    let waiting = keep(&state, 2000, RunState::Waiting, None);
    let silent = state.create_run(&OsFs, &id(3000)).expect("a run");
    let living = state.create_run(&OsFs, &id(4000)).expect("a run");
    let running = record(living.id(), RunState::Running);
    living.write_record(&OsFs, &running, Durability::Cached).expect("written");
    let newer = keep(&state, 5000, RunState::Applied, None);
    let file = state.path().join("runs").join(newer.as_str()).join("record.json");
    fs::write(file, "{\"version\": 2}").expect("write");
    fs::create_dir(state.path().join("runs/.new-x")).expect("mkdir");
    let runs = state.runs(&OsFs).expect("a list");
    let states: Vec<_> = runs.iter().map(|run| (&run.id, run.state(), run.in_use)).collect();
    let expected = [
        (&dead, Some(RunState::Interrupted), false),
        (&waiting, Some(RunState::Waiting), false),
        (silent.id(), Some(RunState::Running), true),
        (living.id(), Some(RunState::Running), true),
        (&newer, None, false),
    ];
    assert_eq!(states, expected);
    assert!(matches!(runs[4].record, Some(Err(RecordError::Newer { version: 2 }))));
}

#[test]
fn run_is_found_by_id_name_or_prefix() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let ids = [
        keep(&state, 1000, RunState::Waiting, None),
        keep(&state, 2000, RunState::Waiting, Some("try")),
        keep(&state, 1 << 30, RunState::Applied, Some("0")),
    ];
    let runs = state.runs(&OsFs).expect("a list");
    let found = |name: &str| find(&runs, Wanted::Named(name)).map(|run| run.id.clone());
    for id in &ids {
        assert_eq!(found(id.as_str()).as_ref(), Ok(id));
    }
    assert_eq!(found("try").as_ref(), Ok(&ids[1]));
    assert_eq!(found(&ids[2].as_str()[..3]).as_ref(), Ok(&ids[2]));
    assert_eq!(found("0").as_ref(), Ok(&ids[2]), "a name beats a prefix");
    assert_eq!(found("00"), Err(FindError::Ambiguous(ids[..2].to_vec())));
    assert_eq!(found("nope"), Err(FindError::NoSuch));
    assert_eq!(found(""), Err(FindError::NoSuch));
}

#[test]
fn newest_of_a_workspace_has_a_state_that_is_wanted() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let older = keep(&state, 1000, RunState::Waiting, None);
    let dead = keep(&state, 2000, RunState::Running, None);
    let applied = keep(&state, 3000, RunState::Applied, None);
    let runs = state.runs(&OsFs).expect("a list");
    let newest = |workspace: &HostPath, states: &[RunState]| {
        let fits = |_: &Listed, record: &Record| record.workspace.as_ref() == Some(workspace);
        find(&runs, Wanted::Newest { fits: &fits, states }).map(|run| run.id.clone())
    };
    assert_eq!(newest(&here(), USABLE), Ok(dead));
    assert_eq!(newest(&here(), &[RunState::Waiting]), Ok(older));
    assert_eq!(newest(&here(), &[RunState::Applied]), Ok(applied));
    assert_eq!(newest(&here(), &[RunState::Undone]), Err(FindError::NoneHere));
    let elsewhere = HostPath::new("/home/u").expect("a path");
    assert_eq!(newest(&elsewhere, USABLE), Err(FindError::NoneHere));
}

#[test]
fn runs_of_one_moment_follow_in_the_order_in_which_they_started() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let started = |random, nanoseconds| {
        let id = RunId::new(UNIX_EPOCH + Duration::from_secs(1000), [random; 5]);
        let run = state.create_run(&OsFs, &id).expect("a run");
        let mut record = record(&id, RunState::Waiting);
        record.started.nanoseconds = nanoseconds;
        run.write_record(&OsFs, &record, Durability::Cached).expect("written");
        run.keep();
        id
    };
    let (older, newer) = (started(9, 1), started(7, 2));
    let runs = state.runs(&OsFs).expect("a list");
    assert_eq!(runs.iter().map(|run| &run.id).collect::<Vec<_>>(), [&older, &newer]);
    let newest = Wanted::Newest { fits: &|_, _| true, states: USABLE };
    assert_eq!(find(&runs, newest).map(|run| &run.id), Ok(&newer));
}

#[test]
fn opened_run_is_locked_and_stays() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let id = keep(&state, 1000, RunState::Waiting, None);
    let run = state.open_run(&OsFs, &id).expect("open");
    let error = state.open_run(&OsFs, &id).expect_err("locked");
    assert!(matches!(error, StateError::InUse { .. }), "{error}");
    assert!(state.runs(&OsFs).expect("a list")[0].in_use);
    drop(run);
    let run = state.open_run(&OsFs, &id).expect("it stayed");
    assert_eq!(run.read_record(&OsFs).expect("read").expect("a record").id, id);
    run.remove(&OsFs).expect("removed");
    let error = state.open_run(&OsFs, &id).expect_err("gone");
    assert!(matches!(error, StateError::Gone { .. }), "{error}");
}

#[test]
fn list_does_not_keep_others_from_opening() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let id = keep(&state, 1000, RunState::Waiting, None);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..2000).for_each(|_| drop(state.runs(&OsFs).expect("a list"))));
        for _ in 0..200 {
            drop(state.open_run(&OsFs, &id).expect("open"));
        }
    });
}

/// With such a one nothing could be done with the run any more.
#[test]
fn record_that_nobody_could_read_is_not_written() {
    let scratch = Scratch::new();
    let run = open(&scratch).create_run(&OsFs, &id(1)).expect("a run");
    let mut record = record(run.id(), RunState::Running);
    run.write_record(&OsFs, &record, Durability::Cached).expect("written");
    record.name = Some("n".repeat(64 << 20));
    let refused = run.write_record(&OsFs, &record, Durability::Cached);
    let is_told = matches!(refused, Err(StateError::Record { error: RecordError::TooLarge, .. }));
    assert!(is_told, "{refused:?}");
    assert!(run.read_record(&OsFs).is_ok_and(|record| record.is_some()));
}
