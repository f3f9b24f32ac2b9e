use super::*;
use crate::cas::Store;
use crate::fs::OsFs;
use crate::inputs::{Folder, Leaf};
use crate::testing::Scratch;

fn command(change: impl FnOnce(&mut wire::Command)) -> Vec<u8> {
    let mut command = wire::Command {
        arguments: vec!["sh".to_owned()],
        working_directory: "a/b".to_owned(),
        ..wire::Command::default()
    };
    change(&mut command);
    command.encode_to_vec()
}

fn action() -> RequestedAction {
    RequestedAction {
        command: Digest::EMPTY,
        input_root: Digest::EMPTY,
        timeout: None,
        platform: None,
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn action_is_read_as_it_was_written() {
    let platform = wire::Platform {
        properties: vec![wire::Pair { name: "OSFamily".to_owned(), value: "linux".to_owned() }],
    };
    let message = wire::Action {
        command_digest: Some(Digest::of(b"command").into()),
        input_root_digest: Some(Digest::of(b"root").into()),
        timeout: Some(wire::Duration { seconds: 1, nanos: 5 }),
        platform: Some(platform),
        ..wire::Action::default()
    };
    let read = RequestedAction::decode(&message.encode_to_vec()).expect("an action");
    assert_eq!(read.command, Digest::of(b"command"));
    assert_eq!(read.input_root, Digest::of(b"root"));
    assert_eq!(read.timeout, Some(Duration::new(1, 5)));
    let command = read.command(&command(|_| {})).expect("a command");
    assert_eq!(command.platform, [("OSFamily".to_owned(), "linux".to_owned())]);
    for wrong in [
        wire::Action { command_digest: None, ..message.clone() },
        wire::Action { timeout: Some(wire::Duration { seconds: -1, nanos: 0 }), ..message.clone() },
        wire::Action { timeout: Some(wire::Duration { seconds: 0, nanos: -1 }), ..message },
    ] {
        assert!(RequestedAction::decode(&wrong.encode_to_vec()).is_err());
    }
    assert!(RequestedAction::decode(b"\xff").is_err());
}

/// Those of older clients count where no others are.
#[test]
fn outputs_are_relative_to_where_the_command_starts() {
    let paths = |change: fn(&mut wire::Command)| -> Vec<String> {
        let read = action().command(&command(change)).expect("a command");
        read.outputs.into_iter().map(|it| it.path).collect()
    };
    let new = paths(|it| it.output_paths = texts(&["x", "../y/", "./z/..", "../.."]));
    assert_eq!(new, ["a/b/x", "a/y", "a/b", ""]);
    let old = paths(|it| {
        it.output_files = texts(&["f"]);
        it.output_directories = texts(&["d"]);
    });
    assert_eq!(old, ["a/b/f", "a/b/d"]);
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in ["../../..", "/etc", "x/../../../../y", "a\0"] {
        let read = action().command(&command(|it| it.output_paths = texts(&[path])));
        assert_eq!(read, Err(RequestError::Path(path.to_owned())));
    }
    let read = action().command(&command(|it| "../x".clone_into(&mut it.working_directory)));
    assert_eq!(read, Err(RequestError::Path("../x".to_owned())));
    let long = "a/".repeat(2_049);
    let read = action().command(&command(|it| it.output_paths = texts(&[&long])));
    assert_eq!(read, Err(RequestError::Long));
    let many = vec!["x"; OUTPUTS_MAX + 1];
    let read = action().command(&command(|it| it.output_paths = texts(&many)));
    assert_eq!(read, Err(RequestError::Outputs));
    let none = action().command(&command(|it| it.arguments.clear()));
    assert_eq!(none, Err(RequestError::Empty));
}

fn store(scratch: &Scratch) -> Store<'static> {
    Store::open(&OsFs, &scratch.path().join("store")).expect("a store")
}

/// Puts a tree with a file `a/f` and a link `l`.
fn tree(publishing: &Publishing<'_>) -> Digest {
    let digest = publishing.put_bytes(b"content").expect("put").digest;
    let folder = Folder::new([
        ("a/f", &Leaf::File { digest, executable: true }),
        ("l", &Leaf::Symlink { target: "a".to_owned() }),
    ])
    .expect("a tree");
    folder.put(publishing, &mut std::collections::HashSet::new()).expect("put");
    folder.digest().expect("a digest")
}

#[test]
fn directories_that_are_needed_are_made_and_nothing_else_changes() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let publishing = store.publish().expect("the lock");
    let root = tree(&publishing);
    let asked = |directory: &str, outputs: &[&str]| {
        let bytes = command(|it| {
            directory.clone_into(&mut it.working_directory);
            it.output_paths = texts(outputs);
        });
        let command = action().command(&bytes).expect("a command");
        command.root(&publishing, &root).expect("a tree")
    };
    assert_eq!(asked("", &["a/f", "a/new", "out"]), root, "all is there");
    assert_eq!(asked("l/deep", &[]), root, "what is no directory stays");
    let made = asked("work", &["out/deep/x", "../a/y"]);
    let is_directory =
        |path: &str| matches!(found_at(&publishing, &made, path), Ok(Some(AtPath::Directory(_))));
    assert!(is_directory("work/out/deep") && is_directory("a") && !is_directory("work/out/deep/x"));
    assert!(matches!(
        found_at(&publishing, &made, "a/f"),
        Ok(Some(AtPath::Leaf(LeftNode::File { executable: true, .. })))
    ));
}

