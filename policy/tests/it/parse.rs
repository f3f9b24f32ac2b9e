//! Any text is read or refused.

use endow_policy::{FileKind, PolicyText, ResolveError, Sources, compose, parse, resolve};
use proptest::prelude::*;

use crate::harness::{good_files, host, vars};

/// Goes the whole way with some bytes.
fn whole_way(kind: FileKind, text: &[u8]) {
    let directory = Some(host("/home/u/src/app"));
    let Ok(file) = parse(PolicyText { name: "x.toml", kind, directory, text }) else { return };
    let sources = Sources { explicit: Some(file), ..Sources::default() };
    if let Ok(composed) = compose(&sources, &vars()) {
        drop(resolve(&composed, &vars()));
    }
}

#[test]
fn good_files_resolve() {
    for (name, text) in good_files() {
        let directory = Some(host("/home/u/src/app"));
        let source = PolicyText { name: &name, kind: FileKind::Explicit, directory, text: &text };
        let file = parse(source).unwrap_or_else(|error| panic!("{name}: {:?}", error.problems));
        let sources = Sources { explicit: Some(file), ..Sources::default() };
        let composed = compose(&sources, &vars()).unwrap_or_else(|error| panic!("{name}: {error}"));
        match resolve(&composed, &vars()) {
            Ok(policy) => assert!(policy.mounts.len() > 60, "{name}"),
            Err(ResolveError::CwdNotInView { .. }) if name == "workspace_none.toml" => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn byte_order_mark_is_no_key() {
    whole_way(FileKind::Explicit, "\u{feff}version = 1\n".as_bytes());
}

#[test]
fn project_tables_only_in_the_user_file() {
    let text = b"version = 1\n[project.\"~/src\".deny]\npatterns = [\"x\"]\nbad = 1\n";
    let source = PolicyText { name: "p", kind: FileKind::User, directory: None, text };
    let error = parse(source).expect_err("a bad key");
    assert_eq!(error.problems.len(), 1);
    assert_eq!(error.problems[0].line, 4);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        whole_way(FileKind::Explicit, &text);
    }

    #[test]
    fn cut_and_changed_files(which in 0_usize..12, at in 0_usize..900, byte in any::<u8>(), cut in any::<bool>()) {
        let files = good_files();
        let mut text = files[which % files.len()].1.clone();
        let at = at % text.len();
        if cut { text.truncate(at); } else { text[at] = byte; }
        whole_way(FileKind::Explicit, &text);
        whole_way(FileKind::User, &text);
        whole_way(FileKind::Builtin, &text);
    }

    #[test]
    fn words_from_the_language(words in prop::collection::vec(prop_oneof![
        Just("version = 1\n"), Just("[mounts]\n"), Just("\"/a\" = "), Just("\"ro\"\n"), Just("{ host = \"."), Just("\" }\n"),
        Just("[[expect]]\n"), Just("read = \"~\"\n"), Just("is = \"absent\"\n"), Just("[project.\"~/src\"]\n"), Just("extends = [\"base\"]\n"),
        Just("[deny]\n"), Just("patterns = [\"!{a,b}/**\"]\n"), Just("[workspace]\n"), Just("root = \"..\"\n"),
    ], 0..12)) {
        whole_way(FileKind::User, words.concat().as_bytes());
    }
}
