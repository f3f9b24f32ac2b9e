use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use proptest::prelude::*;

use super::*;
use crate::fs::OsFs;
use crate::fs::faulty::{FaultyFs, each_fault};
use crate::state::{Durability, StateDir, StateError};
use crate::testing::{Scratch, record};

fn new_id() -> RunId {
    RunId::generate().expect("an id")
}

fn open(scratch: &Scratch) -> StateDir {
    StateDir::open(&OsFs, &scratch.path().join("state")).expect("a state directory")
}

/// Returns the text with a key of its top changed.
fn with(record: &Record, key: &str, value: Value) -> Vec<u8> {
    let mut json: Value = serde_json::from_slice(&record.to_json()).expect("JSON");
    json.as_object_mut().expect("an object").insert(key.into(), value);
    serde_json::to_vec(&json).expect("JSON")
}

#[test]
fn record_reads_back_whole() {
    let mut record = record(&new_id(), RunState::Waiting);
    record.name = Some("try".into());
    record.outcome = Some(Ending { kind: "signaled".into(), code: None, signal: Some(15) });
    record.ended = Some(Moment { seconds: -1, nanoseconds: 999_999_999 });
    record.changes = Some(ChangeCounts { created: 1, modified: 2, deleted: 3, left: 4 });
    record.sync.only = vec!["src/**".into()];
    record.undo_bytes = Some(5);
    record.mounts[0].hidden = vec![HiddenPath { path: "a/.env".into(), rule: ".env".into() }];
    let modified = Moment { seconds: 1, nanoseconds: 2 };
    record.mounts[0].made_like = Some(MadeLike { mode: 0o1777, modified, attributes: None });
    assert_eq!(Record::parse(&record.to_json()).expect("a record"), record);
    let text = String::from_utf8(record.to_json()).expect("a text");
    for part in ["\"version\": 1", "\"state\": \"waiting\"", "\"mode\": \"apply\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

proptest! {
    #[test]
    fn odd_names_read_back(name in proptest::collection::vec(1..=255u8, 1..40)) {
        let name = OsString::from_vec(name.into_iter().filter(|byte| *byte != b'/').collect());
        let mut record = record(&new_id(), RunState::Running);
        record.command.clone_from(&name);
        record.mounts[0].hidden = vec![HiddenPath { path: name.clone().into(), rule: "*".into() }];
        record.mounts[0].source = HostPath::new(Path::new("/x").join(&name)).unwrap_or(HostPath::root());
        prop_assert_eq!(Record::parse(&record.to_json()).expect("a record"), record);
    }
}

#[test]
fn name_that_is_no_text_is_base64() {
    let mut record = record(&new_id(), RunState::Running);
    record.command = OsStr::from_bytes(b"a\xff").to_owned();
    let json: Value = serde_json::from_slice(&record.to_json()).expect("JSON");
    assert_eq!(json["command"], serde_json::json!({"base64": "Yf8="}));
    for wrong in ["{\"base64\": \"Yf8\"}", "{\"base64\": \"YQBh\"}", "7", "\"a\\u0000\""] {
        let text = with(&record, "command", serde_json::from_str(wrong).expect("JSON"));
        assert!(matches!(Record::parse(&text), Err(RecordError::Invalid(_))), "{wrong}");
    }
}

#[test]
fn keys_of_later_programs_are_kept() {
    let record = record(&new_id(), RunState::Running);
    let text = with(&record, "later", serde_json::json!({"a": [1]}));
    let read = Record::parse(&text).expect("a record");
    let again: Value = serde_json::from_slice(&read.to_json()).expect("JSON");
    assert_eq!(again["later"]["a"][0], 1);
    assert_eq!(again["version"], 1);
}

#[test]
fn other_versions_are_refused_whatever_they_hold() {
    let record = record(&new_id(), RunState::Running);
    for (text, expected) in [
        (with(&record, "version", 2.into()), "written by a newer endow (format 2, known is 1)"),
        (b"{\"version\": 7, \"state\": {}}".to_vec(), "written by a newer endow"),
        (b"{}".to_vec(), "not a record of a run"),
        (b"".to_vec(), "not a record of a run"),
        (with(&record, "state", "asleep".into()), "not a record of a run"),
    ] {
        let error = Record::parse(&text).expect_err("refused");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn layer_outside_of_the_run_is_refused() {
    let mut record = record(&new_id(), RunState::Running);
    for layer in ["../x", "/x", "", "layers/../../x"] {
        record.mounts[0].layer = layer.into();
        let error = Record::parse(&record.to_json()).expect_err("refused");
        assert!(matches!(error, RecordError::Outside { .. }), "{layer}: {error}");
    }
}

#[test]
fn moment_is_the_same_time() {
    let now = SystemTime::now();
    assert_eq!(SystemTime::from(Moment::from(now)), now);
    let odd = Moment { seconds: -5, nanoseconds: u32::MAX };
    assert!(SystemTime::from(odd) >= UNIX_EPOCH);
}

#[test]
fn record_of_another_run_is_refused() {
    let scratch = Scratch::new();
    let state = open(&scratch);
    let run = state.create_run(&OsFs, &new_id()).expect("a run");
    assert!(run.read_record(&OsFs).expect("read").is_none());
    let other = record(&new_id(), RunState::Waiting);
    run.write_record(&OsFs, &other, Durability::Cached).expect("written");
    let error = run.read_record(&OsFs).expect_err("refused");
    assert!(matches!(error, StateError::Record { error: RecordError::Another { .. }, .. }));
}

#[test]
fn fault_leaves_the_old_record_or_the_new() {
    let scratch = Scratch::new();
    let state = open(&scratch);
    let run = state.create_run(&OsFs, &new_id()).expect("a run");
    let mut failures = 0;
    for durability in [Durability::Durable, Durability::Cached] {
        each_fault(Errno::NOSPC, |faulty: &FaultyFs| {
            let old = record(run.id(), RunState::Running);
            run.write_record(&OsFs, &old, Durability::Cached).expect("written");
            let new = record(run.id(), RunState::Applied);
            let written = run.write_record(faulty, &new, durability);
            failures += usize::from(written.is_err());
            let found = run.read_record(&OsFs).expect("read").expect("a record");
            assert!(found == new || written.is_err() && found == old, "{found:?}");
        });
    }
    assert!(failures > 10, "{failures}");
    let names = fs::read_dir(run.path()).expect("list").count();
    assert_eq!(names, 1, "the next write takes what a failed one left");
}
