//! Objects that are missing, damaged or moved while they are read.

use std::path::PathBuf;

use super::*;

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let list = std::fs::read_dir(dir.join(".git/objects/pack")).expect("a directory");
    let paths = list.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect()
}

fn loose(dir: &Path, id: &str) -> PathBuf {
    dir.join(".git/objects").join(&id[..2]).join(&id[2..])
}

/// Replaces a file that is read-only.
fn replace(path: &Path, content: &[u8]) {
    std::fs::remove_file(path).expect("removed");
    std::fs::write(path, content).expect("written");
}

/// Reads all of a revision, whatever goes wrong first.
fn read_all(dir: &Path, rev: &str) -> Result<Vec<Vec<u8>>, GitError> {
    let repository = Repository::open(dir)?;
    let tree = repository.resolve(rev)?.tree;
    let snapshot = repository.snapshot(&tree, &Options::default())?;
    let mut reader = repository.reader();
    let contents = snapshot.entries().iter().filter_map(|entry| match &entry.node {
        Node::File { content, .. } => Some(content),
        _ => None,
    });
    let mut all = Vec::new();
    for content in contents {
        let mut bytes = Vec::new();
        reader.read(content, &mut bytes)?;
        all.push(bytes);
    }
    Ok(all)
}

#[test]
fn missing_content_is_named() {
    let scratch = small();
    let blob = said(scratch.path(), &["rev-parse", "HEAD:top"]);
    std::fs::remove_file(loose(scratch.path(), &blob)).expect("removed");
    let missing = Err(GitError::Missing { id: id(&blob) });
    assert_eq!(read_all(scratch.path(), "HEAD"), missing);
    read_all(scratch.path(), "HEAD~1").expect("not in there");
    git(scratch.path(), &["config", "remote.origin.promisor", "true"]);
    let partial = Err(GitError::PartialClone { id: id(&blob), path: "top".into() });
    assert_eq!(read_all(scratch.path(), "HEAD"), partial);
}

#[test]
fn every_flipped_bit_of_a_loose_object_is_noticed() {
    let scratch = small();
    let dir = scratch.path();
    let expected = read_all(dir, "HEAD").expect("whole");
    for rev in ["HEAD", "HEAD^{tree}", "HEAD:top"] {
        let path = loose(dir, &said(dir, &["rev-parse", rev]));
        let bytes = std::fs::read(&path).expect("read");
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            replace(&path, &flipped);
            // Some bits say nothing, such as those of the window's size.
            match read_all(dir, "HEAD") {
                Ok(found) => assert_eq!(found, expected, "{rev} {at}"),
                Err(
                    GitError::Corrupt { .. }
                    | GitError::Kind { .. }
                    | GitError::ObjectSize { .. }
                    | GitError::Revision { .. },
                ) => {}
                Err(other) => panic!("{rev} {at}: {other:?}"),
            }
        }
        for length in 0..bytes.len() {
            replace(&path, &bytes[..length]);
            if let Ok(found) = read_all(dir, "HEAD") {
                assert_eq!(found, expected, "{rev} cut to {length}");
            }
        }
        replace(&path, &bytes);
    }
}

#[test]
fn object_under_the_name_of_another_is_noticed() {
    let scratch = small();
    let dir = scratch.path();
    let [one, other] = ["HEAD:top", "HEAD:a/b/file"].map(|rev| said(dir, &["rev-parse", rev]));
    let bytes = std::fs::read(loose(dir, &other)).expect("read");
    replace(&loose(dir, &one), &bytes);
    assert_eq!(read_all(dir, "HEAD"), Err(GitError::Corrupt { id: id(&one) }));
}

#[test]
fn size_that_a_header_lies_about_is_noticed_before_it_is_allocated() {
    let scratch = small();
    let dir = scratch.path();
    // Stored, not deflated: a zlib stream with one block.
    let stored = |text: &[u8]| {
        let length = u16::try_from(text.len()).expect("short").to_le_bytes();
        let [low, high] = length;
        [&[0x78, 0x01, 1, low, high, !low, !high], text, &[0; 4]].concat()
    };
    let blob = said(dir, &["rev-parse", "HEAD:top"]);
    for size in ["1073741825", "18446744073709551615", "99999999999999999999999", "-1", "+5"] {
        replace(&loose(dir, &blob), &stored(format!("blob {size}\0x").as_bytes()));
        let found = read_all(dir, "HEAD").expect_err("a lie");
        let is_told = matches!(
            found,
            GitError::ObjectSize { .. } | GitError::Corrupt { .. } | GitError::Snapshot(_)
        );
        assert!(is_told, "{size}: {found:?}");
    }
}

#[test]
fn flipped_byte_of_a_pack_is_noticed() {
    let scratch = small();
    let dir = scratch.path();
    for round in 0..4 {
        write(&dir.join("top"), format!("{round}\n{}", "three\n".repeat(100)));
        commit(dir, "more");
    }
    git(dir, &["repack", "-q", "-ad"]);
    let expected = read_all(dir, "HEAD~2").expect("whole");
    for extension in ["pack", "idx"] {
        let path = files(dir, extension).pop().expect("a pack");
        let bytes = std::fs::read(&path).expect("read");
        for at in (0..bytes.len()).step_by(if extension == "idx" { 3 } else { 1 }) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x55;
            replace(&path, &flipped);
            if let Ok(found) = read_all(dir, "HEAD~2") {
                assert_eq!(found, expected, "{extension} {at}");
            }
        }
        replace(&path, &bytes);
    }
}

#[test]
fn truncated_pack_is_an_error() {
    let scratch = small();
    let dir = scratch.path();
    git(dir, &["repack", "-q", "-ad"]);
    for extension in ["pack", "idx"] {
        let path = files(dir, extension).pop().expect("a pack");
        let bytes = std::fs::read(&path).expect("read");
        for length in [0, 3, 11, 12, 40, bytes.len() / 2] {
            replace(&path, &bytes[..length]);
            let found = read_all(dir, "HEAD").expect_err("an error");
            let is_told = matches!(found, GitError::Damaged { .. } | GitError::Corrupt { .. });
            assert!(is_told, "{extension} of {length}: {found:?}");
        }
        replace(&path, &bytes);
    }
    read_all(dir, "HEAD").expect("the control");
}

#[test]
fn collection_on_the_host_is_no_error() {
    let scratch = small();
    let dir = scratch.path();
    for number in 0..50 {
        write(&dir.join(format!("f{number}")), format!("{number}\n").repeat(50));
    }
    commit(dir, "many");
    let expected = read_all(dir, "HEAD").expect("whole");
    let repository = open(dir);
    let tree = repository.resolve("HEAD").expect("a tree").tree;
    let snapshot = repository.snapshot(&tree, &Options::default()).expect("a snapshot");
    let mut reader = repository.reader();
    let mut found = Vec::new();
    let files = snapshot.entries().iter().filter_map(|entry| match &entry.node {
        Node::File { content, .. } => Some(content),
        _ => None,
    });
    for (number, content) in files.enumerate() {
        match number {
            10 | 30 => {
                // The pack from before is gone then, under its name too.
                write(&dir.join("more"), number.to_string());
                commit(dir, "more");
                git(dir, &["repack", "-q", "-ad"]);
                git(dir, &["prune-packed"]);
            }
            20 => drop(git(dir, &["gc", "-q", "--aggressive", "--prune=now"])),
            _ => {}
        }
        let mut bytes = Vec::new();
        reader.read(content, &mut bytes).expect("a content");
        found.push(bytes);
    }
    assert_eq!(found, expected);
    assert!(read_all(dir, "HEAD~2").expect("whole") == expected);
}
