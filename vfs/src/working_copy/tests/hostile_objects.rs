//! Objects that no repository may have, and packs that are none.

use super::super::error::ObjectFault;
use super::broken::left_out;
use super::*;
use crate::snapshot::NameFault;

/// Writes an object without a check, by plumbing.
pub(super) const MAKE: &str = "blob=$(echo x | git hash-object -w --stdin)\n\
    bin() { for h in $(echo $1 | sed 's/../0x& /g'); do printf \"\\\\$(printf %03o $h)\"; done; }\n\
    entry() { printf '%s ' $1; printf \"$2\"; printf '\\000'; bin $3; }\n\
    tree() { git hash-object -t tree --literally -w --stdin; }\n\
    raw() { git hash-object -t $1 --literally -w --stdin; }\n\
    who='t <t@example.invalid> 1700000000 +0000'\n\
    commit() { printf 'tree %s\\nauthor %s\\ncommitter %s\\n\\nx\\n' $1 \"$who\" \"$who\" | raw commit; }\n\
    head() { echo $1 > .git/HEAD; }\n";

/// Makes `HEAD` what a script says, and returns what comes of it.
fn fault(script: &str) -> CopyError {
    let world = World::small("echo 1 > top");
    world.run(&format!("{MAKE}{script}"));
    let before = world.host_files();
    let refused = world.capture().expect_err(script);
    assert_eq!(world.host_files(), before);
    refused
}

fn object_fault(script: &str) -> ObjectFault {
    match fault(script) {
        CopyError::Object { fault, .. } => fault,
        other => panic!("{script}: {other:?}"),
    }
}

/// Makes a tag what a script says; it does not land.
fn tag_fault(script: &str, expected: ObjectFault) {
    let why = left_out(script, ".git/refs/tags/x");
    assert!(why.ends_with(&expected.to_string()), "{script}: {why}");
}

#[test]
fn trees_with_names_that_lead_elsewhere_are_refused() {
    let faults = [
        ("..", NameFault::Dots),
        (".", NameFault::Dots),
        ("", NameFault::Empty),
        (".git", NameFault::DotGit),
        (".GiT", NameFault::DotGit),
        ("git~1", NameFault::DotGit),
        (".git\\342\\200\\214", NameFault::DotGit),
        ("a/b", NameFault::Slash),
    ];
    for (name, expected) in faults {
        for (mode, object) in
            [("100644", "$blob"), ("40000", "$(git write-tree)"), ("120000", "$blob")]
        {
            let script = format!("head $(commit $(entry {mode} '{name}' {object} | tree))");
            assert_eq!(object_fault(&script), ObjectFault::Name(expected), "{mode} {name}");
        }
    }
    let deep = "t=$(entry 100644 .. $blob | tree); i=0; while [ $i -lt 30 ]; do t=$(entry 40000 d $t | tree); i=$((i+1)); done; head $(commit $t)";
    assert_eq!(object_fault(deep), ObjectFault::Name(NameFault::Dots));
    // Only a tag leads there.
    tag_fault(
        "t=$(entry 100644 .. $blob | tree); echo $t > .git/refs/tags/x",
        ObjectFault::Name(NameFault::Dots),
    );
}

#[test]
fn trees_out_of_order_are_refused() {
    let trees = [
        ("entry 100644 b $blob; entry 100644 a $blob", ObjectFault::Format),
        ("entry 100644 a $blob; entry 100644 a $blob", ObjectFault::Twice),
        ("entry 40000 a $(git write-tree); entry 100644 a.c $blob", ObjectFault::Format),
        (
            "entry 100644 a $blob; entry 100644 a.c $blob; entry 40000 a $(git write-tree)",
            ObjectFault::Twice,
        ),
        ("printf '100644 a'", ObjectFault::Format),
        ("printf '100644 a\\000short'", ObjectFault::Format),
        ("entry 100600 a $blob", ObjectFault::Mode(0o100_600)),
        ("entry 0 a $blob", ObjectFault::Mode(0)),
        ("entry 10644 a $blob", ObjectFault::Mode(0o10_644)),
        ("entry 040000 a $(git write-tree)", ObjectFault::Format),
        ("entry 160000 a 0000000000000000000000000000000000000000", ObjectFault::Null),
        ("entry 100644 a 0000000000000000000000000000000000000000", ObjectFault::Null),
        ("entry 120000 .gitmodules $blob", ObjectFault::Link),
        ("entry 120000 .GITMODULES $blob", ObjectFault::Link),
    ];
    for (entries, expected) in trees {
        let script = format!("head $(commit $({{ {entries}; }} | tree))");
        assert_eq!(object_fault(&script), expected, "{entries}");
    }
}

