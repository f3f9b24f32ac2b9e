use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{KnownTrees, PACK, StoredTrees, TREE};
use crate::fs::{Kind, OsFs};
use crate::git_object::Work;
use crate::git_tree::Id;
use crate::testing::{self, Scratch};
use crate::traps::{GitTraps, IndexWork, Sides};

fn git(root: &Path, words: &[&str]) -> String {
    testing::git(root, words).trim().to_owned()
}

const INDEX: &str = ".git/index";

/// A tree as git wrote it long ago.
fn tree(root: &Path, entries: &[(&str, &str, &str)]) -> String {
    let bytes = |id: &str| -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("digits");
        (0..id.len()).step_by(2).map(digit).collect()
    };
    let entry = |(mode, name, id): &(&str, &str, &str)| {
        [format!("{mode} {name}\0").into_bytes(), bytes(id)].concat()
    };
    let file = root.join(".git/tree");
    fs::write(&file, entries.iter().map(entry).collect::<Vec<_>>().concat()).expect("written");
    let id = git(root, &["hash-object", "-t", "tree", "-w", "--literally", ".git/tree"]);
    fs::remove_file(file).expect("removed");
    id
}

/// A repository whose index was made from such trees.
fn repository(format: &str) -> Scratch {
    let scratch = Scratch::new();
    let root = scratch.path();
    git(root, &["init", "-q", "--object-format", format, "."]);
    for name in ["one", "two"] {
        fs::write(root.join(name), name).expect("written");
    }
    let [one, two] = ["one", "two"].map(|name| git(root, &["hash-object", "-w", name]));
    let empty = tree(root, &[]);
    let hollow = tree(root, &[("40000", "h", &empty)]);
    let below = tree(root, &[("100664", "f", &one), ("100775", "g", &two)]);
    let more: Vec<String> = (10..60).map(|number| format!("f{number}")).collect();
    let mut entries: Vec<_> = more.iter().map(|name| ("100664", name.as_str(), &*one)).collect();
    entries.insert(0, ("40000", "b", &below));
    entries.insert(1, ("040000", "empty", &empty));
    let above = tree(root, &entries);
    entries.push(("100644", "last", &two));
    let later = tree(root, &entries);
    for (name, above) in [("main", &above), ("later", &later)] {
        let all = [("40000", "a", &**above), ("40000", "e", &hollow), ("100644", "t", &two)];
        let commit = git(root, &["commit-tree", "-m", "1", &tree(root, &all)]);
        git(root, &["update-ref", &format!("refs/heads/{name}"), &commit]);
    }
    git(root, &["reset", "-q", "--hard", "main"]);
    scratch
}

fn held(layer: &Scratch, tree: &Scratch) -> bool {
    let sides = Sides::new(&OsFs, Some(layer.fd()), tree.fd());
    GitTraps::new(sides).held(Path::new(INDEX), Kind::File).is_some()
}

fn copy(from: &Path, to: &Path) {
    fs::write(to, fs::read(from).expect("read")).expect("written");
}

/// Whether the repository's index is held when it is in the layer, and all else as `is_new` says.
fn is_held(repository: &Scratch, is_new: bool) -> bool {
    let other = Scratch::new();
    if is_new {
        return held(repository, &other);
    }
    fs::create_dir(other.path().join(".git")).expect("a directory");
    copy(&repository.path().join(INDEX), &other.path().join(INDEX));
    held(&other, repository)
}

#[test]
fn trees_that_git_writes_no_more_are_those_of_an_index() {
    for format in ["sha1", "sha256"] {
        let by_name = ["-c", "repack.useDeltaBaseOffset=false", "repack", "-adqf"];
        for pack in [&["count-objects"][..], &["repack", "-adqf"], &by_name, &["gc", "-q"]] {
            let scratch = repository(format);
            let root = scratch.path();
            git(root, pack);
            for words in [
                &["status"][..],
                &["rm", "-q", "a/f10"],
                &["commit", "-qm", "2"],
                &["reset", "-q", "--hard", "later"],
                &["checkout", "-q", "-b", "topic", "main"],
                &["rm", "-q", "-r", "a/b"],
            ] {
                git(root, words);
                // A new repository of SHA-256 waits for its settings.
                let is_new_held = is_held(&scratch, true);
                assert_eq!(is_new_held, format == "sha256", "{pack:?} {words:?}");
                assert!(!is_held(&scratch, false), "{format} {pack:?} {words:?}");
            }
        }
    }
}

/// Puts other bytes in the place of some in the index.
fn replace(scratch: &Scratch, from: &[u8], to: &[u8]) {
    let path = scratch.path().join(INDEX);
    let mut bytes = fs::read(&path).expect("read");
    let at = bytes.windows(from.len()).position(|it| it == from).expect("there");
    bytes[at..at + to.len()].copy_from_slice(to);
    fs::write(path, bytes).expect("written");
}

