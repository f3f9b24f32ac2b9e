//! `endow cas` and `--cas`: trees by their digest.

use std::fs;

use crate::harness::{Said, World, project, said};

pub(super) fn cas(world: &World, arguments: &[&str]) -> Said {
    said(&mut world.endow(["cas"].iter().chain(arguments)))
}

/// Puts a directory and returns the digest of its tree.
pub(super) fn put(world: &World, path: &str) -> String {
    let said = cas(world, &["put", path]);
    said.ok().split_whitespace().next().expect("a digest").to_owned()
}

/// The objects of the store.
fn objects(world: &World) -> Vec<std::path::PathBuf> {
    let found = world.bare("find ../../cache/cas/objects -type f");
    found.ok().lines().map(|line| world.project().join(line)).collect()
}

#[test]
fn tree_comes_back_as_it_was_put() {
    let world = project();
    world.bare("echo '#!/bin/sh' >dir/run; chmod 755 dir/run; mkdir void; printf x >\"$(printf 'o\\nd')\"").ok();
    let digest = put(&world, ".");
    assert_eq!(put(&world, "."), digest, "the same again");
    let list = "find . -mindepth 1 -printf '%P %y %l\\n' | LC_ALL=C sort; find . -type f -exec sha256sum {} + | sort
        find . -type f -perm -100";
    let outside = world.bare(list).ok().to_owned();
    let options = ["run", "--workspace", "none", "--cas", &format!("/t={digest}"), "--chdir", "/t"];
    assert_eq!(world.run(&options, list).ok(), outside);
    cas(&world, &["get", &digest, "../copy"]).ok();
    assert_eq!(world.bare(&format!("cd ../copy; {list}")).ok(), outside);
    cas(&world, &["get", &digest, "../copy"]).fails(2);
}

#[test]
fn parts_of_a_tree_are_listed_and_read() {
    let world = project();
    let digest = put(&world, ".");
    let listed = cas(&world, &["ls", &digest]);
    let names: Vec<_> = listed.ok().lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(names, ["dir/", "file", "link -> file"]);
    let listed = cas(&world, &["ls", "--recursive", &digest, "dir"]);
    let names: Vec<_> = listed.ok().lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(names, ["dir/inner", "dir/sub/", "dir/sub/deep"]);
    assert_eq!(cas(&world, &["cat", &digest, "dir/inner"]).ok(), "inner\n");
    let blob = put(&world, "file");
    assert!(blob.ends_with("/5"), "{blob}");
    assert_eq!(cas(&world, &["cat", &blob]).ok(), "host\n");
    cas(&world, &["cat", &digest, "nowhere"]).fails(2);
}

#[test]
fn absent_and_malformed_digests_end_the_start() {
    let world = project();
    let absent = format!("sha256:{}/7", "0".repeat(64));
    let said = world.run(&["run", "--cas", &format!("/t={absent}")], "echo started");
    assert!(
        said.fails(125).contains(&absent) && said.stderr.contains("endow cas put"),
        "{}",
        said.stderr
    );
    world.run(&["run", "--cas", "/t=sha256:00/7"], "true").fails(125);
    let optional = format!("/t={absent},optional");
    assert_eq!(
        world.run(&["run", "--cas", &optional], "ls -d /t 2>/dev/null || echo no").ok(),
        "no\n"
    );
}

#[test]
fn flipped_byte_is_refused_by_its_digest() {
    let world = project();
    let digest = put(&world, ".");
    for object in objects(&world) {
        let whole = fs::read(&object).expect("read");
        let mut bad = whole.clone();
        let Some(last) = bad.last_mut() else { continue };
        *last ^= 1;
        let write = |bytes: &[u8]| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            fs::set_permissions(&object, mode).expect("opened");
            fs::write(&object, bytes).expect("written");
        };
        write(&bad);
        let hex: String = object.iter().rev().take(1).map(|it| it.to_string_lossy()).collect();
        let said = world.run(&["run", "--cas", &format!("/t={digest}")], "echo started");
        assert!(said.fails(125).contains(&hex), "{hex}: {}", said.stderr);
        let verified = cas(&world, &["verify"]);
        assert!(verified.fails(1).contains(&hex), "{}", verified.stderr);
        // It is gone, so that what still has the content can put it again.
        assert_eq!(put(&world, "."), digest);
        assert_eq!(fs::read(&object).expect("there again"), whole);
    }
    world.run(&["run", "--cas", &format!("/t={digest}")], "cat /t/file").ok();
}

#[test]
fn sound_content_is_not_removed_for_a_wrong_question() {
    let world = project();
    let digest = put(&world, "file");
    let wrong = digest.replace("/5", "/4");
    cas(&world, &["verify", &wrong]).fails(2);
    assert_eq!(cas(&world, &["cat", &digest]).ok(), "host\n");
    cas(&world, &["verify", &digest]).ok();
}

#[test]
fn what_is_retained_stays() {
    let world = project();
    let kept = put(&world, "dir");
    let gone = put(&world, "file");
    cas(&world, &["retain", "mine", &kept]).ok();
    cas(&world, &["gc", "--max-size", "0"]).ok();
    assert_eq!(cas(&world, &["cat", &kept, "sub/deep"]).ok(), "deep\n");
    cas(&world, &["cat", &gone]).fails(2);
    cas(&world, &["release", "mine"]).ok();
    let again = cas(&world, &["release", "mine"]);
    again.ok();
    assert!(again.stderr.contains("nothing is kept by that name: mine"), "{}", again.stderr);
    cas(&world, &["gc", "--max-size", "0"]).ok();
    // That of nothing is always there.
    let left = objects(&world);
    assert!(left.len() == 1 && fs::read(&left[0]).expect("read").is_empty(), "{left:?}");
}

#[test]
fn what_has_no_place_in_a_tree_is_named() {
    let world = project();
    world.bare("mkfifo dir/pipe").ok();
    assert!(cas(&world, &["put", "."]).fails(2).contains("dir/pipe"));
    cas(&world, &["put", "nowhere"]).fails(2);
}
