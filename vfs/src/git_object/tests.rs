use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use gix_object::Kind;
use gix_zlib::Compression;
use gix_zlib::stream::deflate;

use super::{Work, begin, finish, is_loose, is_pack, loose_tree, packed};
use crate::git_tree::{Algorithm, Id};
use crate::testing::{Scratch, git};

fn opened(path: &Path) -> OwnedFd {
    File::open(path).expect("opened").into()
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut out = deflate::Write::new(Vec::new(), Compression::BEST_SPEED);
    out.write_all(bytes).and_then(|()| out.flush()).expect("compressed");
    out.into_inner()
}

/// Returns the name of a blob.
fn id(content: &[u8]) -> Id {
    let mut hash = begin(Algorithm::Sha1, Kind::Blob, content.len() as u64);
    hash.update(content);
    Id::from_bytes(finish(hash).expect("no collision").as_slice()).expect("a name")
}

/// What a run may put in the place of a sound object's file.
#[test]
fn loose_object_is_what_its_name_says() {
    let scratch = Scratch::new();
    let is_sound = |bytes: &[u8], id: &Id| {
        let path = scratch.path().join("object");
        std::fs::write(&path, bytes).expect("written");
        is_loose(&opened(&path), id, &Work::default())
    };
    let large = vec![7; 3 << 16];
    let of_large = [format!("blob {}\0", large.len()).as_bytes(), &large].concat();
    assert!(is_sound(&deflated(&of_large), &id(&large)));
    let (it, sound) = (id(b"hello\n"), deflated(b"blob 6\0hello\n"));
    assert!(is_sound(&sound, &it));
    let cut = sound.get(..sound.len() - 1).expect("a part").to_vec();
    for (what, bytes) in [
        ("other content", deflated(b"blob 6\0howdy\n")),
        ("another kind", deflated(b"tree 6\0hello\n")),
        ("no kind", deflated(b"text 6\0hello\n")),
        ("more than it says", deflated(b"blob 5\0hello\n")),
        ("less than it says", deflated(b"blob 99999999999\0hello\n")),
        ("another number", deflated(b"blob 06\0hello\n")),
        ("no header", deflated(b"hello\n")),
        ("something after it", [&sound[..], b"x"].concat()),
        ("cut off", cut),
        ("not compressed", b"blob 6\0hello\n".to_vec()),
        ("nothing", Vec::new()),
    ] {
        assert!(!is_sound(&bytes, &it), "{what}");
    }
}

#[test]
fn no_more_is_looked_at_than_there_is_time_for() {
    let scratch = Scratch::new();
    let path = scratch.path().join("object");
    let bytes = deflated(b"blob 6\0hello\n");
    std::fs::write(&path, &bytes).expect("written");
    let work = Work::of(13 + bytes.len() as u64);
    assert!(is_loose(&opened(&path), &id(b"hello\n"), &work));
    assert!(!is_loose(&opened(&path), &id(b"hello\n"), &work));
}

#[test]
fn there_is_no_more_after_too_much_was_asked_for() {
    let work = Work::of(10);
    assert_eq!((work.take(4), work.is_spent()), (Some(()), false));
    assert_eq!((work.take(7), work.is_spent()), (None, true));
    assert_eq!((work.take(1), work.left()), (None, 0));
}

/// Puts so many blocks in which there is nothing before the others.
fn with_nothing(bytes: &[u8], blocks: usize) -> Vec<u8> {
    let compressed = deflated(bytes);
    let (begin, rest) = compressed.split_at(2);
    [begin, &[0, 0, 0, 0xff, 0xff].repeat(blocks), rest].concat()
}

/// Returns a tree, and its name.
fn tree() -> (Vec<u8>, Id) {
    let tree = [&b"100644 f\0"[..], &[7; 20]].concat();
    let mut hash = begin(Algorithm::Sha1, Kind::Tree, tree.len() as u64);
    hash.update(&tree);
    let id = Id::from_bytes(finish(hash).expect("no collision").as_slice()).expect("a name");
    (tree, id)
}

