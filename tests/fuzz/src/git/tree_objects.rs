//! The target `tree_objects`: hostile objects, loose and in packs.

use std::cell::RefCell;

use endow_vfs::git_tree::{Algorithm, Blob, GitError, Id, Options, Reader, Repository};
use endow_vfs::snapshot::Naming;

use super::index::{self, Version};
use super::object::{
    self, Content, Kind, Known, Object, Storage, deflated, expanded, headed, objects,
};
use super::pack::{Pack, whole};
use super::tree_model::{self, BOUNDS, What};
use crate::safe::assert_safe;
use crate::scratch::Scratch;

/// Reads trees, contents and packs that the input makes, and compares with what they are.
pub(crate) fn tree_objects(input: &[u8]) {
    let Some((door, input)) = input.split_first() else { return };
    let algorithm = if door & 4 == 0 { Algorithm::Sha1 } else { Algorithm::Sha256 };
    PLACE.with_borrow_mut(|place| {
        place.clear();
        let format =
            format!("[core]\nrepositoryformatversion=1\n[extensions]\nobjectformat={algorithm}\n");
        place.write("config", format.as_bytes());
        match door & 3 {
            0 | 1 => trees(place, input, algorithm),
            2 => loose_file(place, input, algorithm),
            _ => raw_pack(place, input, algorithm),
        }
    });
}

thread_local! {
    static PLACE: RefCell<Scratch> = RefCell::new(repository());
}

/// Makes a repository without an object.
pub(super) fn repository() -> Scratch {
    let scratch = Scratch::new();
    for dir in ["objects/pack", "objects/info", "refs/heads"] {
        std::fs::create_dir_all(scratch.path().join(dir)).expect("made");
    }
    std::fs::write(scratch.path().join("HEAD"), "ref: refs/heads/main\n").expect("written");
    scratch
}

/// Stores objects, and returns their names and what can be read.
pub(super) fn store(
    place: &mut Scratch,
    objects: &[Object],
    algorithm: Algorithm,
) -> (Vec<Id>, Known) {
    let (mut pack, mut known, mut ids) = (Pack::new(algorithm), Known::new(), Vec::new());
    for object in objects {
        let (id, content) = match object.storage {
            Storage::Packed(_) => pack.add(object),
            Storage::Loose => loose(place, object, &headed(object.kind, &object.content)),
            Storage::Headed => loose(place, object, &object.content),
        };
        known.extend(content.map(|content| (id, content)));
        ids.push(id);
    }
    if !pack.is_empty() {
        let [data, index] = pack.files();
        place.write("objects/pack/pack-1.pack", &data);
        place.write("objects/pack/pack-1.idx", &index);
    }
    (ids, known)
}

/// Writes the file of an object.
fn loose(place: &mut Scratch, object: &Object, headed: &[u8]) -> (Id, Option<Content>) {
    place.write(object::path(&object.id), &deflated(headed));
    (object.id, object::whole(headed))
}

fn trees(place: &mut Scratch, input: &[u8], algorithm: Algorithm) {
    let objects = objects(input, algorithm);
    let (ids, known) = store(place, &objects, algorithm);
    let repository = Repository::open(place.path()).expect("a repository");
    let mut reader = repository.reader();
    for id in ids.iter().rev().take(3) {
        tree(&repository, &mut reader, &known, id);
        resolve(&repository, id, &known);
    }
}

/// A tree is shown as it is, or refused for a reason.
fn tree(repository: &Repository, reader: &mut Reader<'_>, known: &Known, id: &Id) {
    let expected = tree_model::paths(known, id);
    match repository.snapshot(id, &Options { bounds: BOUNDS }) {
        Ok(snapshot) => {
            assert_safe(&snapshot, &BOUNDS, Naming::Git);
            let found = tree_model::of(&snapshot);
            let is_told = found.iter().all(|path| path.is_told(known));
            assert!(!is_told || Some(&found) == expected.as_ref(), "{found:?} not {expected:?}");
            contents(reader, known, &found);
        }
        Err(error) => {
            let is_plain = expected.is_some_and(|it| tree_model::is_plain(&it));
            assert!(!is_plain, "refused without a reason: {error}");
            assert_says_something(&error);
        }
    }
}