/// git would make the next commit of the tree that is said.
#[test]
fn a_tree_that_was_right_is_not_right_for_other_entries() {
    for (from, to) in [
        (&b"a/b/f"[..], &b"a/b/e"[..]),
        (&0o100_755_u32.to_be_bytes(), &0o100_644_u32.to_be_bytes()),
        (&0o100_644_u32.to_be_bytes(), &0o100_755_u32.to_be_bytes()),
        (b"e\x000 1\n", b".\x000 1\n"),
        (b"h\x000 0\n", b"h\x001 0\n"),
    ] {
        let scratch = repository("sha1");
        assert!(!is_held(&scratch, false));
        replace(&scratch, from, to);
        assert!(is_held(&scratch, false), "{} {}", from.escape_ascii(), to.escape_ascii());
    }
    let scratch = repository("sha1");
    let id = git(scratch.path(), &["rev-parse", "main:a/b/f"]);
    let id: Vec<u8> = (0..20)
        .map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).expect("digits"))
        .collect();
    let mut other = id.clone();
    other[3] ^= 1;
    replace(&scratch, &id, &other);
    assert!(is_held(&scratch, false));
}

/// What is not there can't be compared, and what is there by a name that is another's is not believed.
#[test]
fn a_tree_is_believed_by_its_name_only() {
    let scratch = repository("sha1");
    let [older, other] = ["main:a/b", "main:e"].map(|it| {
        let id = git(scratch.path(), &["rev-parse", it]);
        scratch.path().join(".git/objects").join(&id[..2]).join(&id[2..])
    });
    fs::remove_file(&older).expect("removed");
    assert!(is_held(&scratch, false));
    copy(&other, &older);
    assert!(is_held(&scratch, false));
}

/// A command may write any bytes into a pack.
#[test]
fn damaged_packs_are_read_to_an_end() {
    let scratch = repository("sha1");
    git(scratch.path(), &["repack", "-adqf"]);
    let packs = fs::read_dir(scratch.path().join(".git/objects/pack")).expect("listed");
    let mut held = 0;
    for file in packs.map(|it| it.expect("an entry").path()) {
        let bytes = fs::read(&file).expect("read");
        fs::remove_file(&file).expect("removed");
        for at in (0..bytes.len()).step_by(7) {
            let mut other = bytes.clone();
            other[at] ^= 0x91;
            fs::write(&file, other).expect("written");
            held += usize::from(is_held(&scratch, false));
        }
        fs::write(&file, bytes).expect("written");
        assert!(!is_held(&scratch, false), "{}", file.display());
    }
    assert!(held > 0);
}

/// One may be asked for any number of times.
#[test]
fn what_was_found_of_a_tree_is_remembered() {
    let scratch = repository("sha1");
    git(scratch.path(), &["repack", "-adqf"]);
    let (known, work) = (KnownTrees::default(), Work::default());
    let read = |id: &str| {
        let before = work.left();
        let sides = Sides::new(&OsFs, None, scratch.fd());
        let trees = StoredTrees::of(Path::new(".git"), sides, &known, &work);
        let found = trees.read(&Id::from_digits(id.as_bytes()).expect("a name"));
        (found.map(|it| it.len() as u64), before - work.left())
    };
    let (packed, none) = (git(scratch.path(), &["rev-parse", "main:a"]), "1".repeat(40));
    for id in [packed, none] {
        let (first, second) = (read(&id), read(&id));
        assert!(first.1 >= TREE + PACK);
        assert_eq!(second, (first.0, TREE + first.0.unwrap_or(0)));
    }
    // The names of packs are listed once.
    assert_eq!(read(&"2".repeat(40)), (None, TREE + PACK));
}

#[test]
fn no_more_names_are_listed_than_are_asked_for() {
    let scratch = repository("sha1");
    let sides = Sides::new(&OsFs, None, scratch.fd());
    let names = |most| sides.names(Path::new(".git"), most).expect("listed").len();
    assert_eq!(names(3), 3);
    assert!(names(100) > 3);
}

/// Nobody knows what it says.
#[test]
fn an_index_beyond_what_is_looked_at_is_unsound() {
    let scratch = repository("sha1");
    let git = GitTraps::new(Sides::new(&OsFs, None, scratch.fd()));
    for is_old in [false, true] {
        let why = |work| git.unsound_index(Path::new(INDEX), &IndexWork::of(work), &|| is_old);
        assert_eq!(why(1 << 30), None);
        assert!(why(66_000).is_some_and(|why| why.contains("beyond")));
    }
}

/// What a command leaves takes nothing of what is looked at of the user's own.
#[test]
fn an_index_that_is_old_is_looked_at_after_too_many_new_ones() {
    let scratch = repository("sha1");
    let git = GitTraps::new(Sides::new(&OsFs, None, scratch.fd()));
    let work = IndexWork::of(75_000);
    let is_held = |is_old| git.unsound_index(Path::new(INDEX), &work, &|| is_old).is_some();
    assert!(is_held(false));
    assert!(!is_held(true));
}

/// What is read counts, whatever the index says. A hole that nobody reads does not: it costs nothing to make.
#[test]
fn what_is_read_of_an_index_counts() {
    let scratch = repository("sha1");
    let length: u32 = 500 << 20;
    let index = [&b"DIRC\0\0\0\x02\0\0\0\0ZZZZ"[..], &length.to_be_bytes()].concat();
    let file = fs::File::create(scratch.path().join(INDEX)).expect("made");
    file.write_all_at(&index, 0).expect("written");
    file.set_len(index.len() as u64 + u64::from(length) + 20).expect("a hole");
    let git = GitTraps::new(Sides::new(&OsFs, None, scratch.fd()));
    let why = git.unsound_index(Path::new(INDEX), &IndexWork::of(1 << 20), &|| false);
    assert_eq!(why, None);
}