/// It may be long and hold next to nothing.
#[test]
fn what_is_compressed_counts() {
    let (scratch, (tree, id)) = (Scratch::new(), tree());
    let path = scratch.path().join("file");
    let object = [format!("tree {}\0", tree.len()).as_bytes(), &tree].concat();
    let read = |is_loose, file: &OwnedFd, work: &Work| {
        if is_loose {
            return loose_tree(file, &id, work);
        }
        let entry = packed::entry(file, 0, Algorithm::Sha1)?;
        packed::inflated(file, &entry, work)
    };
    for (blocks, is_one) in [(0, true), (10, true), (100_000, false)] {
        let loose = with_nothing(&object, blocks);
        let head = header(2, tree.len());
        let packed = [head, with_nothing(&tree, blocks)].concat();
        for (is_loose, bytes) in [(true, &loose), (false, &packed)] {
            std::fs::write(&path, bytes).expect("written");
            let (work, length) = (Work::of(1 << 20), bytes.len() as u64);
            let found = read(is_loose, &opened(&path), &work);
            assert_eq!(found.is_some_and(|it| it == tree), is_one, "{blocks} {is_loose}");
            let counted = (1 << 20) - work.left();
            assert!(counted + 2 >= length.min(4 << 10) && counted < 40 << 10, "{counted}");
        }
        std::fs::write(&path, &loose).expect("written");
        let work = Work::of(object.len() as u64 + loose.len() as u64);
        assert!(is_loose(&opened(&path), &id, &work));
        assert_eq!(work.left(), 0);
    }
}

/// An entry of a pack: its type, the place of its base before it, and what is compressed.
type Part<'a> = (u8, Option<usize>, Vec<u8>);

const BLOB: u8 = 3;
const OFFSET: u8 = 6;

/// Writes a pack, and an index of the first version that gives its entries these names.
fn pack(scratch: &Scratch, parts: &[Part<'_>], ids: &[Id]) -> bool {
    let mut data = [&b"PACK"[..], &2_u32.to_be_bytes(), &count(parts.len()).to_be_bytes()].concat();
    let mut offsets: Vec<usize> = Vec::new();
    for (kind, base, bytes) in parts {
        offsets.push(data.len());
        data.extend(header(*kind, bytes.len()));
        data.extend(base.map(|at| u8::try_from(data_distance(&offsets, at)).expect("near")));
        data.extend(deflated(bytes));
    }
    let checksum = seal(&mut data);
    let mut named: Vec<(&Id, &usize)> = ids.iter().zip(&offsets).collect();
    named.sort();
    let before =
        |first: u8| named.iter().filter(|(id, _)| id.as_bytes().first() <= Some(&first)).count();
    let mut index: Vec<u8> = (0..=255).flat_map(|at| count(before(at)).to_be_bytes()).collect();
    for (id, offset) in named {
        index.extend(count(*offset).to_be_bytes());
        index.extend(id.as_bytes());
    }
    index.extend(checksum.as_slice());
    seal(&mut index);
    let at = |ending: &str| scratch.path().join("pack").with_extension(ending);
    std::fs::write(at("pack"), data)
        .and_then(|()| std::fs::write(at("idx"), index))
        .expect("written");
    let name = (checksum.to_string(), Algorithm::Sha1);
    is_pack((&opened(&at("pack")), &opened(&at("idx"))), (&name.0, name.1), &Work::default())
}

fn count(number: usize) -> u32 {
    u32::try_from(number).expect("few")
}

fn data_distance(offsets: &[usize], base: usize) -> usize {
    offsets.last().expect("an entry") - offsets.get(base).expect("a base")
}

fn header(kind: u8, size: usize) -> Vec<u8> {
    let (mut bytes, mut size) =
        (vec![kind << 4 | u8::try_from(size & 15).expect("small")], size >> 4);
    while size > 0 {
        *bytes.last_mut().expect("one") |= 0x80;
        bytes.push(u8::try_from(size & 0x7f).expect("small"));
        size >>= 7;
    }
    bytes
}

fn seal(bytes: &mut Vec<u8>) -> gix_hash::ObjectId {
    let mut hash = gix_hash::hasher(gix_hash::Kind::Sha1);
    hash.update(bytes);
    let found = hash.try_finalize().expect("no collision");
    bytes.extend(found.as_slice());
    found
}

/// A delta of `hello\n` that takes all of it and puts this after it.
fn delta(after: &[u8]) -> Vec<u8> {
    let [length, size] = [after.len(), 6 + after.len()].map(|it| u8::try_from(it).expect("short"));
    [&[6, size, 0x90, 6, length], after].concat()
}

fn blob(bytes: &[u8]) -> Part<'_> {
    (BLOB, None, bytes.to_vec())
}