#[test]
fn objects_of_another_kind_are_refused() {
    let scripts = [
        "head $(commit $blob)",
        "head $(commit $(git rev-parse HEAD))",
        "head $(commit $(entry 40000 d $blob | tree))",
        "head $(commit $(entry 100644 f $(entry 100644 g $blob | tree) | tree))",
        "head $blob",
        "head $(entry 100644 g $blob | tree)",
        "head $(printf 'tree %s\\nparent %s\\nauthor %s\\ncommitter %s\\n\\nx\\n' $(git write-tree) $blob \"$who\" \"$who\" | raw commit)",
        "git tag -a -m x v1; head $(git rev-parse v1)",
    ];
    for script in scripts {
        assert_eq!(object_fault(script), ObjectFault::Kind, "{script}");
    }
    let tag = "id=$(printf 'object %s\\ntype commit\\ntag x\\ntagger %s\\n\\nx\\n' $blob \"$who\" | raw tag); echo $id > .git/refs/tags/x";
    tag_fault(tag, ObjectFault::Kind);
}

#[test]
fn commits_and_tags_that_git_would_refuse_are_refused() {
    let commits = [
        "nothing",
        "tree $tree",
        "tree $tree\\nauthor $who\\n\\nx\\n",
        "tree $tree\\ncommitter $who\\nauthor $who\\n\\nx\\n",
        "author $who\\ntree $tree\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor $who\\nparent $head\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor $who\\nauthor $who\\ncommitter $who\\n\\nx\\n",
        "tree ${tree}0\\nauthor $who\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nparent 12\\nauthor $who\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t 1 +0000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t <t> x +0000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t <t> 01 +0000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t <t> 1 0000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t <t> 1 +000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t <t>1 +0000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t<t> 1 +0000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t <a<b> 1 +0000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor t <t> 99999999999999999999 +0000\\ncommitter $who\\n\\nx\\n",
        "tree $tree\\nauthor $who\\ncommitter $who\\nodd \\000 byte\\n\\nx\\n",
        "tree $tree\\nauthor $who\\ncommitter $who\\n\\nx\\000y\\n",
        "tree $tree\\nauthor $who\\ncommitter $who",
    ];
    for text in commits {
        let script = format!(
            "tree=$(git write-tree); head=$(git rev-parse HEAD); head $(printf \"{text}\" | raw commit)"
        );
        let found = object_fault(&script);
        assert_eq!(found, ObjectFault::Format, "{text}");
    }
    let tags = [
        "object $head\\n",
        "type commit\\nobject $head\\ntag x\\ntagger $who\\n\\nx\\n",
        "object $head\\ntype commit\\n\\nx\\n",
        "object $head\\ntype rubbish\\ntag x\\ntagger $who\\n\\nx\\n",
        "object $head\\ntype commit\\ntag x\\ntagger t\\n\\nx\\n",
        "object 12\\ntype commit\\ntag x\\ntagger $who\\n\\nx\\n",
    ];
    for text in tags {
        let script =
            format!("head=$(git rev-parse HEAD); printf \"{text}\" | raw tag > .git/refs/tags/x");
        tag_fault(&script, ObjectFault::Format);
    }
}

#[test]
fn what_git_accepts_is_accepted() {
    let scripts = [
        "head $(printf 'tree %s\\nauthor  <> 0 +0000\\ncommitter %s\\n\\n' $(git write-tree) \"$who\" | raw commit)",
        "head $(printf 'tree %s\\nauthor %s\\ncommitter %s\\nencoding latin1\\ngpgsig x\\n y\\n\\n\\344' $(git write-tree) \"$who\" \"$who\" | raw commit)",
        "head $(printf 'tree %s\\nauthor %s\\ncommitter %s\\n\\nx' $(git write-tree) \"$who\" \"$who\" | raw commit)",
        "head $(commit $(git mktree < /dev/null))",
        "head $(commit $(entry 100644 'b\\303\\377' $blob | tree))",
    ];
    for script in scripts {
        let world = World::small("echo 1 > top");
        world.run(&format!("{MAKE}{script}"));
        let captured = world.capture().expect(script);
        world.land(&captured);
    }
}

