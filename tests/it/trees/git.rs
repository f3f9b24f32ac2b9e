//! `--git`: a tree of a repository at any revision, read-only.

use std::fs;

use crate::harness::{Said, World, said};

pub(super) const WHO: &str = "-c user.name=t -c user.email=t@example.com";

/// Makes a repository with two commits; the second has every kind of entry.
pub(super) fn repository(options: &str) -> World {
    let world = World::new();
    let script = format!(
        r#"set -e; git init -q -b main {options} .
        echo old >file; git add .; git {WHO} commit -qm first
        echo new >file; mkdir -p dir/deep void; printf 'a\0b' >dir/binary; : >dir/deep/empty
        echo '#!/bin/sh' >dir/run; echo 'echo ran' >>dir/run; chmod 755 dir/run
        ln -s ../file dir/link; ln -s /etc/shadow dir/out; ln -s nowhere dangling
        printf x >"$(printf 'odd\n\377 name')"; printf y >' '; seq 1 200 >dir/long
        for i in $(seq 1 40); do echo $i >dir/deep/f$i; done
        git add .; git {WHO} commit -qm second; git {WHO} tag -am tagged v1 HEAD"#
    );
    world.bare(&script).ok();
    world
}

/// Every path of the view with kind, mode and bytes, and what git says of the tree, in one form.
const INSIDE: &str = r#"cd /ref && find . -mindepth 1 -print0 | LC_ALL=C sort -z | while IFS= read -r -d '' p; do
    if [ -L "$p" ]; then printf '120000 '; readlink -nz "$p"; git hash-object --stdin </dev/null >/dev/null
    elif [ -d "$p" ]; then printf 'd'; elif [ -x "$p" ]; then stat -c %a "$p"; printf '100755 '; sha256sum <"$p"
    else stat -c %a "$p"; printf '100644 '; sha256sum <"$p"; fi; printf '%s\0' "${p#./}"; done | sha256sum"#;
/// Returns what [`INSIDE`] says of a checkout that git made.
fn outside(world: &World, rev: &str) -> String {
    let script = format!(
        "set -e; d=$(mktemp -d); git -c tar.umask=022 archive {rev} | tar -x -C $d; cd $d; umask 022; {}",
        INSIDE.replace("cd /ref && ", "")
    );
    world.command("bash").args(["-c", &script]).output().map(|it| text(&it.stdout)).expect("bash")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn shown(world: &World, options: &[&str]) -> Said {
    let mut arguments = vec!["run"];
    arguments.extend(options);
    arguments.extend(["--", "bash", "-c", INSIDE]);
    said(&mut world.endow(arguments))
}

#[test]
fn every_path_is_as_git_has_it() {
    for options in ["", "--object-format=sha256"] {
        let world = repository(options);
        let loose = shown(&world, &["--git", "/ref=HEAD"]).ok().to_owned();
        assert_eq!(loose, outside(&world, "HEAD"), "{options}");
        world.bare("git gc -q --prune=now").ok();
        forget_cache(&world);
        assert_eq!(shown(&world, &["--git", "/ref=HEAD"]).ok(), loose, "packed");
    }
}

/// Removes the cache, whose trees are closed to their owner.
fn forget_cache(world: &World) {
    world.bare("chmod -R u+rwx ../../cache && rm -rf ../../cache").ok();
}

#[test]
fn revisions_are_those_of_git() {
    let world = repository("");
    let tree = world.bare("git rev-parse HEAD~1^{tree}").ok().trim().to_owned();
    let rows = [
        ("HEAD~1", "old\n"),
        ("HEAD", "new\n"),
        ("main", "new\n"),
        ("v1", "new\n"),
        ("v1^{tree}", "new\n"),
        ("refs/heads/main~", "old\n"),
        (tree.as_str(), "old\n"),
        (&tree[..12], "old\n"),
    ];
    for (rev, expected) in rows {
        let said = world.run(&["run", "--git", &format!("/ref={rev}")], "cat /ref/file");
        assert_eq!(said.ok(), expected, "{rev}");
    }
    assert_eq!(world.run(&["run", "--git", "/d=HEAD:dir"], "cat /d/deep/f7").ok(), "7\n");
}

#[test]
fn repository_is_as_it_was_and_its_branch_may_move() {
    let world = repository("");
    let state = "find .git -type f | LC_ALL=C sort | xargs sha256sum; git status --porcelain=v2";
    let before = world.bare(state).ok().to_owned();
    let script = "cat /ref/file; read go; cat /ref/file";
    let mut command = world.endow(["run", "--git", "/ref=main", "--", "sh", "-c", script]);
    let mut running = crate::harness::Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("new");
    assert_eq!(world.bare(state).ok(), before);
    world.bare(&format!("echo newer >file; git {WHO} commit -qam third")).ok();
    running.say("\n");
    running.expect("new");
    assert_eq!(running.end(), 0);
}

#[test]
fn report_tells_what_a_name_led_to() {
    let world = repository("");
    let (commit, tree) =
        (world.bare("git rev-parse HEAD"), world.bare("git rev-parse HEAD^{tree}"));
    let report = world.root().join("report.json");
    let options = ["run", "--git", "/ref=main", "--report", report.to_str().expect("text")];
    world.run(&options, "true").ok();
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(report).expect("a report")).expect("json");
    let mounts = report["mounts"].as_array().expect("mounts");
    let mount = mounts.iter().find(|it| it["at"] == "/ref").expect("the mount");
    assert_eq!(mount["kind"], "git");
    assert_eq!(mount["access"], "ro");
    assert_eq!(mount["resolved"]["commit"], commit.ok().trim());
    assert_eq!(mount["resolved"]["tree"], format!("git-sha1:{}", tree.ok().trim()));
}