fn contents(reader: &mut Reader<'_>, known: &Known, paths: &[tree_model::Path]) {
    let mut bytes = Vec::new();
    for path in paths {
        let What::File { id, size, .. } = path.what else { continue };
        let read = reader.read(&Blob { id, size }, &mut bytes);
        match known.get(&id) {
            Some((_, content)) => assert!(read.is_ok() && bytes == *content),
            // Of what is not whole, only the size was believed.
            None => assert!(read.is_err()),
        }
        assert!(reader.read(&Blob { id, size: size + 1 }, &mut bytes).is_err());
    }
}

fn resolve(repository: &Repository, id: &Id, known: &Known) {
    match repository.resolve(&id.to_string()) {
        Ok(found) => {
            let is_tree = matches!(known.get(&found.tree), Some((Kind::Tree, _)));
            assert!(is_tree || tree_model::is_empty(&found.tree));
            let commit = found.commit.map(|id| known.get(&id));
            assert!(matches!(commit, None | Some(Some((Kind::Commit, _)))));
        }
        Err(error) => assert_says_something(&error),
    }
}

/// An error names the object, the path or the revision that it is about.
pub(super) fn assert_says_something(error: &GitError) {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&error.to_string());
        cause = error.source();
    }
    assert!(text.len() > 10, "{text:?}");
}

/// Any bytes as the file of an object.
fn loose_file(place: &mut Scratch, input: &[u8], algorithm: Algorithm) {
    let digits = "7".repeat(algorithm.length() * 2);
    let id: Id = digits.parse().expect("digits");
    place.write(object::path(&id), input);
    let repository = Repository::open(place.path()).expect("a repository");
    let mut bytes = Vec::new();
    for size in [0, 5, 1 << 20] {
        let read = repository.reader().read(&Blob { id, size }, &mut bytes);
        // No bytes are known that have this name.
        assert_says_something(&read.expect_err("another name"));
    }
    assert!(repository.snapshot(&id, &Options { bounds: BOUNDS }).is_err());
    assert!(repository.resolve(&digits).is_err());
}

/// The most bytes that entries are read to.
const LIMIT: u64 = 1 << 20;

/// Any bytes as the body of a pack, with an index that leads anywhere in it.
fn raw_pack(place: &mut Scratch, input: &[u8], algorithm: Algorithm) {
    let [flags, count, input @ ..] = input else { return };
    let count = count & 7;
    let Some((offsets, body)) = input.split_at_checked(2 * usize::from(count) + 2) else { return };
    let id = |number: u8| -> Id {
        format!("{number:02x}").repeat(algorithm.length()).parse().expect("digits")
    };
    let ids: Vec<Id> = (0..=count).map(id).collect();
    let far = if flags & 1 == 0 { 0 } else { 1 << 32 };
    let offsets = offsets.as_chunks::<2>().0.iter();
    let places = offsets.map(|it| u64::from(u16::from_le_bytes(*it)) + far);
    let places = ids.iter().copied().zip(places).collect();
    let version = if flags & 2 == 0 { Version::Two } else { Version::One };
    let pack = whole(algorithm, ids.len(), &inflatable(&expanded(body, &ids)));
    let index = index::of(&pack, places, algorithm, version);
    place.write("objects/pack/pack-1.pack", if flags & 4 == 0 { &pack } else { body });
    place.write("objects/pack/pack-1.idx", if flags & 8 == 0 { &index } else { body });
    ask(place, &ids);
}

/// Nothing can be read by a name that no bytes have.
fn ask(place: &Scratch, ids: &[Id]) {
    let repository = Repository::open(place.path()).expect("a broken pack is none");
    let mut reader = repository.reader();
    let mut bytes = Vec::new();
    for id in ids {
        let read = reader.read(&Blob { id: *id, size: LIMIT }, &mut bytes);
        assert_says_something(&read.expect_err("no bytes have such a name"));
        assert!(repository.resolve(&id.to_string()[..8]).is_err());
    }
}

/// Turns `0xfc`, a length and so many bytes into a stream of zlib, whose checksum no mutation finds.
fn inflatable(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = body;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (0xfc, [length, after @ ..]) => {
                let (part, after) = after.split_at(usize::from(*length).min(after.len()));
                bytes.extend(deflated(part));
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    bytes
}
