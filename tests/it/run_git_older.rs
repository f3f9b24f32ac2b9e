//! Repositories with trees that git writes no more (modes of `100664`, directories in which nothing is): what it makes of
//! them is sound, and stays.

use crate::harness::World;

const OLDER: &str = r#"
set -e
git init -q -b main .; git config user.name t; git config user.email t@example.com
blob=$(echo 1 | git hash-object -w --stdin); empty=$(git mktree </dev/null)
d=$(printf "100664 blob $blob\tf\n100644 blob $blob\tg\n040000 tree $empty\tempty\n" | git mktree)
root=$(printf "040000 tree $d\td\n100644 blob $blob\tt\n" | git mktree)
git update-ref refs/heads/main $(git commit-tree -m 1 $root)
git branch side; git reset -q --hard; echo 2 >t; git add t; git commit -qm 2; git reset -q --hard
"#;

/// Where the work tree and the repository stand.
const STANDS: &str = "git status --porcelain; git rev-parse HEAD HEAD^{tree}; git ls-files -s";

fn repository() -> World {
    let world = World::new();
    world.bare(OLDER).ok();
    world
}

#[test]
fn work_in_them_is_neither_held_nor_taken_away() {
    for script in [
        "echo 3 >d/f; git status -s; git add d/f; git commit -qm 3",
        "echo 3 >d/new; git add d/new",
        "echo 3 >t; git add t; git commit -qm 3; git status -s",
        "echo 3 >t; git stash -q; git stash pop -q",
        "git reset -q --hard HEAD~1",
        "git checkout -q side; git checkout -q main",
        "git checkout -q side; git merge -q main",
        "git rm -qr d; git commit -qm 3; git revert --no-edit HEAD >&2",
        "git gc -q; git reset -q --hard side",
    ] {
        for workspace in ["cow", "rw"] {
            let world = repository();
            let options = ["run", "--workspace", workspace, "--strict"];
            let ran = world.run(&options, &format!("set -e; {{ {script}; }} >&2; {STANDS}"));
            assert!(!ran.stderr.contains("held"), "{workspace} {script}: {}", ran.stderr);
            assert_eq!(world.bare(STANDS).ok(), ran.ok(), "{workspace} {script}");
        }
    }
}

/// Has the index name another content, and say of its directory what was right before.
const STALE: &str = r#"
import hashlib, subprocess
git = lambda *words, input=None: subprocess.run(["git", *words], input=input, capture_output=True, check=True).stdout.strip()
other = bytes.fromhex(git("hash-object", "-w", "--stdin", input=b"other\n").decode())
data = open(".git/index", "rb").read()[:-20]
at = data.index(bytes.fromhex(git("rev-parse", "HEAD:d/f").decode()))
data = data[:at] + other + data[at + 20:]
open(".git/index", "wb").write(data + hashlib.sha1(data).digest())
"#;

/// git would commit the old content, whatever is staged.
#[test]
fn what_was_right_does_not_hide_a_change() {
    let sets = format!("python3 -c '{STALE}'");
    let springs = "git add t; git commit -q --allow-empty -m 3
        test \"$(git rev-parse -q --verify HEAD:d/f)\" = \"$(git rev-parse -q --verify :d/f)\" || echo sprung";
    for workspace in [None, Some("cow"), Some("rw")] {
        let world = repository();
        match workspace {
            None => drop(world.bare(&sets).ok()),
            Some(it) => drop(world.run(&["run", "--workspace", it], &sets)),
        }
        let sprung = world.bare(springs).stdout.contains("sprung");
        assert_eq!(sprung, workspace.is_none(), "{workspace:?}");
    }
}
