use std::fs::{self, File};
use std::path::Path;

use super::*;
use crate::testing::{Scratch, git};

/// Returns what is wrong with the index of a repository.
fn fault_of(path: &Path, ids: Algorithm) -> Option<IndexFault> {
    let beside = Beside { work: &Work::default(), stored: Some(&|_| None) };
    match check(&File::open(path).expect("an index").into(), ids, &beside) {
        Ok(()) => None,
        Err(IndexWarning::Unusable { fault, .. }) => Some(fault),
        Err(other) => panic!("{other:?}"),
    }
}

fn repository(options: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    git(scratch.path(), &[&["init", "-q", "r"], options].concat());
    let root = scratch.path().join("r");
    for name in ["a/b/long", "a/c", "a.git/x", "z", "git/.gitignore", "a/...", "k\u{e4}se/x"] {
        let file = root.join(name);
        fs::create_dir_all(file.parent().expect("a directory")).expect("mkdir");
        fs::write(file, name).expect("write");
    }
    git(&root, &["add", "."]);
    scratch
}

#[test]
fn what_git_writes_is_sound() {
    for (format, ids) in [("sha1", Algorithm::Sha1), ("sha256", Algorithm::Sha256)] {
        let fault = |root: &Path| fault_of(&root.join(".git/index"), ids);
        let scratch = repository(&["--object-format", format]);
        let root = scratch.path().join("r");
        for version in ["2", "4", "3"] {
            git(&root, &["update-index", "--index-version", version, "--force-write-index"]);
            assert_eq!(fault(&root), None, "{format} {version}");
            git(&root, &["-c", "index.threads=2", "update-index", "--force-write-index"]);
            let text = fs::read(root.join(".git/index")).expect("read");
            assert!(text.windows(4).any(|word| word == b"IEOT"), "{format} {version}");
            assert_eq!(fault(&root), None, "{format} {version} threads");
        }
        git(&root, &["commit", "-q", "-m", "1"]);
        git(&root, &["update-index", "--untracked-cache"]);
        fs::write(root.join("new"), "").expect("write");
        git(&root, &["add", "-N", "new"]);
        git(&root, &["status"]);
        assert_eq!(fault(&root), None, "{format} with more");
        git(&root, &["sparse-checkout", "set", "--cone", "--sparse-index", "git"]);
        assert_eq!(fault(&root), None, "{format} sparse");
        git(&root, &["sparse-checkout", "disable"]);
        git(&root, &["update-index", "--split-index"]);
        fs::write(root.join("new"), "more").expect("write");
        git(&root, &["add", "new"]);
        let all = fs::read_dir(root.join(".git")).expect("listed").flatten();
        let shared = all.map(|it| it.path()).find(|it| it.display().to_string().contains("shared"));
        assert_eq!(fault_of(&shared.expect("a split index"), ids), None, "{format} shared");
        // What it says of directories is not compared: most entries are in the other file.
        assert_eq!(fault(&root), Some(IndexFault::Trees), "{format} split");
    }
}

/// Changes the bytes of an extension, and says what is wrong with the index then.
fn changed(root: &Path, ids: Algorithm, name: &[u8], words: (&[u8], &[u8])) -> Option<IndexFault> {
    let path = root.join(".git/index");
    let mut bytes = fs::read(&path).expect("read");
    let at = |bytes: &[u8], word: &[u8], from: usize| {
        let found = bytes[from..].windows(word.len()).position(|it| it == word);
        from + found.expect("there")
    };
    let place = at(&bytes, name, 0);
    let place = at(&bytes, words.0, place);
    bytes[place..place + words.0.len()].copy_from_slice(words.1);
    let other = root.join("changed");
    fs::write(&other, bytes).expect("written");
    fault_of(&other, ids)
}

#[test]
fn trees_are_those_of_the_entries() {
    for (format, ids) in [("sha1", Algorithm::Sha1), ("sha256", Algorithm::Sha256)] {
        let scratch = repository(&["--object-format", format]);
        let root = scratch.path().join("r");
        git(&root, &["commit", "-q", "-m", "1"]);
        for id in ["HEAD:a", "HEAD:a/b", "HEAD^{tree}"] {
            let id = git(&root, &["rev-parse", id]);
            let bytes: Vec<u8> = (0..ids.length())
                .map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).expect("digits"))
                .collect();
            let mut other = bytes.clone();
            other[7] ^= 1;
            let fault = changed(&root, ids, b"TREE", (&bytes, &other));
            assert_eq!(fault, Some(IndexFault::Trees), "{format} {id}");
            assert_eq!(changed(&root, ids, b"TREE", (&bytes, &bytes)), None);
        }
        for (word, other) in [(b"b\x001 0\n", b"b\x002 0\n"), (b"b\x001 0\n", b"c\x001 0\n")] {
            let fault = changed(&root, ids, b"TREE", (word, other));
            assert_eq!(fault, Some(IndexFault::Trees), "{format} {word:?}");
        }
        // With a part that changed, and entries that no tree has.
        fs::write(root.join("a/c"), "2").expect("write");
        fs::write(root.join("a.git/new"), "").expect("write");
        git(&root, &["add", "a/c"]);
        git(&root, &["add", "-N", "a.git/new"]);
        assert_eq!(fault_of(&root.join(".git/index"), ids), None, "{format}");
    }
}

