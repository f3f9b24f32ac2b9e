//! Edits and git commands in any order.

use proptest::prelude::*;

use super::*;

/// One step of a command, as a line of shell. Steps that make no sense where they come fail, and
/// change nothing then.
fn step() -> impl Strategy<Value = String> {
    let path = "[abc](/[abc]){0,2}";
    let (one, two) = (path, path);
    prop_oneof![
        6 => (one, 0..4).prop_map(|(path, text)| {
            format!("rm -rf {path}; mkdir -p $(dirname {path}) && echo {text} > {path}")
        }),
        2 => one.prop_map(|path| format!("rm -rf {path}; mkdir -p {path}")),
        2 => (one, two).prop_map(|(path, to)| format!("rm -rf {path}; ln -s {to} {path}")),
        3 => one.prop_map(|path| format!("rm -rf {path}")),
        2 => (one, two).prop_map(|(from, to)| format!("mv -T {from} {to}")),
        1 => (one, "[+-]").prop_map(|(path, sign)| format!("test -h {path} || chmod {sign}x {path}/* {path}")),
        1 => (one, two).prop_map(|(from, to)| format!("cp -rT {from} {to}")),
    ]
}

fn patterns() -> impl Strategy<Value = String> {
    let pattern = prop::sample::select(vec![
        "a",
        "/a",
        "b/",
        "!b",
        "!b/",
        "*",
        "!*",
        "c*",
        "a/b",
        "/a/b/",
        "**/c",
        "a/**",
        "!a/b/c",
        "[ab]",
        "!/a",
        "?",
        "\\!x",
        "a/*",
        "!a/*",
        "b/**/c",
        "",
        "# a",
        "c ",
        "*/b",
        "/*",
        "!/*/",
        ".gitignore",
        "!.gitignore",
    ]);
    let place = prop::sample::select(vec![
        ".gitignore",
        "a/.gitignore",
        "a/b/.gitignore",
        "b/.gitignore",
        "c/.gitignore",
        ".git/info/exclude",
    ]);
    (place, prop::collection::vec(pattern, 0..4)).prop_map(|(place, patterns)| {
        format!("test -d $(dirname {place}) && printf '%s\\n' '{}' > {place}", patterns.join("' '"))
    })
}

fn of_git() -> impl Strategy<Value = String> {
    let path = "[abc](/[abc]){0,2}";
    prop_oneof![
        3 => path.prop_map(|path| format!("git add -f {path}")),
        2 => Just("git add -A".to_owned()),
        3 => Just("git add -A && git commit -qm more".to_owned()),
        1 => path.prop_map(|path| format!("git commit -qm some {path}")),
        1 => path.prop_map(|path| format!("git rm -rq --cached {path}")),
        1 => path.prop_map(|path| format!("git rm -rqf {path}")),
        1 => Just("git reset -q --soft HEAD~1".to_owned()),
        1 => Just("git reset -q HEAD~1".to_owned()),
        1 => Just("git reset -q --hard HEAD~1".to_owned()),
        1 => Just("git stash -q".to_owned()),
        1 => Just("git stash -q pop".to_owned()),
        1 => Just("git clean -qfdx".to_owned()),
        1 => Just("git checkout -q -b side || git checkout -q side".to_owned()),
        1 => Just("git checkout -q main".to_owned()),
        1 => Just("git gc -q".to_owned()),
    ]
}

fn script(steps: &[String]) -> String {
    steps.iter().map(|step| format!("({step}) 2> /dev/null || :\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_captured_is_what_git_would_commit(
        before in prop::collection::vec(prop_oneof![6 => step(), 1 => patterns()], 0..12),
        steps in prop::collection::vec(prop_oneof![6 => step(), 2 => patterns(), 3 => of_git()], 1..16),
    ) {
        let world = World::small(&format!("{}git add -f .", script(&before)));
        let (steps, expected) = (script(&steps), world.run_and_add(&script(&steps)));
        // Below a link to itself, git can't look, and keeps what it had: see `ignored`.
        prop_assume!(!world.said_by_add().contains("Too many levels of symbolic links"));
        world.check_is(&steps, &expected);
    }
}
