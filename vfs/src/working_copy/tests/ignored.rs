//! What git ignores.

use std::time::{Duration, Instant};

use super::super::ignore::Patterns;
use super::*;

#[test]
fn ignored_files_are_left_out_and_told() {
    let world = World::small(
        "mkdir a build; echo '*.o' > .gitignore; printf '!keep.o\\n/only\\n' > a/.gitignore; echo 1 > top; echo x > build/k",
    );
    let captured = world.check(
        "echo x > x.o; echo x > a/x.o; echo x > a/keep.o; echo x > a/only; mkdir -p b/a; echo x > b/only; echo x > b/y.excluded\n\
         echo out/ >> .gitignore; mkdir -p out/deep; echo x > out/deep/file; echo x > b/out",
    );
    let expected = ["a/only", "a/x.o", "b/y.excluded", "out", "x.o"];
    let mut told = paths(&captured.ignored);
    told.sort_unstable();
    assert_eq!(told, expected);
}

#[test]
fn everything_is_taken_in_when_that_is_wanted() {
    let world = World::small("echo '*.o' > .gitignore");
    world.run("echo x > x.o; mkdir out; echo x > out/y.o; echo z > z.excluded");
    let captured = world.capture_with(Taken::All).expect("captured");
    world.land(&captured);
    assert_eq!(captured.ignored, Vec::<PathBuf>::new());
    assert_eq!(
        world.git(&["diff", "--name-only", "HEAD", "refs/endow/run"]),
        "out/y.o\nx.o\nz.excluded"
    );
}

#[test]
fn what_is_tracked_is_never_ignored() {
    let setup = "echo '*.o' > .gitignore; mkdir obj; echo 1 > in.o; echo 1 > obj/x.o; echo 2 > gone.o; git add -f .";
    let world = World::small(setup);
    let captured = world.check(
        "echo x > in.o; rm gone.o; echo y > obj/x.o; echo obj/ >> .gitignore; echo new > obj/new; echo z > new.o; git add -f new.o; echo zz > new.o; echo n > other.o",
    );
    assert_eq!(paths(&captured.ignored), ["other.o", "obj/new"]);
}

#[test]
fn file_below_a_link_that_nobody_can_follow_is_gone() {
    let world =
        World::small("mkdir -p a/b; echo 0 > a/b/c; echo 1 > x; echo a > .gitignore; git add -f .");
    let expected = world.run_and_add("rm -r a; ln -s a a");
    // Where the link leads to nothing, git has the file removed; here it gives up.
    assert!(world.said_by_add().contains("a/b/c: Too many levels of symbolic links"));
    let captured = world.capture().expect("captured");
    world.land(&captured);
    let tree = world.git(&["rev-parse", &format!("{}^{{tree}}", captured.tip)]);
    let differs = world.differences(&tree, &expected);
    assert!(differs.contains("D\ta/b/c\n") && differs.lines().count() == 2, "{differs}");
}

#[test]
fn patterns_of_the_tree_count_until_they_are_gone() {
    let setup = "mkdir -p a/b; echo '*.o' > a/.gitignore; echo 1 > a/b/one";
    World::small(setup).check("echo x > a/b/x.o");
    World::small(setup).check("echo x > a/b/x.o; rm a/.gitignore");
    World::small(setup).check("rm -r a; mkdir -p a/b; echo x > a/b/x.o");
    World::small(setup).check("rm a/.gitignore; ln -s /dev/zero a/.gitignore; echo x > a/b/x.o");
    World::small(setup).check("rm a/.gitignore; mkdir a/.gitignore; echo x > a/b/x.o");
    // The work tree's file counts, not that of HEAD.
    World::small(setup).check("rm a/.gitignore; git commit -qam gone; git checkout -q HEAD~1 a/.gitignore; git reset -q; echo x > a/b/x.o");
}

#[test]
fn large_file_of_patterns_is_none() {
    // 5 MB: more than counts, whether the tree has it or the command wrote it.
    let large = "yes '*.o' | head -c 5000000 > a/.gitignore";
    let world = World::small(&format!("mkdir a; {large}"));
    world.run("echo x > a/x.o");
    world.capture().expect("captured");
    let world = World::small("mkdir a; echo x > a/y");
    world.run(&format!("{large}; echo x > a/x.o"));
    world.capture().expect("captured");
}

fn is_left_out(patterns: &str, path: &str) -> Result<bool, CopyError> {
    let mut patterns = Patterns::new(patterns.as_bytes());
    patterns.leave_out(Path::new(path), false, &mut |_| Ok(None))
}

#[test]
fn patterns_can_not_take_forever() {
    let begin = Instant::now();
    let path = "a/".repeat(400) + "a";
    let name = "a".repeat(250);
    let hostile = [
        "**/a/".repeat(30) + "b",
        "**/".repeat(60) + "b",
        "a/**/".repeat(40) + "b",
        "**/*a*/".repeat(30) + "b",
        "*a".repeat(60) + "b",
        "*?".repeat(60) + "b",
        "?*[a-z]".repeat(60) + "b",
        "**".repeat(60) + "b",
        "[[:alpha:]]*".repeat(60) + "b",
    ];
    for pattern in &hostile {
        for path in [&path, &name] {
            let said = is_left_out(pattern, path);
            assert!(
                matches!(said, Ok(false) | Err(CopyError::TooMuch { .. })),
                "{pattern}: {said:?}"
            );
        }
    }
    // As many as anybody writes are no reason for a refusal.
    let many = "**/a/**/b
*.[oa]
!x?y/**/z
"
    .repeat(3000);
    assert!(!is_left_out(&many, "some/path/of/a/file").expect("decided"));
    assert!(is_left_out("**/a/**/b/**/c/**/d", "x/a/b/y/c/z/z/d").expect("decided"));
    assert!(begin.elapsed() < Duration::from_mins(1), "{:?}", begin.elapsed());
}