/// A few bytes of an index could say of any number of long paths.
#[test]
fn paths_of_directories_are_not_unfolded_without_end() {
    let chain = |depth: usize, last: &str| format!("\0-1 1\n{}{last}", "a\0-1 1\n".repeat(depth));
    let fault = |content: String| Claims::new(&Work::default()).add(content.as_bytes(), SHA1).err();
    assert_eq!(fault(chain(2000, "b\0-1 0\n")), None);
    assert_eq!(fault(chain(3000, "b\0-1 0\n")), Some(IndexFault::TooLarge));
    let children = |count| format!("c\0-1 {count}\n{}", "d\0-1 0\n".repeat(count));
    assert_eq!(fault(chain(2000, &children(1000))), None);
    assert_eq!(fault(chain(2000, &children(100_000))), Some(IndexFault::TooLarge));
    for (bytes, expected) in [(20_000, None), (10_000, Some(IndexFault::TooLarge))] {
        let counted = Claims::new(&Work::of(bytes)).add(chain(100, "b\0-1 0\n").as_bytes(), SHA1);
        assert_eq!(counted.err(), expected, "{bytes}");
    }
}

#[test]
fn untracked_files_are_in_the_work_tree() {
    let scratch = repository(&[]);
    let root = scratch.path().join("r");
    fs::create_dir(root.join("dddd")).expect("mkdir");
    fs::write(root.join("dddd/x"), "").expect("write");
    fs::write(root.join("ffff"), "").expect("write");
    git(&root, &["update-index", "--force-untracked-cache"]);
    git(&root, &["status"]);
    for (name, other) in [
        (b"dddd\0", b"dddd\0"),
        (b"dddd\0", b"/ddd\0"),
        (b"dddd\0", b"d/..\0"),
        (b"ffff\0", b".git\0"),
        (b"ffff\0", b"../f\0"),
    ] {
        let expected = (name != other).then_some(IndexFault::Path);
        let fault = changed(&root, Algorithm::Sha1, b"UNTR", (name, other));
        assert_eq!(fault, expected, "{}", other.escape_ascii());
    }
}

/// What an index remembers of one directory in another, with a bitmap for each of three things.
fn remembered(below: [u8; 2], all: u8, bitmaps: [&[u64]; 3], rest: usize) -> Vec<u8> {
    let mut content = [&[0][..], &[0; 36 + 36 + 4 + 2 * SHA1], &[0, all]].concat();
    content.extend([0, below[0], 0, 0, below[1], b'd', 0]);
    for words in bitmaps {
        content.extend(64_u32.to_be_bytes());
        content.extend(u32::try_from(words.len()).expect("few").to_be_bytes());
        content.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        content.extend([0; 4]);
    }
    content.resize(content.len() + rest, 0);
    content
}

/// git writes where the numbers lead.
#[test]
fn numbers_of_untracked_files_fit() {
    let (none, one): (&[u64], &[u64]) = (&[0], &[1 << 33, 1]);
    let fault = |below, all, bitmaps, rest| {
        untracked::check(&remembered(below, all, bitmaps, rest), SHA1).err()
    };
    let fits = None;
    let broken = Some(IndexFault::Damaged);
    assert_eq!(fault([1, 0], 2, [none; 3], 1), fits);
    assert_eq!(fault([1, 0], 2, [one, none, one], 36 + SHA1), fits);
    assert_eq!(fault([1, 0], 2, [one, none, one], 36), broken);
    for (below, all) in
        [([1, 0], 1), ([1, 0], 3), ([2, 0], 2), ([1, 1], 2), ([0, 0], 2), ([100, 0], 2)]
    {
        assert_ne!(fault(below, all, [none; 3], 99), fits, "{below:?} {all}");
    }
    for words in [&[1 << 33, 4][..], &[1 | 1 << 1], &[1_000_000 << 1 | 1 << 33, 1], &[2 << 33, 1]] {
        for at in 0..3 {
            let mut bitmaps = [none; 3];
            bitmaps[at] = words;
            assert_eq!(fault([1, 0], 2, bitmaps, 99), broken, "{words:?}");
        }
    }
}

/// An entry of version 2, whose name says to be so long.
fn entry(name: &[u8], length: u16) -> Vec<u8> {
    let mut entry = vec![0; 24];
    entry.extend(0o100_644_u32.to_be_bytes());
    entry.resize(40 + SHA1, 0);
    entry.extend(length.to_be_bytes());
    entry.extend(name);
    entry.resize(entry.len() + 8 - entry.len() % 8, 0);
    entry
}

