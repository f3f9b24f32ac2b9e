//! Runs that go on from the changes of another, which stay where they are.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::harness::{Said, World, said};

const CHANGE: &str = "set -e; echo guest >>file; rm gone; rm -r old; mkdir old; echo x >old/new
    mv dir moved; ln -s file link; echo 1 >one; ln one two; truncate -s 1M hole; chmod 600 mode
    mkfifo pipe; touch -d @1500000000 time";
const MORE: &str = "set -e; echo more >>file; echo more >>old/new; echo 2 >>two; rm link pipe
    mv moved again; rm again/sub/deep; echo back >gone";

fn project() -> World {
    let world = World::new();
    let script =
        "mkdir -p dir/sub old/deep; for it in file gone dir/sub/deep dir/inner old/deep/x mode time
        do echo host >$it; done; find . -exec touch -h -d @1400000000 '{}' +";
    world.bare(script).ok();
    world
}

fn review(world: &World, name: &str, options: &[&str], script: &str) -> Said {
    world.run(&[&["run", "--sync", "review", "--name", name], options].concat(), script)
}

fn endow(world: &World, words: &[&str]) -> Said {
    said(&mut world.endow(words))
}

/// Names, kinds, modes, links, sizes and contents.
fn tree(world: &World) -> String {
    let script =
        "find . -printf '%P %y %m %n %l\\n' | sort; find . -type f | sort | xargs tail -n +1";
    world.bare(script).ok().to_owned()
}

#[test]
fn run_goes_on_where_another_ended() {
    let (world, bare) = (project(), project());
    review(&world, "one", &[], CHANGE).ok();
    let before = endow(&world, &["diff", "--patch", "one"]);
    let inside = review(&world, "two", &["--from", "one"], "cat file; ls; stat -c %h one");
    assert_eq!(
        inside.ok(),
        "host\nguest\nfile\nhole\nlink\nmode\nmoved\nold\none\npipe\ntime\ntwo\n2\n"
    );
    review(&world, "three", &["--from", "two"], MORE).ok();
    assert_eq!(
        endow(&world, &["diff", "--patch", "one"]).stdout,
        before.stdout,
        "it stays as it is"
    );
    bare.bare(CHANGE).ok();
    bare.bare(MORE).ok();
    endow(&world, &["apply", "three"]).ok();
    assert_eq!(tree(&world), tree(&bare));
    endow(&world, &["undo", "three"]).ok();
    assert_eq!(tree(&world), tree(&project()));
}

#[test]
fn changes_outside_count_from_the_first_start() {
    let world = project();
    review(&world, "one", &[], "echo guest >file").ok();
    fs::write(world.project().join("file"), "outside\n").expect("written");
    let said = world.run(&["run", "--from", "one"], "cat file; echo more >>file");
    assert_eq!((said.code, said.stdout.as_str()), (121, "guest\n"), "{}", said.stderr);
    assert_eq!(fs::read_to_string(world.project().join("file")).expect("there"), "outside\n");
}

#[test]
fn what_the_first_wrote_back_is_no_change_of_the_host() {
    let world = project();
    review(&world, "one", &[], "echo guest >file; echo guest >mode").ok();
    endow(&world, &["apply", "one", "file"]).ok();
    world.run(&["run", "--from", "one"], "cat file mode; echo more >>file").ok();
    assert_eq!(fs::read_to_string(world.project().join("file")).expect("there"), "guest\nmore\n");
    assert_eq!(fs::read_to_string(world.project().join("mode")).expect("there"), "guest\n");
}

#[test]
fn layers_are_apart() {
    let world = project();
    review(&world, "one", &[], "echo big >big; echo guest >>file").ok();
    review(&world, "two", &["--from", "one"], "echo two >>big").ok();
    endow(&world, &["discard", "one"]).ok();
    endow(&world, &["apply", "two"]).ok();
    let big = world.project().join("big");
    assert_eq!(fs::read_to_string(&big).expect("there"), "big\ntwo\n");
    assert_eq!(fs::metadata(big).expect("there").nlink(), 1);
}

#[test]
fn single_file_goes_on() {
    let world = project();
    let file = world.write("data/file", "host\n").display().to_string();
    review(&world, "one", &["--cow", &file], &format!("echo guest >>{file}")).ok();
    let script = format!("cat {file}; echo more >>{file}");
    let said = world.run(&["run", "--from", "one", "--cow", &file], &script);
    assert_eq!(said.ok(), "host\nguest\n");
    assert_eq!(fs::read_to_string(&file).expect("there"), "host\nguest\nmore\n");
}

#[test]
fn what_can_not_be_gone_on_from_is_named() {
    let world = project();
    let file = world.write("data/file", "host\n").display().to_string();
    review(&world, "one", &["--cow", &file], "echo guest >>file").ok();
    let elsewhere = world.run(&["run", "--from", "one"], "touch started");
    assert!(elsewhere.fails(125).contains("can't go on from run"), "{}", elsewhere.stderr);
    assert!(elsewhere.stderr.contains("this run does not mount it copy-on-write"));
    let live =
        world.run(&["run", "--from", "one", "--workspace", "rw", "--cow", &file], "touch started");
    assert!(live.fails(125).contains("this run does not mount it copy-on-write"));
    let nobody = world.run(&["run", "--from", "nobody"], "touch started");
    assert!(nobody.fails(125).contains("no such run"), "{}", nobody.stderr);
    endow(&world, &["discard", "one"]).ok();
    let gone = world.run(&["run", "--from", "one", "--cow", &file], "touch started");
    assert!(
        gone.fails(125).contains("can't go on from a run that is discarded"),
        "{}",
        gone.stderr
    );
    assert!(!world.project().join("started").exists());
}

/// A layer holds what its run saw, and stands above what is masked.
#[test]
fn names_that_are_hidden_now_must_have_been() {
    let world = project();
    review(&world, "one", &[], "echo more >>dir/inner").ok();
    for options in [&["--deny", "**/inner"][..], &["--no-default-deny"]] {
        let words = [&["run", "--from", "one"], options].concat();
        let said = world.run(&words, "cat dir/inner");
        assert!(said.fails(125).contains("other names were hidden from it"), "{}", said.stderr);
    }
    world.write("home/project/.env", "secret\n");
    let said = world.run(&["run", "--from", "one"], "cat dir/inner");
    assert!(said.fails(125).contains("a name in it is hidden that was not"), "{}", said.stderr);
}
