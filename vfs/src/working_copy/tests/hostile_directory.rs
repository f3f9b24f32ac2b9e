//! A git directory and a work tree that a command left on purpose as nobody should.

use std::time::{Duration, Instant};

use super::*;

const SOME: &str = "mkdir a; echo 1 > top; echo 2 > a/one";

/// What stands in the commit that is captured after a script, against that of the start.
fn captured(script: &str) -> (World, Captured) {
    let world = World::small(SOME);
    world.run(script);
    let captured = world.capture().expect(script);
    world.land(&captured);
    (world, captured)
}

#[test]
fn heads_that_say_nothing_are_that_of_the_start() {
    let heads = [
        "rm .git/HEAD",
        ": > .git/HEAD",
        "echo rubbish > .git/HEAD",
        "echo 'ref: ../../host/.git/HEAD' > .git/HEAD",
        "echo 'ref: refs/heads/../../x' > .git/HEAD",
        "echo 'ref: refs/heads/none' > .git/HEAD",
        "echo 'ref: config' > .git/HEAD",
        "echo 'ref: HEAD' > .git/HEAD",
        "printf 'ref: \\377\\376' > .git/HEAD",
        "yes | head -c 100000 > .git/HEAD",
        "truncate -s 1T .git/HEAD",
        "rm .git/HEAD; mkfifo .git/HEAD",
        "rm .git/HEAD; mkdir .git/HEAD",
        "rm .git/HEAD; ln -s /etc/passwd .git/HEAD",
        "rm .git/HEAD; ln -s HEAD .git/HEAD",
        "echo 'ref: refs/heads/a' > .git/HEAD; echo 'ref: refs/heads/b' > .git/refs/heads/a; echo 'ref: refs/heads/a' > .git/refs/heads/b",
    ];
    for head in heads {
        let (world, captured) = captured(&format!("echo x > top; {head}"));
        assert!(captured.is_made, "{head}");
        assert_eq!(world.git(&["rev-parse", "refs/endow/run~1"]), world.base.to_string(), "{head}");
    }
}

#[test]
fn references_with_odd_names_are_none() {
    let (_, captured) = captured(
        "echo x > top; git commit -qam second; id=$(git rev-parse HEAD~1); new=$(git commit-tree -m n $(git write-tree))\n\
         cd .git/refs/heads; for n in 'a b' 'a..b' '-x' 'x.lock' '.x' '@{' 'c*' \"$(printf 'n\\nl')\" \"$(printf '\\377')\"; do echo $new > \"$n\"; done\n\
         cd ..; echo $new > toplevel; mkdir -p heads/deep/er; echo $new > heads/deep/er/one; cd ..\n\
         printf '%s refs/../x\\n%s refs/heads/pack ed\\n%s HEAD\\n%s refs/heads/packed\\nrubbish\\n' $new $new $new $new >> packed-refs",
    );
    let names: Vec<&str> = captured.references.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["refs/heads/-x", "refs/heads/deep/er/one", "refs/heads/packed", "refs/toplevel"]
    );
}

#[test]
fn links_among_the_references_lead_nowhere() {
    let begin = Instant::now();
    let (_, captured) = captured(
        "echo x > top; cd .git/refs; ln -s . a; ln -s . b; ln -s .. c; ln -s heads d; ln -s . heads/e",
    );
    assert_eq!(captured.references, BTreeMap::new());
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    let world = World::small(SOME);
    world.run("echo x > top; ln -s /etc .git/refs/out; ln -s /etc/passwd .git/refs/heads/file; mkfifo .git/refs/fifo");
    let before = world.host_files();
    if let Ok(captured) = world.capture() {
        assert_eq!(captured.references, BTreeMap::new());
    }
    assert_eq!(world.host_files(), before);
}

#[test]
fn index_that_is_none_tracks_nothing() {
    let indexes = [
        "rm .git/index",
        "echo rubbish > .git/index",
        "truncate -s 200M .git/index",
        "truncate -s 1T .git/index",
        "rm .git/index; mkfifo .git/index",
        "rm .git/index; mkdir .git/index",
        "rm .git/index; ln -s /dev/zero .git/index",
        "git update-index --split-index",
        "printf 'DIRC\\000\\000\\000\\002\\377\\377\\377\\377' > .git/index",
    ];
    for index in indexes {
        let (world, captured) = captured(&format!(
            "echo x > top; echo x > a/x.excluded; git add -f a/x.excluded; {index}"
        ));
        assert_eq!(paths(&captured.ignored), ["a/x.excluded"], "{index}");
        assert_eq!(
            world.git(&["diff", "--name-status", "HEAD", "refs/endow/run"]),
            "M\ttop",
            "{index}"
        );
    }
}

