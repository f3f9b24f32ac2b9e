//! The target `ref_names`: names of references, revisions, and the files that lead to objects.

use std::cell::RefCell;
use std::path::{Component, Path};

use endow_vfs::git_dir::{is_reference, packed_refs};
use endow_vfs::git_tree::{Algorithm, Id, Repository, places};

use super::object::{Kind, Known, expanded, objects};
use super::tree_objects::{assert_says_something, repository, store};
use crate::scratch::Scratch;

/// Two trees, a blob, three commits of which one is a merge, and two tags: number 0 to 7.
const OBJECTS: &[u8] = b"\x00text\n\
    \xfd\x01100644 file\0\xff\x00\
    \xfd\x0140000 dir\0\xff\x01100644 top\0\xff\x00\
    \xfd\x02tree \xfe\x01\ncommitter A <a@b> 1700000000 +0000\n\nfirst\n\
    \xfd\x0atree \xfe\x02\nparent \xfe\x03\ncommitter A <a@b> 1700000001 +0000\n\nsecond\n\
    \xfd\x02tree \xfe\x02\nparent \xfe\x04\nparent \xfe\x03\ncommitter A <a@b> 17 +0000\n\nmerge\n\
    \xfd\x03object \xfe\x05\ntype commit\ntag v1\n\
    \xfd\x03object \xfe\x06\ntype tag\ntag v2\n";

/// Stands between the parts of an input.
const END: u8 = 0xfd;

/// Resolves a revision in a repository whose references and settings the input writes.
pub(crate) fn ref_names(input: &[u8]) {
    let Some((door, input)) = input.split_first() else { return };
    match door & 3 {
        0 => name(input),
        1 => packed(input),
        _ => PLACE.with_borrow_mut(|place| place.resolve(*door, input)),
    }
}

/// A name that is accepted stays where references are, and is one for git as well.
fn name(input: &[u8]) {
    let Ok(name) = std::str::from_utf8(input) else { return };
    if !is_reference(name) {
        return;
    }
    assert!(!name.is_empty() && !name.starts_with('/') && !name.ends_with('/'));
    assert!(!name.ends_with('.') && !name.contains("..") && !name.contains("@{"));
    assert!(!name.bytes().any(|byte| byte < 32 || byte == 127 || b" ~^:?*[\\".contains(&byte)));
    for part in name.split('/') {
        let ends_badly = part.strip_suffix(".lock").is_some();
        assert!(!part.is_empty() && !part.starts_with('.') && !ends_badly, "{name:?}");
    }
    let is_normal = |part| matches!(part, Component::Normal(_));
    assert!(Path::new(name).components().all(is_normal), "leads elsewhere: {name:?}");
}

/// What a file of references is read as is in it, line by line.
fn packed(input: &[u8]) {
    for (name, object) in packed_refs(input) {
        assert!(name.starts_with(b"refs/") && !name.contains(&b'\n'));
        let line = [object, b" ", name].concat();
        assert!(input.split(|byte| *byte == b'\n').any(|it| it == line));
        let id: Id = std::str::from_utf8(object).expect("digits").parse().expect("an id");
        assert_eq!(id.to_string().as_bytes(), object);
    }
}

thread_local! {
    static PLACE: RefCell<Fixture> = RefCell::new(Fixture::new());
}

struct Fixture {
    /// What the input writes.
    scratch: Scratch,
    ids: Vec<Id>,
    known: Known,
}

impl Fixture {
    fn new() -> Self {
        let mut scratch = repository();
        let made = objects(OBJECTS, Algorithm::Sha1);
        let (ids, known) = store(&mut scratch, &made, Algorithm::Sha1);
        scratch.keep();
        Self { scratch, ids, known }
    }

    /// The parts: a revision, what `HEAD` has, `packed-refs`, and a file by name and content.
    fn resolve(&mut self, door: u8, input: &[u8]) {
        self.scratch.clear();
        let mut parts = input.split(|byte| *byte == END).map(|part| expanded(part, &self.ids));
        let mut next = || parts.next().unwrap_or_default();
        let (rev, head, packed, name, content) = (next(), next(), next(), next(), next());
        let Ok(rev) = String::from_utf8(rev) else { return };
        self.scratch.write("HEAD", &head);
        self.scratch.write("packed-refs", &packed);
        self.file(door, &name, &content);
        match Repository::open(self.scratch.path()) {
            Ok(repository) => self.check(&repository, &rev),
            Err(error) => assert_says_something(&error),
        }
    }

    /// Writes the one file that may be any: a reference, or one that says how the rest is read.
    fn file(&mut self, door: u8, name: &[u8], content: &[u8]) {
        let name = match door >> 2 & 7 {
            0 => "config",
            1 => "objects/info/alternates",
            2 => "commondir",
            _ => std::str::from_utf8(name).unwrap_or_default(),
        };
        let is_ours = [".git", "config", "objects/info/alternates", "commondir"].contains(&name);
        let is_ref = name.starts_with("refs/") && is_reference(name);
        let is_short = name.len() < 200;
        if is_short && (is_ours || is_ref || (is_reference(name) && name.ends_with("_HEAD"))) {
            self.scratch.write(name, content);
        }
    }

    fn check(&self, repository: &Repository, rev: &str) {
        for dir in repository.object_dirs() {
            assert!(dir.is_absolute() && !dir.starts_with(self.scratch.path()));
        }
        let found = repository.resolve(rev);
        match &found {
            Ok(found) => {
                assert!(matches!(self.known.get(&found.tree), Some((Kind::Tree, _))), "{rev:?}");
                if let Some(commit) = found.commit {
                    assert!(matches!(self.known.get(&commit), Some((Kind::Commit, _))), "{rev:?}");
                    assert!(found.time.is_some(), "each commit here has a time");
                }
                let whole = repository.resolve(&found.tree.to_string()).expect("by its name");
                assert_eq!(whole.tree, found.tree);
            }
            Err(error) => assert_says_something(error),
        }
        // The same through the directories that were found, as a confined process does it.
        let places = places(self.scratch.path()).expect("it was opened");
        let again = Repository::open_at(&places).expect("it was opened");
        assert_eq!(again.resolve(rev).ok(), found.ok(), "{rev:?}");
    }
}
