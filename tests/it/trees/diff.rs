//! `endow diff` of copy-on-write mounts of trees: what waits, and what has landed.

use serde_json::Value;

use super::cas::{cas, put};
use super::git::repository;
use crate::harness::{Said, World, project, said};

/// Every kind of change, in the repository of these tests.
const EDITS: &str = "set -e; echo more >>file; printf 'c\\0d' >dir/binary; chmod 755 dir/long
    ln -sfn elsewhere dangling; mv dir/deep/f7 dir/moved; rm dir/link; echo text >dir/link
    printf z >\"$(printf 'odd\\n\\377 name')\"; mkdir n; echo n >n/new";
const NAMES: &str = "M\tdangling\nM\tdir/binary\nD\tdir/deep/f7\nT\tdir/link\nM\tdir/long\n\
    A\tdir/moved\nM\tfile\nA\tn/new\nM\t\"odd\\n\\377 name\"\n";

fn endow(world: &World, arguments: &[&str]) -> Said {
    said(&mut world.endow(arguments))
}

/// Runs a script in a working copy, whose result waits.
fn waiting(world: &World, script: &str) -> Said {
    let options = ["run", "--workspace", "none", "--chdir", "/work", "--git", "/work=HEAD,cow"];
    world.run(&[&options[..], &["--sync", "review"]].concat(), script)
}

fn text(world: &World, script: &str) -> String {
    world.bare(script).ok().trim_end().to_owned()
}

#[test]
fn patch_of_a_working_copy_makes_the_tree_that_lands() {
    for options in ["", "--object-format=sha256"] {
        let world = repository(options);
        waiting(&world, EDITS).ok();
        assert_eq!(endow(&world, &["diff", "--name-status"]).ok(), NAMES, "{options}");
        let patch = endow(&world, &["diff"]).ok().to_owned();
        world.write("home/patch", &patch);
        endow(&world, &["apply"]).ok();
        assert_eq!(endow(&world, &["diff"]).ok(), patch, "landed");
        assert_eq!(endow(&world, &["diff", "--name-status"]).ok(), NAMES, "landed");
        let made = "set -e; git clone -q . ../clone; cd ../clone; git apply --index ../patch; git write-tree";
        let landed = "git rev-parse $(git for-each-ref --format='%(refname)' refs/endow)^{tree}";
        assert_eq!(text(&world, made), text(&world, landed), "{options}");
        endow(&world, &["undo"]).ok();
        endow(&world, &["diff"]).fails(2);
        assert_eq!(text(&world, "ls ../../state/runs/*/shown 2>/dev/null || true"), "");
    }
}

#[test]
fn changes_of_a_working_copy_are_counted_and_chosen() {
    let world = repository("");
    waiting(&world, EDITS).ok();
    let stat = endow(&world, &["diff", "--stat"]).ok().to_owned();
    assert!(stat.contains(" dir/binary       | Bin 3 -> 3 bytes\n"), "{stat}");
    assert!(stat.contains(" 9 files changed"), "{stat}");
    assert_eq!(endow(&world, &["diff", "--exit-code"]).code, 1);
    let below = |path: &str| endow(&world, &["diff", "--name-status", path]);
    let expected = "D\tdir/deep/f7\n";
    // By the place in the sandbox, and by that in the repository.
    assert_eq!(below("/work/dir/deep").ok(), expected);
    assert_eq!(below("dir/deep").ok(), expected);
    assert_eq!(below("/work").ok(), NAMES);
    below("/work/dir/run").fails(2);
    below("/elsewhere").fails(2);
    let json = endow(&world, &["diff", "--json", "--patch", "/work/file"]).ok().to_owned();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["changes"].as_array().map(Vec::len), Some(1), "{json:#}");
    let change = &json["changes"][0];
    assert_eq!((&change["path"], &change["status"]), (&"/work/file".into(), &"M".into()));
    assert_eq!((&change["old"]["size"], &change["new"]["size"]), (&4.into(), &9.into()));
    assert!(change["patch"].as_str().expect("a patch").ends_with("@@ -1 +1,2 @@\n new\n+more\n"));
}