#[test]
fn own_patterns_that_are_none_exclude_nothing() {
    let excludes = [
        "rm -r .git/info",
        "rm .git/info/exclude; mkfifo .git/info/exclude",
        "rm -r .git/info; ln -s /etc .git/info; rm -f x",
        "rm .git/info/exclude; ln -s /dev/zero .git/info/exclude",
        "truncate -s 1T .git/info/exclude",
    ];
    for exclude in excludes {
        let (world, captured) = captured(&format!("echo x > a/x.excluded; {exclude}"));
        assert_eq!(captured.ignored, Vec::<PathBuf>::new(), "{exclude}");
        assert_eq!(
            world.git(&["diff", "--name-status", "HEAD", "refs/endow/run"]),
            "A\ta/x.excluded"
        );
    }
}

#[test]
fn git_directories_that_lead_elsewhere_are_refused() {
    let world = World::small(SOME);
    let host = world.path().join("host/.git");
    let scripts = [
        format!("mv .git ../gone; echo 'gitdir: {}' > .git", host.display()),
        format!("mv .git ../gone2; ln -s {} .git", host.display()),
    ];
    for script in &scripts {
        let world = World::small(SOME);
        world.run(&format!("echo x > top; {script}"));
        world.open_guest().expect_err(script);
        // Then the start counts, and what stands under that name is no part of the tree.
        let captured = world.capture_without_guest();
        world.land(&captured);
        assert_eq!(world.git(&["diff", "--name-status", "HEAD", "refs/endow/run"]), "M\ttop");
    }
    for script in [
        "rm -r .git/objects; ln -s /tmp .git/objects",
        "rm -r .git/objects",
        "rm -r .git/objects; mkfifo .git/objects",
    ] {
        let world = World::small(SOME);
        world.run(script);
        world.open_guest().expect_err(script);
    }
}

#[test]
fn alternates_of_the_command_are_not_followed() {
    let world = World::small(SOME);
    let script = "git init -q ../other; cd ../other; echo secret > f; git add f; git commit -qm x; git rev-parse HEAD";
    let other = world.run(script);
    let alternates = "echo $PWD/../other/.git/objects > .git/objects/info/alternates";
    world.run(&format!("{alternates}; echo {} > .git/HEAD", other.trim_end()));
    let refused = world.capture().expect_err("another repository's");
    assert!(matches!(refused, CopyError::Git(GitError::Missing { .. })), "{refused:?}");
    // By a link to an object or a pack it is no better.
    let linked = "rm -r .git/objects/pack; ln -s ../../../other/.git/objects/pack .git/objects/pack; (cd ../other; git repack -qad)";
    world.run(linked);
    if world.open_guest().is_ok() {
        world.capture().expect_err("outside");
    }
}

#[test]
fn deep_and_wide_work_trees_end() {
    let begin = Instant::now();
    let deep = "echo x > top; i=0; while [ $i -lt 30 ]; do d=d$d; i=$((i+1)); done; i=0\n\
        while [ $i -lt 300 ]; do mkdir $d; echo x > f; cd -P $d 2> /dev/null || break; i=$((i+1)); done";
    let (world, captured) = captured(deep);
    assert_eq!(captured.refused.len(), 1);
    let longest = captured.changes.iter().map(|it| it.path.as_os_str().len()).max();
    assert!(longest.is_some_and(|longest| (2900..3073).contains(&longest)), "{longest:?}");
    let tree = world.git(&["rev-parse", "refs/endow/run^{tree}"]).parse().expect("an id");
    world
        .repository
        .snapshot(&tree, &crate::git_tree::Options::default())
        .expect("it can be shown");
    assert!(begin.elapsed() < Duration::from_mins(1), "{:?}", begin.elapsed());
}

#[test]
fn files_larger_than_any_object_are_refused() {
    let (world, captured) = captured("truncate -s 1T huge; echo x > top");
    assert_eq!(refused(&captured), ["huge"]);
    assert_eq!(world.git(&["diff", "--name-status", "HEAD", "refs/endow/run"]), "M\ttop");
}

#[test]
fn many_patterns_for_many_files_are_refused_in_time() {
    let world = World::small(SOME);
    world.run("mkdir m; i=0; while [ $i -lt 300 ]; do : > m/$i; i=$((i+1)); done; yes '**/a/**/b/**/c/**/d/**/e/**/f/**/g/**/h' | head -c 4000000 > .gitignore");
    let begin = Instant::now();
    let refused = world.capture().expect_err("too many");
    assert!(matches!(refused, CopyError::TooMuch { .. }), "{refused:?}");
    assert!(begin.elapsed() < Duration::from_secs(100), "{:?}", begin.elapsed());
}

#[test]
fn what_the_kernel_keeps_of_a_layer_is_no_part_of_it() {
    // Attributes that a command sets by the names of the overlay's are other ones in the layer.
    let (world, _) =
        captured("setfattr -n user.overlay.opaque -v y a 2> /dev/null || :; echo x > a/two");
    assert_eq!(world.git(&["diff", "--name-status", "HEAD", "refs/endow/run"]), "A\ta/two");
}