#[test]
fn tree_is_read_only_and_other_mounts_stand_in_it() {
    let world = repository("");
    let options = ["run", "--git", "/ref=HEAD", "--tmp", "/ref/dir/out", "--tmp", "/ref/file2"];
    let script =
        "for f in /ref/file /ref/new /ref/dir/run; do echo x 2>/dev/null >$f && echo wrote; done
        rm -f /ref/file 2>/dev/null || echo kept; chmod 600 /ref/file 2>/dev/null || echo bits
        echo y >/ref/dir/out/y && cat /ref/dir/out/y && /ref/dir/run && ls /ref/dir";
    let said = world.run(&options, script);
    let expected = "kept\nbits\ny\nran\nbinary\ndeep\nlink\nlong\nout\nrun\n";
    assert_eq!(said.stdout, expected, "{}", said.stderr);
}

#[test]
fn what_is_no_tree_ends_the_start() {
    let world = repository("");
    let rows = [
        ("/ref=nowhere", "nowhere"),
        ("/ref=HEAD:file", "HEAD:file"),
        ("/ref=--upload-pack=x", "--upload-pack=x"),
        ("/ref=../../../..@HEAD", "repository"),
        ("/ref=/nonexistent@HEAD", "/nonexistent"),
    ];
    for (value, named) in rows {
        let said = world.run(&["run", "--git", value], "echo started");
        let told = said.fails(125);
        assert!(told.contains(named) && !said.stdout.contains("started"), "{value}: {told}");
    }
    let optional = ["run", "--git", "/ref=/nonexistent@HEAD,optional"];
    assert_eq!(world.run(&optional, "ls -d /ref 2>/dev/null || echo absent").ok(), "absent\n");
    world.assert_no_run_left();
}

#[test]
fn linked_work_tree_and_bare_repository_are_read() {
    let world = repository("");
    world.bare("git worktree add -q ../linked v1 && git clone -q --bare . ../bare.git").ok();
    let linked = world.home().join("linked");
    for source in [linked, world.home().join("bare.git")] {
        let value = format!("/ref={}@HEAD", source.display());
        assert_eq!(world.run(&["run", "--git", &value], "cat /ref/file").ok(), "new\n");
    }
}

#[test]
fn borrowed_objects_are_read() {
    let world = repository("");
    world.bare("git clone -q --shared . ../shared").ok();
    let value = format!("/ref={}@HEAD~1", world.home().join("shared").display());
    assert_eq!(world.run(&["run", "--git", &value], "cat /ref/file").ok(), "old\n");
}

#[test]
fn plan_changes_nothing_and_says_what_would_be_made() {
    let world = repository("");
    let plan =
        || said(&mut world.endow(["plan", "--git", "/ref=HEAD", "--", "true"])).ok().to_owned();
    let first = plan();
    assert!(first.contains("make tree"), "{first}");
    assert!(
        !world.root().join("cache/trees").exists()
            && !world.root().join("cache/revisions").exists()
    );
    world.run(&["run", "--git", "/ref=HEAD"], "true").ok();
    let second = plan();
    assert!(!second.contains("make tree") && second.contains("tree "), "{second}");
}

#[test]
fn mask_of_the_caller_takes_no_bits_from_a_tree() {
    let world = repository("");
    let script =
        "umask 077; exec \"$0\" run --git /ref=HEAD -- stat -c %a /ref /ref/file /ref/dir/run";
    let said = said(world.command("sh").args(["-c", script]).arg(crate::harness::endow()));
    assert_eq!(said.ok(), "755\n644\n755\n");
}
