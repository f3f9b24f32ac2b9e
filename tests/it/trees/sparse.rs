//! `--git ...,sparse=`: what git's sparse checkout has, of a tree at any revision.

use super::git::repository;
use crate::harness::{World, said};

/// Every path below the current directory.
const LIST: &str =
    "find . -mindepth 1 -not -path './.git*' -print0 | LC_ALL=C sort -z | tr '\\0\\n' '\\n?'";

/// What git checks out with the same patterns.
fn checked_out(world: &World, patterns: &[&str]) -> String {
    let script = format!(
        "set -e; d=$(mktemp -d); git clone -q --no-checkout . $d; cd $d
        printf '%s\\n' {} | git sparse-checkout set --no-cone --skip-checks --stdin
        git checkout -q main; {LIST}",
        patterns.iter().map(|it| format!("'{it}' ")).collect::<String>()
    );
    world.bare(&script).ok().to_owned()
}

fn flag(patterns: &[&str]) -> String {
    patterns.iter().fold("/ref=HEAD".to_owned(), |flag, it| format!("{flag},sparse={it}"))
}

#[test]
fn mount_shows_what_git_checks_out() {
    let world = repository("");
    let whole = checked_out(&world, &["/*"]);
    for patterns in [
        &["dir/", "!dir/deep/", "f3*"][..],
        &["/*", "!/dir/"],
        &["!file", "**/deep/**/f?"],
        &["link", " *", "odd*"],
        &["/*"],
    ] {
        let expected = checked_out(&world, patterns);
        let shown = world.run(&["run", "--git", &flag(patterns)], &format!("cd /ref; {LIST}"));
        assert_eq!(shown.ok(), expected, "{patterns:?}");
        assert_eq!(expected == whole, patterns == ["/*"], "{patterns:?}: {expected}");
    }
    // Bytes and modes are those of the whole tree.
    let said = world.run(&["run", "--git", &flag(&["dir/"])], "/ref/dir/run; wc -l </ref/dir/long");
    assert_eq!(said.ok(), "ran\n200\n");
}

#[test]
fn policy_names_patterns_and_the_report_tells_them_apart() {
    let world = repository("");
    let policy = r#"version = 1
        [mounts]
        "/one" = { git = ".", rev = "HEAD", sparse = ["dir/", "!dir/deep/"] }
        "/two" = { git = ".", rev = "HEAD", sparse = ["file"] }
        "/all" = { git = ".", rev = "HEAD" }"#;
    let policy = world.write("policy.toml", policy);
    let report = world.root().join("report.json");
    let (policy, path) = (policy.to_str().expect("text"), report.to_str().expect("text"));
    let options = ["run", "-p", policy, "--report", path];
    let said = world.run(&options, "ls /two; ls -d /one/*; ls /all/dir/deep/f7");
    let expected = "file\n/one/dir\n/all/dir/deep/f7\n";
    assert_eq!(said.ok(), expected);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("json");
    let tree = |at: &str| {
        let mounts = report["mounts"].as_array().expect("mounts");
        let mount = mounts.iter().find(|it| it["at"] == at).expect("the mount");
        mount["resolved"]["tree"].as_str().expect("a tree").to_owned()
    };
    let [one, two, all] = ["/one", "/two", "/all"].map(tree);
    assert!(one.starts_with(&format!("{all}/sparse:")) && two.starts_with(&all) && one != two);
}

#[test]
fn trees_of_other_patterns_are_made_anew_and_those_of_the_same_found() {
    let world = repository("");
    let plan = |flag: &str| {
        let said = said(&mut world.endow(["plan", "--git", flag, "--", "true"])).ok().to_owned();
        let line = said.lines().find(|line| line.contains("trees/v1")).expect("a tree");
        (line.contains("make tree"), line.contains(" on "))
    };
    let part = "/ref=HEAD,sparse=/*,sparse=!file";
    world.run(&["run", "--git", part], "test ! -e /ref/file").ok();
    assert_eq!(plan(part), (false, false), "found again");
    assert_eq!(plan("/ref=HEAD,sparse=!file,sparse=/*"), (true, false), "the order counts");
    // Most of the tree is in the cache, but nothing says what is not.
    assert_eq!(plan("/ref=HEAD"), (true, false));
    assert_eq!(plan("/ref=HEAD~1,sparse=/*,sparse=!file"), (true, false));
    world.run(&["run", "--git", "/ref=HEAD"], "cat /ref/file").ok();
    // The control: a commit close by stands on the whole tree, a part of it does not.
    world.bare(&format!("echo x >new; git add new; git {} commit -qm third", super::git::WHO)).ok();
    assert_eq!(plan("/ref=HEAD"), (true, true));
    assert_eq!(plan(part), (true, false));
}

#[test]
fn working_copy_needs_the_whole_tree() {
    let world = repository("");
    let refused = world.run(&["run", "--git", "/w=HEAD,cow,sparse=dir/"], "true");
    let told = refused.fails(125);
    assert!(told.contains("`sparse` and `cow` exclude each other"), "{told}");
    assert!(told.contains("a working copy needs the whole tree"), "{told}");
    let policy = "version = 1\n[mounts]\n\"/w\" = { git = \".\", rev = \"HEAD\", \
        access = \"cow\", sparse = [\"dir/\"] }\n";
    let policy = world.write("policy.toml", policy);
    let refused = world.run(&["run", "-p", policy.to_str().expect("text")], "true");
    let told = refused.fails(120);
    assert!(told.contains("a working copy needs the whole tree"), "{told}");
}

#[test]
fn patterns_that_mean_nothing_are_refused() {
    let world = repository("");
    let rows = [
        ("/r=HEAD,sparse=!dir/", "no pattern selects a path"),
        ("/r=HEAD,sparse=/", "the pattern names nothing"),
        ("/r=HEAD,sparse=#x", "the pattern is a comment"),
        ("/r=HEAD,sparse=x ", "the pattern ends in a space"),
    ];
    for (flag, expected) in rows {
        let refused = world.run(&["run", "--git", flag], "true");
        let told = refused.fails(125);
        assert!(told.contains(expected) && told.contains("hint:"), "{flag}: {told}");
    }
}