fn index(entries: &[Vec<u8>], after: &[u8]) -> Vec<u8> {
    let count = u32::try_from(entries.len()).expect("few");
    let mut index = [&b"DIRC"[..], &2_u32.to_be_bytes(), &count.to_be_bytes()].concat();
    index.extend(entries.concat());
    index.extend(after);
    index.extend([0; SHA1]);
    index
}

fn checked(entries: &[Vec<u8>], after: &[u8]) -> Result<()> {
    let beside = Beside { work: &Work::default(), stored: Some(&|_| None) };
    check_bytes(&index(entries, after).as_slice(), Algorithm::Sha1, &beside)
}

fn named(name: &str) -> Vec<u8> {
    entry(name.as_bytes(), u16::try_from(name.len()).expect("short"))
}

/// A command may leave any number of indexes.
#[test]
fn work_on_indexes_is_bounded() {
    let bytes = index(&[named("a")], b"");
    // What is read, the name, and where another end may be.
    let work = Work::of(bytes.len() as u64 + 1 + 4);
    let beside = Beside { work: &work, stored: Some(&|_| None) };
    let check = || check_bytes(&bytes.as_slice(), Algorithm::Sha1, &beside);
    assert_eq!((check(), work.left(), work.is_spent()), (Ok(()), 0, false));
    assert_eq!((check(), work.is_spent()), (Err(IndexFault::TooLarge), true));
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    for name in [
        "../x",
        "a/../../x",
        "/home/u/.bashrc",
        ".git/hooks/pre-commit",
        "a/.GIT/config",
        ".g\u{200c}it/config",
        "./x",
        "a//x",
        "a/",
        "a/.",
        ".git./config",
        "a/GIT~1/config",
    ] {
        let entries = [named("a"), named(name)];
        assert_eq!(checked(&entries, b""), Err(IndexFault::Path), "{name}");
    }
    assert_eq!(checked(&[named("a"), named(".github/x"), named("b/..c")], b""), Ok(()));
}

/// Extensions as they follow entries.
fn extension(name: &str, words: &[u32]) -> Vec<u8> {
    let length = u32::try_from(words.len() * 4).expect("short");
    let words = words.iter().flat_map(|word| word.to_be_bytes());
    name.bytes().chain(length.to_be_bytes()).chain(words).collect()
}

/// What git would read in another way, or another thread of it.
#[test]
fn what_says_one_thing_to_git_and_another_here_is_refused() {
    let two = [named("a"), named("b")];
    let second = 12 + u32::try_from(two[0].len()).expect("short");
    let end = second + u32::try_from(two[1].len()).expect("short");
    let sound = |after: &[u8]| checked(&two, after).is_ok();
    assert!(sound(&extension("IEOT", &[1, 12, 1, second, 1])));
    assert!(sound(&extension("IEOT", &[1, 12, 2])));
    for words in
        [&[1, 12, 1, second + 8, 1][..], &[1, 12, 1], &[1, 12, 2, 12, 1], &[1, 12, 3], &[1]]
    {
        assert!(!sound(&extension("IEOT", words)), "{words:?}");
    }
    assert!(sound(&extension("EOIE", &[end, 0, 0, 0, 0, 0])));
    assert!(!sound(&extension("EOIE", &[second, 0, 0, 0, 0, 0])));
    // The last of an extension looks like another one, which git finds from the end.
    let hidden = extension("EOIE", &[12, 0, 0, 0, 0, 0]);
    let inner = [&b"ZZZZ\0\0\0\x20"[..], &hidden].concat();
    assert_eq!(checked(&two, &inner), Err(IndexFault::Extension));
    assert_eq!(checked(&[entry(b"a", 9), named("b")], b""), Err(IndexFault::Damaged));
    assert_eq!(checked(&[entry(b"a", 0), named("b")], b""), Err(IndexFault::Damaged));
    assert_eq!(checked(&two, b"zzzz\0\0\0\0"), Err(IndexFault::Extension));
    assert_eq!(checked(&[entry(b"", 0)], b""), Err(IndexFault::Damaged));
    assert_eq!(checked(&[entry(b"", 0)], &extension("link", &[0; 5])), Ok(()));
}

/// What is sound by ids of one length has git read other paths by the other.
#[test]
fn an_index_counts_by_the_ids_of_its_repository() {
    let scratch = repository(&["--object-format", "sha256"]);
    let index = scratch.path().join("r/.git/index");
    assert_eq!(fault_of(&index, Algorithm::Sha256), None);
    assert_eq!(fault_of(&index, Algorithm::Sha1), Some(IndexFault::Damaged));
}

#[test]
fn what_is_no_index_is_fine() {
    let scratch = Scratch::new();
    for text in ["", "DIR", "1234567890123456789012345678901234567890\n", "ref: refs/heads/x\n"] {
        fs::write(scratch.path().join("index"), text).expect("write");
        assert_eq!(fault_of(&scratch.path().join("index"), Algorithm::Sha1), None, "{text}");
    }
}