/// Commits that the command made itself count as well.
#[test]
fn commits_inside_are_shown_with_what_follows_them() {
    let world = repository("");
    let who = super::git::WHO;
    let script = format!("set -e; echo 1 >a; git add a; git {who} commit -qm a; echo 2 >b");
    waiting(&world, &script).ok();
    assert_eq!(endow(&world, &["diff", "--name-status"]).ok(), "A\ta\nA\tb\n");
}

#[test]
fn what_is_in_no_commit_is_named() {
    let world = repository("");
    waiting(&world, "echo '*.o' >.gitignore; echo o >a.o; mkfifo pipe").fails(121);
    let said = endow(&world, &["diff", "-v"]);
    let shown = said.ok();
    assert!(shown.contains("# pipe: left out, "), "{shown}");
    assert!(shown.ends_with("# a.o: left out, git ignores it\n"), "{shown}");
    assert!(said.stderr.contains("/work: 1 in no commit"), "{}", said.stderr);
    let json = endow(&world, &["diff", "--json"]).ok().to_owned();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["trees"][0]["ignored"], serde_json::json!(["a.o"]));
    assert_eq!(json["trees"][0]["refused"][0]["path"], "pipe");
}

#[test]
fn large_contents_are_named_only() {
    let world = repository("");
    waiting(&world, "truncate -s 65M large").ok();
    let stat = endow(&world, &["diff", "--stat"]).ok().to_owned();
    assert!(stat.starts_with(" large | Bin 0 -> 68157440 bytes\n"), "{stat}");
    assert!(endow(&world, &["diff"]).ok().len() < 1000);
}

/// The versions are read from the repository: it is told when they are not there any more.
#[test]
fn objects_that_were_collected_can_not_be_shown() {
    let world = repository("");
    waiting(&world, "echo 1 >a").ok();
    endow(&world, &["apply"]).ok();
    let forget = "git update-ref -d $(git for-each-ref --format='%(refname)' refs/endow)\n\
        git reflog expire --expire=now --all; git gc -q --prune=now";
    world.bare(forget).ok();
    let said = endow(&world, &["diff"]);
    assert!(said.fails(125).contains("is missing"), "{}", said.stderr);
}

#[test]
fn changes_of_a_tree_by_digest_are_shown() {
    let world = project();
    let digest = put(&world, ".");
    world.bare("cp -a . ../plain").ok();
    let script = "set -e; echo new >new; echo more >>file; chmod 755 file; rm dir/inner; mkdir void
        rm -r dir/sub; ln -s ../x dir/sub; rm link; mkdir link; echo y >link/y; mv new dir/moved
        printf 'a\\0b' >binary; printf q >\"$(printf 'a\\nb')\"";
    let at = format!("/t={digest},cow");
    let options = ["run", "--name", "try", "--cas", &at, "--chdir", "/t", "--sync", "review"];
    world.run(&options, script).ok();
    let names = endow(&world, &["diff", "--name-status", "try"]).ok().to_owned();
    for line in
        ["A\t\"a\\nb\"", "A\tbinary", "D\tdir/inner", "A\tdir/moved", "T\tdir/sub", "M\tfile"]
    {
        assert!(names.lines().any(|it| it == line), "{line}: {names}");
    }
    assert!(names.contains("T\tlink/\nA\tlink/y\nA\tvoid/\n"), "{names}");
    let patch = endow(&world, &["diff", "try"]).ok().to_owned();
    assert!(patch.contains("old mode 100644\nnew mode 100755\n"), "{patch}");
    assert!(patch.contains("# void: directory made\n"), "{patch}");
    world.write("home/patch", &patch);
    let applied = endow(&world, &["apply", "try", "--json"]).ok().to_owned();
    let applied: Value = serde_json::from_str(&applied).expect("JSON");
    let tip = applied["sync"]["digest"].as_str().expect("a digest");
    assert_eq!(endow(&world, &["diff", "try"]).ok(), patch, "landed");
    assert_eq!(
        endow(&world, &["diff", "--name-status", "try", "/t/dir/inner"]).ok(),
        "D\tdir/inner\n"
    );
    // What the patch makes of the old tree is the new one, but for an empty directory.
    world.bare("cd ../plain && git apply ../patch && mkdir void").ok();
    assert_eq!(put(&world, "../plain"), tip);
    endow(&world, &["undo", "try"]).ok();
    endow(&world, &["diff", "try"]).fails(2);
    cas(&world, &["verify"]).ok();
}