#[test]
fn pack_holds_what_its_index_says() {
    let scratch = Scratch::new();
    let (one, two) = (id(b"hello\n"), id(b"hello\nyou"));
    let (other, of_one) = (blob(b"howdy\n"), (OFFSET, Some(0), delta(b"you")));
    assert!(pack(&scratch, &[], &[]), "empty");
    assert!(pack(&scratch, &[blob(b"hello\n")], &[one]), "one");
    assert!(pack(&scratch, &[blob(b"hello\n"), of_one.clone()], &[one, two]), "a delta");
    let false_delta = (OFFSET, Some(0), delta(b"YOU"));
    for (what, parts, ids) in [
        ("other content", vec![other.clone()], vec![one]),
        ("one of two is other content", vec![blob(b"hello\nyou"), other.clone()], vec![two, one]),
        ("base of other content", vec![other, of_one.clone()], vec![one, two]),
        ("delta of other content", vec![blob(b"hello\n"), false_delta], vec![one, two]),
        ("base without a name", vec![blob(b"hello\n"), of_one.clone()], vec![one]),
        ("names changed", vec![blob(b"hello\n"), of_one.clone()], vec![two, one]),
        ("name twice", vec![blob(b"hello\n"), blob(b"hello\n")], vec![one, one]),
        ("another kind", vec![(1, None, b"hello\n".to_vec())], vec![one]),
        ("its own base", vec![(OFFSET, Some(0), delta(b"you"))], vec![two]),
        (
            "delta that ends early",
            vec![blob(b"hello\n"), (OFFSET, Some(0), vec![6, 9, 0x90])],
            vec![one, two],
        ),
        (
            "delta with more than it says",
            vec![blob(b"hello\n"), (OFFSET, Some(0), vec![6, 1, 0x90, 6])],
            vec![one, two],
        ),
        (
            "delta of a larger base",
            vec![blob(b"hello\n"), (OFFSET, Some(0), vec![7, 7, 0x90, 7])],
            vec![one, two],
        ),
    ] {
        assert!(!pack(&scratch, &parts, &ids), "{what}");
    }
}

#[test]
fn size_that_is_only_said_takes_no_memory() {
    let scratch = Scratch::new();
    let huge = [&[6, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x90, 6][..]].concat();
    let parts = [blob(b"hello\n"), (OFFSET, Some(0), huge)];
    assert!(!pack(&scratch, &parts, &[id(b"hello\n"), id(b"x")]));
}

/// Makes a repository with deltas.
fn repository(format: &str) -> Scratch {
    let scratch = Scratch::new();
    git(scratch.path(), &["init", "-q", "--object-format", format, "."]);
    for round in 0..20 {
        let lines: String = (0..400)
            .map(|line| format!("{} {line}\n", line * 7919 % 31 + line / (round + 1)))
            .collect();
        std::fs::write(scratch.path().join("file"), format!("{lines}{round}")).expect("written");
        git(scratch.path(), &["add", "."]);
        git(scratch.path(), &["commit", "-qm", "more"]);
    }
    scratch
}

fn packs(repository: &Path) -> Vec<PathBuf> {
    let list = std::fs::read_dir(repository.join("objects/pack")).expect("listed").flatten();
    let paths = list.map(|entry| entry.path());
    paths.filter(|path| path.extension() == Some("pack".as_ref())).collect()
}

fn is_sound(pack: &Path, algorithm: Algorithm) -> bool {
    let files = (&opened(pack), &opened(&pack.with_extension("idx")));
    let stem = pack.file_stem().and_then(|it| it.to_str()).expect("a name");
    let digits = stem.strip_prefix("pack-").expect("a pack");
    is_pack(files, (digits, algorithm), &Work::default())
}

