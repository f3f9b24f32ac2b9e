//! Trees and contents as git itself tells them.

use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// Fills a work tree with what a tree can hold.
fn fill(dir: &Path) {
    for number in 0..300 {
        let path = dir.join(format!("d{}/e{}/f{number}", number % 7, number % 3));
        write(&path, format!("{number}\n").repeat(number * 7));
    }
    for name in [b"new\nline".as_slice(), b"\xff\xfe", "gr\u{fc}n".as_bytes(), b"a b\t\"c\"", b"-x"]
    {
        write(&dir.join("odd").join(std::ffi::OsString::from_vec(name.to_vec())), name);
    }
    // The order of a tree: `x.c` stands between the file's and the directory's place of `x`.
    for name in ["x/in", "x.c", "x-y", "x0"] {
        write(&dir.join("order").join(name), name);
    }
    write(&dir.join("empty"), "");
    write(&dir.join("large"), (0..200_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    write(&dir.join("run"), "#!/bin/sh\n");
    std::fs::set_permissions(dir.join("run"), PermissionsExt::from_mode(0o755)).expect("a mode");
    symlink("../nowhere", dir.join("link")).expect("a link");
    symlink("x".repeat(4000), dir.join("long")).expect("a link");
    write(&dir.join("deep/".repeat(60)).join("file"), "deep");
}

/// Asks git for the same that [`contents`] tells.
fn told_by_git(dir: &Path, rev: &str) -> Whole {
    let list = bytes_of_git(dir, &["ls-tree", "-r", "-t", "-z", rev], b"");
    let lines = list.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.map(parts).collect();
    let ids: String = lines.iter().map(|(_, id, _)| format!("{id}\n")).collect();
    let all = bytes_of_git(dir, &["cat-file", "--batch"], ids.as_bytes());
    let (mut rest, mut whole) = (all.as_slice(), Whole::new());
    for (mode, _, path) in lines {
        let end = rest.iter().position(|byte| *byte == b'\n').expect("a line");
        let head = std::str::from_utf8(&rest[..end]).expect("a text");
        let size: usize = head.rsplit(' ').next().expect("a size").parse().expect("a number");
        let content = rest[end + 1..end + 1 + size].to_vec();
        rest = &rest[end + 2 + size..];
        let (kind, content) = match mode {
            "040000" => ("tree", Vec::new()),
            "100644" => ("file", content),
            "100755" => ("executable", content),
            "120000" => ("link", content),
            mode => panic!("mode {mode}"),
        };
        whole.insert(path.to_vec(), (kind.to_owned(), content));
    }
    whole
}

/// Mode, id and path of a line of `git ls-tree`.
fn parts(line: &[u8]) -> (&str, &str, &[u8]) {
    let tab = line.iter().position(|byte| *byte == b'\t').expect("a tab");
    let head = std::str::from_utf8(&line[..tab]).expect("a text");
    (&head[..6], head.rsplit(' ').next().expect("an id"), &line[tab + 1..])
}

fn check(format: &str) {
    let scratch = Scratch::new();
    let dir = scratch.path();
    let object_format = format!("--object-format={format}");
    git(dir, &["init", "-q", "-b", "main", &object_format]);
    fill(dir);
    commit(dir, "one");
    let expected = told_by_git(dir, "HEAD");
    assert!(expected.len() > 300);
    let before = open(dir);
    assert!(whole(&before, "HEAD") == expected, "loose objects");
    // Later versions of the same files become deltas.
    for round in 0..5 {
        write(&dir.join("d1/e1/f100"), format!("{round}\n{}", "100\n".repeat(700)));
        commit(dir, "more");
    }
    git(dir, &["repack", "-q", "-ad", "--depth=50", "--window=50"]);
    git(dir, &["prune-packed"]);
    let after = open(dir);
    assert_eq!(after.algorithm().to_string(), format);
    for rev in ["HEAD", "HEAD~3", "HEAD~5"] {
        assert!(whole(&after, rev) == told_by_git(dir, rev), "packed objects of {rev}");
    }
    assert!(whole(&before, "HEAD") == told_by_git(dir, "HEAD"), "after a collection");
}

#[test]
fn every_path_is_as_git_tells_it() {
    check("sha1");
}

#[test]
fn every_path_is_as_git_tells_it_with_long_ids() {
    check("sha256");
}

#[test]
fn several_threads_read_the_same_as_one() {
    let scratch = small();
    fill(scratch.path());
    commit(scratch.path(), "third");
    git(scratch.path(), &["repack", "-q", "-ad"]);
    let repository = open(scratch.path());
    let tree = repository.resolve("HEAD").expect("a tree").tree;
    let snapshot = repository.snapshot(&tree, &Options::default()).expect("a snapshot");
    let expected = contents(&repository, &snapshot);
    std::thread::scope(|scope| {
        let read = || contents(&repository, &snapshot);
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
        for thread in threads {
            assert!(thread.join().expect("no panic") == expected);
        }
    });
    let size: usize = expected.values().filter(|it| it.0 != "link").map(|it| it.1.len()).sum();
    assert_eq!(snapshot.bytes(), size as u64);
}
