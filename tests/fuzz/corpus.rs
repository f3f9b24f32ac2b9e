//! Every input that is kept goes through its fuzz target, as `cargo ci fuzz` has it, on any machine.

#[path = "src/cas/mod.rs"]
mod cas;
#[path = "src/git/mod.rs"]
mod git;
#[path = "src/policy/mod.rs"]
mod policy;
#[path = "src/safe.rs"]
mod safe;
#[path = "src/scratch.rs"]
mod scratch;

use std::panic::catch_unwind;
use std::path::Path;

fn replay(name: &str, target: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(name);
    let entries = std::fs::read_dir(corpus).expect("a corpus");
    let mut inputs: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{name} has no inputs");
    for input in inputs {
        let bytes = std::fs::read(&input).expect("readable");
        assert!(catch_unwind(|| target(&bytes)).is_ok(), "{} fails", input.display());
    }
}

#[test]
fn corpus_of_tree_objects_holds() {
    replay("tree_objects", git::tree_objects);
}

#[test]
fn corpus_of_directory_messages_holds() {
    replay("directory_messages", cas::directory_messages);
}

#[test]
fn corpus_of_ref_names_holds() {
    replay("ref_names", git::ref_names);
}

#[test]
fn corpus_of_mount_specs_holds() {
    replay("mount_specs", policy::mount_specs);
}