#[test]
fn what_git_writes_is_sound() {
    for (format, algorithm) in [("sha1", Algorithm::Sha1), ("sha256", Algorithm::Sha256)] {
        let scratch = repository(format);
        let directory = scratch.path().join(".git");
        for first in std::fs::read_dir(directory.join("objects")).expect("listed").flatten() {
            let name = first.file_name().into_string().expect("text");
            let inner = std::fs::read_dir(first.path()).expect("listed").flatten();
            for rest in inner.filter(|_| name.len() == 2) {
                let digits = [&name, rest.file_name().to_str().expect("text")].concat();
                let id = Id::from_digits(digits.as_bytes()).expect("a name");
                assert!(is_loose(&opened(&rest.path()), &id, &Work::default()), "{digits}");
            }
        }
        for options in [&["repack", "-adfq"][..], &["-c", "pack.indexVersion=1", "repack", "-adfq"]]
        {
            git(scratch.path(), options);
            let packs = packs(&directory);
            assert!(packs.len() == 1 && is_sound(&packs[0], algorithm), "{format} {options:?}");
        }
    }
}

/// A fetch completes a pack with what its deltas are of, at its end.
#[test]
fn pack_that_a_fetch_completed_is_sound() {
    let (scratch, other) = (repository("sha1"), Scratch::new());
    let from = scratch.path().to_str().expect("text");
    git(other.path(), &["-c", "fetch.unpackLimit=1", "clone", "-q", "--no-local", from, "."]);
    let file = scratch.path().join("file");
    let text = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, format!("{text} and more")).expect("written");
    git(scratch.path(), &["commit", "-qam", "more"]);
    git(other.path(), &["-c", "fetch.unpackLimit=1", "fetch", "-q"]);
    let packs = packs(&other.path().join(".git"));
    assert_eq!(packs.len(), 2);
    assert!(packs.iter().all(|pack| is_sound(pack, Algorithm::Sha1)));
}

/// What git trusts is that each offset is right, so each byte of both files counts.
#[test]
fn no_byte_can_be_changed() {
    let scratch = repository("sha1");
    git(scratch.path(), &["repack", "-adfq"]);
    let pack = packs(&scratch.path().join(".git")).pop().expect("one");
    for path in [pack.with_extension("idx"), pack.clone()] {
        let sound = std::fs::read(&path).expect("read");
        std::fs::remove_file(&path).expect("removed");
        for at in (0..sound.len()).step_by(97) {
            let mut bytes = sound.clone();
            *bytes.get_mut(at).expect("a byte") ^= 4;
            std::fs::write(&path, bytes).expect("written");
            assert!(!is_sound(&pack, Algorithm::Sha1), "{at}");
        }
        std::fs::write(&path, sound).expect("written");
        assert!(is_sound(&pack, Algorithm::Sha1));
    }
}

/// It could be as long as somebody likes.
#[test]
fn pack_with_holes_is_none() {
    let scratch = repository("sha1");
    std::fs::write(scratch.path().join("zeros"), vec![0; 1 << 20]).expect("written");
    git(scratch.path(), &["add", "zeros"]);
    git(scratch.path(), &["commit", "-qm", "zeros"]);
    git(scratch.path(), &["-c", "pack.compression=0", "repack", "-adfqF"]);
    let pack = packs(&scratch.path().join(".git")).pop().expect("one");
    assert!(is_sound(&pack, Algorithm::Sha1));
    let bytes = std::fs::read(&pack).expect("read");
    std::fs::remove_file(&pack).expect("removed");
    let holey = std::fs::File::create(&pack).expect("made");
    holey.set_len(bytes.len() as u64).expect("a hole");
    for (at, chunk) in (0_u64..).step_by(4096).zip(bytes.chunks(4096)) {
        if chunk.iter().any(|byte| *byte != 0) {
            holey.write_all_at(chunk, at).expect("written");
        }
    }
    assert_eq!(std::fs::read(&pack).expect("read"), bytes);
    assert!(!is_sound(&pack, Algorithm::Sha1));
}
