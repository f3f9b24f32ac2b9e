//! What commands of the store leave behind, and who reads what others wrote.

use std::fs;

use super::cas::{cas, put};
use crate::harness::{World, debian_program, project, said};

#[test]
fn directory_is_made_whole_or_not_at_all() {
    let world = project();
    let digest = put(&world, ".");
    let blob = put(&world, "dir/sub/deep");
    let digits = &blob["sha256:".len()..][..64];
    let object = format!("../../cache/cas/objects/{}/{}", &digits[..2], &digits[2..]);
    world.bare(&format!("chmod +w {object}; echo evil >{object}")).ok();
    world.bare("mkdir made").ok();
    let said = cas(&world, &["get", &digest, "made/copy"]);
    assert!(said.fails(125).contains("damaged"), "{}", said.stderr);
    assert_eq!(world.bare("ls -A made").ok(), "");
    cas(&world, &["get", &format!("sha256:{digits}/4"), "made/copy"]).fails(2);
    assert_eq!(world.bare("ls -A made").ok(), "");
    world.bare("echo kept >made/copy").ok();
    cas(&world, &["get", &digest, "made/copy"]).fails(2);
    assert_eq!(world.bare("cat made/copy").ok(), "kept\n");
}

#[test]
fn what_is_imported_is_named() {
    let world = project();
    let (tree, file) = (put(&world, "."), put(&world, "file"));
    world.bare("mv ../../cache/cas ../theirs").ok();
    let told = cas(&world, &["import", "../theirs", &tree, &file]).ok().to_owned();
    assert!(told.contains(&format!("{tree}\tdirectory\n{file}\tfile\n")), "{told}");
    assert_eq!(cas(&world, &["cat", &tree, "dir/sub/deep"]).ok(), "deep\n");
    // A directory that is none: what names it is not taken for a tree without it.
    let text = put(&world, "dir/inner");
    let digits = &text["sha256:".len()..][..64];
    let script = format!(
        "printf '\\022\\111\\012\\001d\\022\\104\\012\\100{digits}\\020\\006' >message; cat message | wc -c"
    );
    assert_eq!(world.bare(&script).ok().trim(), "75");
    let root = put(&world, "message");
    world.bare("rm -r ../theirs; mv ../../cache/cas ../theirs").ok();
    let said = cas(&world, &["import", "../theirs", &root]);
    assert!(said.fails(125).contains(&text), "{}", said.stderr);
}

/// Which calls of a command opened a content before the process was confined, and whether it was.
fn opened_before(world: &World, arguments: &[&str], content: &str) -> (bool, bool) {
    let strace = debian_program("strace").expect("asked for before");
    let log = world.root().join("calls");
    let mut command = world.command(strace);
    command.args(["-f", "-qq", "-e", "trace=openat,openat2,landlock_restrict_self", "-o"]);
    command.arg(&log).arg(crate::harness::endow()).args(arguments);
    drop(said(&mut command));
    let log = fs::read_to_string(log).expect("the calls");
    let (before, after) = log.split_once("landlock_restrict_self").expect("it is confined");
    (before.contains(content), after.contains(content))
}

#[test]
fn messages_are_read_by_a_confined_process() {
    if debian_program("strace").is_none() {
        return;
    }
    let world = project();
    let digest = put(&world, ".");
    // The directory below the root: of the root it is asked whether it is there.
    let listed = cas(&world, &["ls", "--json", &digest]);
    assert!(listed.ok().contains("dir"));
    let inner = put(&world, "dir");
    let content = &inner["sha256:".len() + 2..][..62];
    cas(&world, &["retain", "mine", &digest]).ok();
    world.bare("cp -r ../../cache/cas ../theirs").ok();
    let rows: [&[&str]; 5] = [
        &["cas", "ls", "-r", &digest],
        &["cas", "cat", &digest, "file"],
        &["cas", "get", &digest, "copy"],
        &["cas", "gc", "--max-size", "0"],
        &["cas", "import", "../theirs", &digest],
    ];
    for arguments in rows {
        assert_eq!(opened_before(&world, arguments, content), (false, true), "{arguments:?}");
    }
}