#[test]
fn result_has_what_was_asked_for_in_the_form_that_was() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let publishing = store.publish().expect("the lock");
    let root = tree(&publishing);
    let result = |format: i32| {
        let bytes = command(|it| {
            it.output_directory_format = format;
            it.working_directory.clear();
            it.output_paths = texts(&["a/f", "a", "l", "absent"]);
        });
        let end = RequestedEnd { exit_code: 3, ..RequestedEnd::default() };
        let command = action().command(&bytes).expect("a command");
        command.result(&publishing, &root, end).expect("a result")
    };
    for (format, wants_tree, wants_root) in [(0, true, false), (1, false, true), (2, true, true)] {
        let found = result(format);
        let message = wire::ActionResult::decode(found.message.as_slice()).expect("a result");
        assert_eq!((message.exit_code, &message.stdout_digest), (3, &None));
        assert_eq!(message.output_files[0].path, "a/f");
        assert_eq!(message.output_symlinks[0].target, "a");
        let [directory] = message.output_directories.as_slice() else { panic!("{message:?}") };
        assert_eq!(directory.tree_digest.is_some(), wants_tree);
        assert_eq!(directory.root_directory_digest.is_some(), wants_root);
        assert_eq!(found.contents.len(), 1 + usize::from(wants_tree));
        assert_eq!(found.directories.len(), 1);
    }
}

#[test]
fn what_others_began_of_a_result_stays() {
    let scratch = Scratch::new();
    let store = store(&scratch);
    let publishing = store.publish().expect("the lock");
    let begun = wire::ExecutedActionMetadata { worker: "theirs".to_owned(), ..Default::default() };
    let end = RequestedEnd {
        streams: Some([Digest::of(b"out"), Digest::EMPTY]),
        metadata: begun.encode_to_vec(),
        times: [Duration::from_secs(5), Duration::from_millis(5_001)],
        ..RequestedEnd::default()
    };
    let command = action().command(&command(|_| {})).expect("a command");
    let root = tree(&publishing);
    let result = command.result(&publishing, &root, end).expect("a result");
    let message = wire::ActionResult::decode(result.message.as_slice()).expect("a result");
    assert_eq!(message.stdout_digest, Some(Digest::of(b"out").into()));
    let metadata = message.execution_metadata.expect("metadata");
    assert_eq!(metadata.worker, "theirs");
    let end = metadata.execution_completed_timestamp.expect("an end");
    assert_eq!((end.seconds, end.nanos), (5, 1_000_000));
}
