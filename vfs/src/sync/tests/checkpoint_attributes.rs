//! Checkpoints of live trees: attributes and ACLs of directories.

use super::super::checkpoint::{Left, Limits};
use super::super::testing::*;
use super::checkpoint::{check_tree, forget, left, live, recorded, settled, settled_by, told};
use crate::fs::faulty::{FaultyFs, Lack};
use crate::fs::{Errno, OsFs};

/// Sets and removes attributes: `put PATH NAME VALUE`, `drop PATH NAME`, `acl PATH access|default` (acl(5)).
const TOOLS: &str = r#"
    py() { python3 -c "import os, struct, sys; a = sys.argv; $1" "$2" "$3" "$4"; }
    put() { py 'os.setxattr(a[1], a[2], a[3].encode())' "$1" "$2" "$3"; }
    drop() { py 'os.removexattr(a[1], a[2])' "$1" "$2"; }
    acl() { py 'e = [(1, 7, -1), (2, 7, 12345), (4, 5, -1), (16, 7, -1), (32, 5, -1)]
all = b"".join(struct.pack("<HHi", *it) for it in e)
os.setxattr(a[1], "system.posix_acl_" + a[2], struct.pack("<I", 2) + all)' "$1" "$2"; }
"#;

fn script(text: &str) -> String {
    format!("{TOOLS}{text}")
}

/// Those of a directory, too: one that stays, one that goes, and the root.
#[test]
fn attributes_of_directories_change() {
    let tree = "mkdir -p stays goes/below plain; put stays user.o 1; put goes/below user.g 1
        put . user.r 1; acl stays access; acl goes default";
    let run = "drop stays user.o; put stays user.n 2; drop stays system.posix_acl_access
        chmod 700 stays; rm -r goes; put . user.r 2; acl plain default";
    let expected = ["m ", "D goes", "D goes/below", "m plain", "m stays"];
    check_tree(&script(tree), &script(run), &expected);
    check_tree(&script(tree), &script("put stays user.x 1; drop stays user.x"), &[]);
}

/// A list of before there were attributes in it tells of none, and none is taken away.
#[test]
fn attributes_that_nobody_recorded_stay() {
    let world = live(Where::Same, &script("mkdir d; put d user.o 1"));
    recorded(&world, &[], Limits::default());
    let list = world.run.path().join("checkpoint/list");
    let text = std::fs::read_to_string(&list).expect("a list");
    let entries = text.lines().filter(|line| !line.contains("user.o"));
    let entries: Vec<_> = entries.map(|line| line.replace(",\"user\":[]", "")).collect();
    assert_ne!(entries.join("\n"), text.trim_end(), "control");
    std::fs::write(&list, entries.join("\n") + "\n").expect("written");
    world.host(&script("put d user.n 1"));
    assert_eq!(told(&settled(&world, &[])), <[&str; 0]>::default());
}

/// What else changed can be taken back.
#[test]
fn attributes_that_the_state_can_not_keep_are_told() {
    for (attribute, mode) in
        [("put d user.large 1", "755"), ("acl d access; put d user.large 1", "705")]
    {
        let world = live(Where::Same, &script(&format!("mkdir -m 755 d; {attribute}; echo o > f")));
        recorded(&world, &[], Limits::default());
        world.host("rm -r d; echo n > f");
        let fs = FaultyFs::lacking(Lack::Attribute, Errno::NOSPC);
        let settled = settled_by(&fs, &world, Some(world.stamp_now()), &[]);
        assert_eq!(left(&settled.uncovered), [("d".to_owned(), Left::Attributes)], "{attribute}");
        forget(&world);
        world.undo(&OsFs).expect("undone");
        world.host(&format!("grep -qx o f; test $(stat -c %a d) = {mode}"));
    }
}
