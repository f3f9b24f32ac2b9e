use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::fs::OsFs;
use crate::state::{Durability, MadeLike, RunDir};
use crate::testing::{Scratch, no_program_starts, record};

fn open(scratch: &Scratch) -> StateDir {
    StateDir::open(&OsFs, &scratch.path().join("state")).expect("a state directory")
}

/// Makes a run as prepare does, with a copy-on-write mount that the kernel has worked in.
fn made(state: &StateDir) -> RunDir {
    let id = RunId::generate().expect("an id");
    let mut run = state.create_run(&OsFs, &id).expect("a run");
    for part in
        ["mask", "sockets", "layers/000/p000", "layers/000/m000/upper", "layers/000/m000/work"]
    {
        run.make_dir(&OsFs, Path::new(part), 0o700).expect("made");
    }
    let work = run.path().join("layers/000/m000").join("work").join("work");
    fs::create_dir(&work).expect("mkdir");
    fs::set_permissions(&work, fs::Permissions::from_mode(0o000)).expect("chmod");
    run
}

/// Sweeps a dead run and returns whether it was taken away.
fn is_swept(is: Option<RunState>, change: impl FnOnce(&Path)) -> bool {
    let scratch = Scratch::new();
    let state = open(&scratch);
    let run = made(&state);
    if let Some(is) = is {
        let mut record = record(run.id(), is);
        let root = OsFs.status(run.as_fd(), OsStr::new("layers/000/m000/upper")).expect("a layer");
        record.mounts[0].made_like = Some(MadeLike::of(&root, None));
        run.write_record(&OsFs, &record, Durability::Cached).expect("written");
    }
    change(&run.path());
    let path = run.path();
    run.keep();
    let sweep = Sweep { candidates: usize::MAX, start: 0, now: SystemTime::now() };
    let swept = state.sweep(&OsFs, sweep).expect("swept");
    assert!(swept.failed.is_empty(), "{swept:?}");
    assert_eq!(swept.removed.len(), usize::from(!path.exists()));
    !path.exists()
}

fn write(run: &Path, name: &str) {
    fs::write(run.join(name), "x").expect("write");
}

#[test]
fn dead_run_without_a_change_goes() {
    let _locks_are_ours = no_program_starts();
    assert!(is_swept(None, |_| {}));
    assert!(is_swept(Some(RunState::Running), |_| {}));
    assert!(is_swept(Some(RunState::Running), |run| write(run, "record.new")));
    assert!(is_swept(Some(RunState::Running), |run| write(run, "layers/000/p000/x")));
}

#[test]
fn dead_run_with_anything_to_keep_stays() {
    let _locks_are_ours = no_program_starts();
    for name in
        ["layers/000/m000/upper/x", "layers/000/m000/x", "layers/000/x", "journal", "report.json"]
    {
        assert!(!is_swept(None, |run| write(run, name)), "{name}");
        assert!(!is_swept(Some(RunState::Running), |run| write(run, name)), "{name}");
    }
}

#[test]
fn changes_to_drop_go_and_what_was_held_stays() {
    let _locks_are_ours = no_program_starts();
    let dropped = |run: &Path, more: &[&str]| {
        let text = fs::read_to_string(run.join("record.json")).expect("a record");
        let mut record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        record["sync"]["mode"] = "discard".into();
        fs::write(run.join("record.json"), record.to_string()).expect("write");
        for name in more {
            fs::create_dir_all(run.join(name).parent().expect("a parent")).expect("mkdir");
            write(run, name);
        }
    };
    let changed = ["layers/000/m000/upper/x", "layers/000/t000/upper/x"];
    assert!(is_swept(Some(RunState::Running), |run| dropped(run, &changed)));
    for kept in ["held/000/m000/upper/x", "layers/000/x", "journal"] {
        assert!(!is_swept(Some(RunState::Running), |run| dropped(run, &[kept])), "{kept}");
    }
}

#[test]
fn what_was_staged_of_many_commands_goes() {
    let _locks_are_ours = no_program_starts();
    let stage = |run: &Path| {
        fs::create_dir_all(run.join("staged/ab")).expect("mkdir");
        write(run, "staged/ab/object");
    };
    assert!(is_swept(None, stage));
    assert!(!is_swept(Some(RunState::Running), stage), "of a run that has a record it is unknown");
}

#[test]
fn run_with_more_than_is_looked_at_stays() {
    let _locks_are_ours = no_program_starts();
    let fill = |run: &Path, more: usize| {
        let layer = run.join("layers/000");
        let there = layer.read_dir().expect("list").count();
        for number in there..FEW + more {
            fs::create_dir(layer.join(format!("p{number:04}"))).expect("mkdir");
        }
        assert_eq!(layer.read_dir().expect("list").count(), FEW + more);
    };
    for is in [None, Some(RunState::Running)] {
        assert!(is_swept(is, |run| fill(run, 0)), "control: all of it is looked at");
        assert!(!is_swept(is, |run| fill(run, 1)), "a change may be in the rest");
    }
}

#[test]
fn bits_and_time_of_a_root_are_changes() {
    let _locks_are_ours = no_program_starts();
    let upper = |run: &Path| run.join("layers/000/m000/upper");
    let bits = fs::Permissions::from_mode(0o755);
    assert!(!is_swept(Some(RunState::Running), |run| {
        fs::set_permissions(upper(run), bits.clone()).expect("chmod");
    }));
    assert!(!is_swept(Some(RunState::Running), |run| {
        let dir = fs::File::open(upper(run)).expect("open");
        dir.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
    }));
    assert!(!is_swept(Some(RunState::Running), |run| {
        let text = fs::read_to_string(run.join("record.json")).expect("a record");
        let without = text.replace("made_like", "unknown");
        fs::write(run.join("record.json"), without).expect("write");
    }));
}

#[test]
fn whoever_saw_the_end_decides() {
    let _locks_are_ours = no_program_starts();
    for is in RunState::ALL.into_iter().filter(|is| *is != RunState::Running) {
        assert!(!is_swept(Some(is), |_| {}), "{}", is.word());
    }
}

#[test]
fn run_of_a_newer_program_stays_untouched() {
    let _locks_are_ours = no_program_starts();
    for text in ["{\"version\": 2}", "{}", ""] {
        let replace = |run: &Path| fs::write(run.join("record.json"), text).expect("write");
        assert!(!is_swept(Some(RunState::Running), replace), "{text}");
    }
}

#[test]
fn journals_of_dead_runs_are_told() {
    let _locks_are_ours = no_program_starts();
    let scratch = Scratch::new();
    let state = open(&scratch);
    let begun = || {
        let sweep = Sweep { candidates: 1, start: 7, now: SystemTime::now() };
        state.sweep(&OsFs, sweep).expect("swept").begun
    };
    let kept = |journal: bool| {
        let run = made(&state);
        run.write_record(&OsFs, &record(run.id(), RunState::Waiting), Durability::Cached)
            .expect("written");
        if journal {
            write(&run.path(), "journal");
        }
        run
    };
    for _ in 0..5 {
        kept(false).keep();
    }
    let run = kept(true);
    assert_eq!(begun(), [], "it is alive");
    let id = run.id().clone();
    run.keep();
    for _ in 0..2 {
        assert_eq!(begun(), std::slice::from_ref(&id));
    }
}