#[test]
fn missing_objects_are_named() {
    let none = "1234567890123456789012345678901234567890";
    let scripts = [
        format!("head {none}"),
        format!("head {none}{}", &none[..24]),
        format!("head $(commit {none})"),
        format!("head $(commit $(entry 100644 f {none} | tree))"),
        format!("head $(commit $(entry 40000 f {none} | tree))"),
    ];
    for script in scripts {
        let fault = fault(&script);
        assert!(matches!(fault, CopyError::Git(GitError::Missing { .. })), "{script}: {fault:?}");
    }
}

#[test]
fn damaged_objects_are_refused() {
    let begin = "echo x > top; git commit -qam second; o=.git/objects/$(git rev-parse HEAD | sed 's,..,&/,'); chmod u+w $o";
    for damage in [
        "echo rubbish > $o",
        "truncate -s 20 $o",
        "truncate -s 3G $o",
        "rm $o; cp .git/objects/$(git rev-parse HEAD:top | sed 's,..,&/,') $o",
    ] {
        let fault = fault(&format!(
            "{begin}; {}",
            damage.replace("$(git rev-parse HEAD:top", "$(echo x | git hash-object --stdin")
        ));
        let is_told =
            matches!(fault, CopyError::Git(GitError::Corrupt { .. } | GitError::Damaged { .. }));
        assert!(is_told, "{damage}: {fault:?}");
    }
    // As after a loss of power: a file without a byte is no object.
    let empty = fault(&format!("{begin}; : > $o"));
    assert!(matches!(empty, CopyError::Git(GitError::Missing { .. })), "{empty:?}");
    for odd in ["rm $o; mkfifo $o", "rm $o; ln -s /etc/hostname $o", "rm $o; ln -s loop $o"] {
        let fault = fault(&format!("{begin}; {odd}"));
        assert!(matches!(fault, CopyError::Git(_)), "{odd}: {fault:?}");
    }
}

#[test]
fn damaged_packs_are_refused() {
    let begin =
        "echo x > top; git commit -qam second; git repack -qad; cd .git/objects/pack; chmod u+w *";
    let damages = [
        "for p in *.idx; do echo rubbish > $p; done",
        "for p in *.pack; do truncate -s 40 $p; done",
        "for p in *.idx; do truncate -s 2G $p; done",
        "rm *.pack",
        "for p in *.pack; do rm $p; mkfifo $p; done",
        "for p in *.idx; do rm $p; mkfifo $p; done",
        "for p in *.idx; do rm $p; ln -s /dev/zero $p; done",
        "for p in *.pack; do printf 'zzzzzzzzzzzzzzzz' | dd of=$p bs=1 seek=20 conv=notrunc 2> /dev/null; done",
    ];
    for damage in damages {
        let world = World::small("echo 1 > top");
        world.run(&format!("{begin}; {damage}"));
        let told = match world.open_guest() {
            Err(_) => true,
            Ok(_) => matches!(world.capture(), Err(CopyError::Git(_))),
        };
        assert!(told, "{damage}");
    }
}

#[test]
fn objects_that_unfold_without_end_are_refused() {
    // Two of the same in each of forty levels, and nothing in the last.
    let bomb = "t=$(git mktree < /dev/null); i=0; while [ $i -lt 40 ]; do\n\
        t=$(printf '040000 tree %s\\ta\\n040000 tree %s\\tb\\n' $t $t | git mktree); i=$((i+1)); done; head $(commit $t)";
    assert!(matches!(fault(bomb), CopyError::TooMuch { .. }));
    // A path that nothing could open.
    let deep = "t=$(entry 100644 f $blob | tree); n=$(printf '%0250d' 0); i=0; while [ $i -lt 20 ]; do\n\
        t=$(printf '040000 tree %s\\t%s\\n' $t $n | git mktree); i=$((i+1)); done; head $(commit $t)";
    assert!(matches!(fault(deep), CopyError::TooMuch { .. }));
}
