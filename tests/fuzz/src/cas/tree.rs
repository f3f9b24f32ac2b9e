//! Trees in a store.

use std::cell::RefCell;
use std::collections::HashMap;

use endow_vfs::cas::message::wire;
use endow_vfs::cas::{CasError, Digest, Store, snapshot};
use endow_vfs::fs::OsFs;
use endow_vfs::snapshot::{Bounds, Entry, Naming, Node, Snapshot};
use prost::Message as _;

use super::described::described;
use crate::safe::assert_safe;
use crate::scratch::Scratch;

const BOUNDS: Bounds = Bounds { entries: 32, bytes: 4096, depth: 4, path: 64, paths: 512 };

thread_local! {
    static PLACE: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// Stands between directories.
const END: u8 = 0xfd;
/// The most directories.
const MOST: usize = 12;

/// The messages of all directories by their digests.
type Known = HashMap<Digest, wire::Directory>;

/// A tree of directories that the input describes, the last one its root: messages of their own in
/// a store, or one message.
pub(super) fn tree(door: u8, input: &[u8]) {
    let mut digests: Vec<Digest> = Vec::new();
    let mut known = Known::new();
    for part in input.split(|byte| *byte == END).take(MOST) {
        let message = described(part, &digests);
        let digest = Digest::of(&message.encode_to_vec());
        digests.push(digest);
        known.insert(digest, message);
    }
    let Some(root) = digests.last() else { return };
    let found = PLACE.with_borrow(|place| {
        let store = Store::open(&OsFs, &place.path().join("store")).expect("a store");
        if door & 8 == 0 { one_by_one(&store, &known, root) } else { at_once(&store, &known, root) }
    });
    match found {
        Ok(found) => {
            assert_safe(&found, &BOUNDS, Naming::Any);
            let mut expected = Vec::new();
            paths(&known, root, "", &mut expected);
            let mut found: Vec<_> = found.entries().iter().map(line).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "another tree than its messages say");
        }
        Err(error) => assert!(error.to_string().len() > 10),
    }
}

fn one_by_one(
    store: &Store<'_>,
    known: &Known,
    root: &Digest,
) -> Result<Snapshot<Digest>, CasError> {
    for message in known.values() {
        put(store, &message.encode_to_vec());
    }
    let found = snapshot(store, root, BOUNDS);
    for digest in known.keys() {
        store.remove(digest).expect("removed");
    }
    found
}

fn at_once(store: &Store<'_>, known: &Known, root: &Digest) -> Result<Snapshot<Digest>, CasError> {
    let children = known.values().cloned().collect();
    let message = wire::Tree { root: Some(known[root].clone()), children };
    let digest = put(store, &message.encode_to_vec());
    let found = snapshot(store, &digest, BOUNDS);
    store.remove(&digest).expect("removed");
    found
}

fn put(store: &Store<'_>, bytes: &[u8]) -> Digest {
    let publishing = store.publish().expect("nobody collects");
    publishing.put_bytes(bytes).expect("put").digest
}

fn line(entry: &Entry<Digest>) -> String {
    let path = entry.path.to_str().expect("names of messages are UTF-8");
    match &entry.node {
        Node::Directory => format!("{path} d"),
        Node::File { content, size, executable } => {
            assert_eq!(content.size, *size);
            format!("{path} f {content} {executable}")
        }
        Node::Symlink { target } => format!("{path} l {}", target.display()),
    }
}

/// What a tree has, as a plain reading of the messages says it.
fn paths(known: &Known, digest: &Digest, above: &str, out: &mut Vec<String>) {
    let message = &known[digest];
    let path =
        |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
    let of = |digest: &Option<wire::Digest>| -> Digest {
        digest.clone().expect("a digest").try_into().expect("a digest")
    };
    for file in &message.files {
        out.push(format!("{} f {} {}", path(&file.name), of(&file.digest), file.is_executable));
    }
    for symlink in &message.symlinks {
        out.push(format!("{} l {}", path(&symlink.name), symlink.target));
    }
    for directory in &message.directories {
        out.push(format!("{} d", path(&directory.name)));
        paths(known, &of(&directory.digest), &path(&directory.name), out);
    }
}
