//! References of the command that lead to nothing that can be taken over.

use super::super::error::ObjectFault;
use super::hostile_objects::MAKE;
use super::*;

/// A branch that lands, whatever the others are.
const GOOD: &str =
    "git checkout -q -b good; echo g > g; git add g; git commit -qm good; git checkout -q main\n";

/// Checks that a reference is left out and named, and that all else lands.
pub(super) fn left_out(script: &str, path: &str) -> String {
    let world = World::small("echo 1 > top");
    world.run(&format!("{GOOD}{MAKE}{script}\necho x > top"));
    let captured = world.capture().expect(script);
    assert_eq!(refused(&captured), [path], "{script}");
    let names: Vec<&str> = captured.references.keys().map(String::as_str).collect();
    assert_eq!(names, ["refs/heads/good"], "{script}");
    world.land(&captured);
    world.git(&["rev-list", "--objects", &captured.references["refs/heads/good"]]);
    world.git(&["diff", "--exit-code", &format!("{}^", captured.tip), "HEAD"]);
    captured.refused[0].why.clone()
}

#[test]
fn reference_that_names_nothing_is_left_out() {
    for script in [
        "echo rubbish > .git/refs/heads/bad",
        ": > .git/refs/heads/bad",
        "mkfifo .git/refs/heads/bad",
        "truncate -s 1M .git/refs/heads/bad",
        "echo 1234567890123456789012345678901234567890 > .git/refs/heads/bad",
        "ln -s /dev/zero .git/refs/heads/bad",
    ] {
        left_out(script, ".git/refs/heads/bad");
    }
    let fifo = "git rev-parse good > ../good; rm -f .git/packed-refs; mkfifo .git/packed-refs; cp ../good .git/refs/heads/good";
    left_out(fifo, ".git/packed-refs");
}

#[test]
fn nothing_of_a_broken_history_lands() {
    let scripts = [
        // On top of what is broken, two of what is not; the last of them on the good branch.
        "t=$(entry 100644 .. $blob | tree); c=$(commit $t); git checkout -q good; n=$(git commit-tree -p $c -p good -m x HEAD^{tree})\n\
         n=$(git commit-tree -p $n -m y HEAD^{tree}); git checkout -q main; echo $n > .git/refs/heads/bad",
        "git checkout -q -b bad; echo b > b; git add b; git commit -qm bad; echo c > c; git add c; git commit -qm more\n\
         rm -f .git/objects/$(git rev-parse HEAD:b | sed 's,..,&/,'); git checkout -qf main",
    ];
    for script in scripts {
        left_out(script, ".git/refs/heads/bad");
    }
}

#[test]
fn two_that_lead_to_one_broken_object_are_both_left_out() {
    let world = World::small("echo 1 > top");
    world.run(&format!(
        "{GOOD}{MAKE}c=$(commit $(entry 100644 .. $blob | tree)); for n in 1 2; do\n\
         git commit-tree -p $c -m $n HEAD^{{tree}} > .git/refs/heads/bad$n; done"
    ));
    let captured = world.capture().expect("captured");
    assert_eq!(refused(&captured), [".git/refs/heads/bad1", ".git/refs/heads/bad2"]);
    assert_eq!(captured.references.len(), 1);
    world.land(&captured);
}

/// It may unfold to much, and take long each time.
#[test]
fn damaged_object_is_read_once() {
    let world = World::small("echo 1 > top");
    world.run(
        "blob=$(echo x | git hash-object -w --stdin); bad=1234567890123456789012345678901234567890
        mkdir -p .git/objects/12
        cp .git/objects/$(echo $blob | sed 's,..,&/,') .git/objects/12/34567890123456789012345678901234567890
        for n in 1 2; do echo $bad > .git/refs/tags/bad$n; done",
    );
    let captured = world.capture().expect("captured");
    assert_eq!(refused(&captured), [".git/refs/tags/bad1", ".git/refs/tags/bad2"]);
    let [first, second] = [0, 1].map(|at| captured.refused[at].why.as_str());
    assert!(first.contains("is damaged"), "{first}");
    assert!(second.ends_with(&ObjectFault::Broken.to_string()), "{second}");
}

#[test]
fn index_of_a_pack_that_is_too_large_is_named() {
    let begin =
        "echo x > top; git commit -qam second; git repack -qad; cd .git/objects/pack; chmod u+w *";
    let fault = |size: &str| {
        let world = World::small("echo 1 > top");
        world.run(&format!("{begin}; truncate -s {size} *.idx"));
        world.capture().expect_err("no pack")
    };
    let told = fault("513M").to_string();
    assert!(told.ends_with("all packs together may have 536870912"), "{told}");
    assert!(matches!(fault("511M"), CopyError::Git(GitError::Damaged { .. })));
}
