//! `--git GUEST=TREEISH,cow`: a working copy whose changes become a commit of the repository.

use super::git::{WHO, repository};
use crate::harness::{Pty, Said, World};

/// What of a repository must stay as it is: every file but objects and the run's own references.
const STATE: &str = "find .git \\( -path .git/objects -o -path .git/refs/endow \\) -prune -o \
    -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; find . -path ./.git -prune -o -type f \
    -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; git --no-optional-locks status --porcelain";

fn changed(world: &World, options: &[&str], script: &str) -> Said {
    let mut all = vec!["run", "--workspace", "none", "--chdir", "/work", "--git", "/work=HEAD,cow"];
    all.extend(options);
    world.run(&all, script)
}

/// Runs a script that must leave the repository as it is but for the result.
fn landed(world: &World, options: &[&str], script: &str) -> String {
    let before = world.bare(STATE).ok().to_owned();
    let said = changed(world, options, script);
    said.ok();
    assert_eq!(world.bare(STATE).ok(), before, "the repository changed");
    world.bare("git fsck --full --strict 2>&1 | grep -v ^notice || true").ok();
    said.stdout
}

/// The references of runs, one a line.
fn references(world: &World) -> Vec<String> {
    let listed = world.bare("git for-each-ref --format='%(refname)' refs/endow");
    listed.ok().lines().map(str::to_owned).collect()
}

fn reference(world: &World) -> String {
    let all = references(world);
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().expect("one")
}

fn said(world: &World, script: &str) -> String {
    world.bare(script).ok().trim_end().to_owned()
}

#[test]
fn working_copy_is_a_checkout() {
    for options in ["", "--object-format=sha256"] {
        let world = repository(options);
        let script = "set -e; git status --porcelain; git log --format=%s; cat .git/HEAD
            git diff HEAD~1 --stat | tail -1; git rev-parse v1^{commit} HEAD; git fsck 2>&1
            git stash list; test -z \"$(git diff-files)\"";
        let inside = landed(&world, &[], script);
        let outside = said(&world, script);
        assert_eq!(inside.trim_end(), outside, "{options}");
        assert!(inside.contains("ref: refs/heads/main"), "{inside}");
        assert!(references(&world).is_empty(), "nothing was changed");
        world.assert_no_run_left();
    }
}

/// Commits stay as they were made, and what follows them is one more.
#[test]
fn commits_are_kept_and_edits_become_one() {
    for options in ["", "--object-format=sha256"] {
        let world = repository(options);
        let script = format!(
            "set -e; test \"$(cat /ref/file)\" = old; echo one >>file; mkdir n; echo n >n/new
            git add .; git {WHO} commit -qm inside; git rev-parse HEAD >&2
            echo two >>file; rm dir/long; ln -sfn elsewhere dir/link; chmod 644 dir/run"
        );
        let before = world.bare(STATE).ok().to_owned();
        let run = changed(&world, &["--git", "/ref=HEAD~1"], &script);
        run.ok();
        assert_eq!(world.bare(STATE).ok(), before);
        let inside = run.stderr.lines().next().expect("a commit").to_owned();
        let name = reference(&world);
        assert_eq!(said(&world, &format!("git rev-parse {name}~1")), inside);
        assert_eq!(said(&world, &format!("git rev-parse {name}~2 HEAD | uniq | wc -l")), "1");
        let changes = said(&world, &format!("git diff --name-status {name}~1 {name}"));
        assert_eq!(changes, "M\tdir/link\nD\tdir/long\nM\tdir/run\nM\tfile");
        let files = said(&world, &format!("git show {name}:file; git show {name}:n/new"));
        assert_eq!(files, "new\none\ntwo\nn");
        assert_eq!(said(&world, "git fsck --full --strict 2>&1"), "");
    }
}

/// Made of the same edits by git itself.
#[test]
fn result_is_the_tree_that_git_makes() {
    let world = repository("");
    let edits = "set -e; rm -rf dir/deep; echo x >dir/deep; rm file; mkdir file; echo y >file/in
        printf 'a\\n' >'new name'; chmod +x ' '; ln -s a b; mkdir empty; git mv dir/binary moved
        mkdir -p p/q/r; echo r >p/q/r/s; printf z >\"$(printf 'x\\nq\\377')\"; rm dangling";
    landed(&world, &[], edits);
    let name = reference(&world);
    let tree = said(&world, &format!("git rev-parse {name}^{{tree}}"));
    let made = format!("{edits}; git add -A; git write-tree");
    assert_eq!(said(&world, &made), tree);
}

#[test]
fn ignored_files_are_left_out_and_told() {
    let world = repository("");
    let report = world.root().join("report.json");
    let report = report.to_str().expect("text");
    let script = "set -e; printf '*.o\\n!keep.o\\nbuild/\\n' >.gitignore; echo o >a.o; echo k >keep.o
        mkdir -p build/x dir/sub; echo b >build/x/y; echo '*.tmp' >dir/.gitignore; echo t >dir/sub/a.tmp
        echo f >forced.o; git add -f forced.o; echo e >>.git/info/exclude; echo excluded >e";
    landed(&world, &["--report", report], script);
    let name = reference(&world);
    let paths = said(&world, &format!("git diff --name-only HEAD {name}"));
    assert_eq!(paths, ".gitignore\ndir/.gitignore\nforced.o\nkeep.o");
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("json");
    let tree = &report["trees"][0];
    assert_eq!(tree["ignored"], serde_json::json!(["a.o", "build", "e", "dir/sub/a.tmp"]));
    assert_eq!(tree["changed"], 4);
    assert_eq!(report["sync"]["ref"], serde_json::json!(name));
    assert_eq!(tree["references"][0]["new"], said(&world, &format!("git rev-parse {name}")));
}

#[test]
fn policy_names_author_and_takes_ignored_files() {
    let world = repository("");
    let policy = "version = 1\n[mounts]\n\"/work\" = { git = \".\", rev = \"HEAD\", access = \"cow\", \
        sync = \"branch:agent\", sync_ignored = true, author = \"A Gent <a@gent>\" }\n";
    let policy = world.write("policy.toml", policy);
    let options = ["run", "-p", policy.to_str().expect("text"), "--chdir", "/work"];
    world.run(&options, "echo '*.o' >.gitignore; echo o >a.o").ok();
    assert_eq!(said(&world, "git diff --name-only HEAD agent"), ".gitignore\na.o");
    assert_eq!(said(&world, "git log -1 --format='%an <%ae> %cn' agent"), "A Gent <a@gent> A Gent");
    assert!(references(&world).is_empty());
}

#[test]
fn branch_only_goes_forward() {
    let world = repository("");
    let to = |branch: &str, script: &str| {
        let mount = format!("/work=HEAD,cow,sync=branch:{branch}");
        world.run(&["run", "--workspace", "none", "--chdir", "/work", "--git", &mount], script)
    };
    to("next", "echo 1 >a").ok();
    let first = said(&world, "git rev-parse next");
    // It does not have what the branch has by now.
    let refused = to("next", "echo 2 >a");
    assert!(refused.fails(121).contains("branch next can't go forward"), "{}", refused.stderr);
    assert_eq!(said(&world, "git rev-parse next"), first);
    let kept = reference(&world);
    assert!(refused.stderr.contains(&kept), "{}", refused.stderr);
    assert_eq!(said(&world, &format!("git show {kept}:a")), "2");
    // It is tried again, as often as it is asked for.
    let apply = || crate::harness::said(&mut world.endow(["apply"]));
    assert!(apply().fails(121).contains("branch next can't go forward"));
    said(&world, "git branch -f next main");
    apply().ok();
    assert_eq!(said(&world, &format!("git rev-parse next {kept}~0 | uniq | wc -l")), "1");
    said(&world, &format!("git branch -f next {first}"));
    let mount = "/work=next,cow,sync=branch:next";
    let options = ["run", "--workspace", "none", "--chdir", "/work", "--git", mount];
    world.run(&options, "echo 3 >>a").ok();
    assert_eq!(said(&world, "git show next:a; git rev-parse next~1"), format!("1\n3\n{first}"));
    // What is checked out would seem changed.
    assert!(to("main", "echo 1 >a").fails(125).contains("branch main is checked out"));
}

/// Takes the bytes of what is staged away, as a loss of power does.
fn lose_staged(world: &World) {
    let runs = world.state().join("runs");
    let staged =
        format!("find {} -name work -prune -o -path '*/objects/??/*' -type f", runs.display());
    assert_ne!(said(world, &format!("{staged} -print")), "", "something is staged");
    said(world, &format!("{staged} -exec chmod u+w {{}} + -exec truncate -s 0 {{}} +"));
}

#[test]
fn staged_objects_that_were_lost_are_made_again() {
    let world = repository("");
    changed(&world, &["--sync", "review"], "echo 1 >a; rm file").ok();
    lose_staged(&world);
    crate::harness::said(&mut world.endow(["apply"])).ok();
    let name = reference(&world);
    assert_eq!(said(&world, &format!("git diff --name-status HEAD {name}")), "A\ta\nD\tfile");
    assert_eq!(said(&world, "git fsck --full --strict 2>&1"), "");
    assert_eq!(world.states(), ["applied"]);
}

/// No reference led to it, so that nothing kept it there.
#[test]
fn objects_that_the_repository_collected_are_made_again() {
    let world = repository("");
    said(&world, "echo odd | git hash-object -w --stdin");
    changed(&world, &["--sync", "review"], "echo odd >a").ok();
    said(&world, "git prune --expire=now");
    crate::harness::said(&mut world.endow(["apply"])).ok();
    assert_eq!(said(&world, &format!("git show {}:a", reference(&world))), "odd");
    assert_eq!(said(&world, "git fsck --full --strict 2>&1"), "");
}

#[test]
fn result_waits_is_applied_and_taken_back() {
    let world = repository("");
    changed(&world, &["--sync", "review"], "echo 1 >a; rm file").ok();
    assert!(references(&world).is_empty());
    assert_eq!(world.states(), ["waiting"]);
    let apply = crate::harness::said(&mut world.endow(["apply"]));
    apply.ok();
    let name = reference(&world);
    assert_eq!(said(&world, &format!("git diff --name-status HEAD {name}")), "A\ta\nD\tfile");
    world.bare("git pack-refs --all").ok();
    crate::harness::said(&mut world.endow(["undo"])).ok();
    assert!(references(&world).is_empty());
    assert_eq!(world.states(), ["undone"]);
    changed(&world, &["--sync", "discard"], "echo 1 >a").ok();
    assert!(references(&world).is_empty());
    assert_eq!(world.states(), ["undone"]);
}

/// A reference that somebody moved is not taken back.
#[test]
fn undo_leaves_a_moved_reference() {
    let world = repository("");
    landed(&world, &[], "echo 1 >a");
    let name = reference(&world);
    world.bare(&format!("git update-ref {name} HEAD")).ok();
    let undo = crate::harness::said(&mut world.endow(["undo"]));
    assert!(undo.fails(121).contains("by now"), "{}", undo.stderr);
    assert_eq!(reference(&world), name);
}

#[test]
fn killed_supervisor_loses_nothing() {
    let world = repository("");
    let script = "echo 1 >a; touch /work/ready; sleep 30";
    let options = ["run", "--workspace", "none", "--chdir", "/work", "--git", "/work=HEAD,cow"];
    let mut command = world.endow(options.iter().chain(&["--", "sh", "-c", script]));
    let mut running = command.spawn().expect("started");
    let ready =
        |world: &World| !said(world, "find ../../state -name ready 2>/dev/null || true").is_empty();
    let begun = std::time::Instant::now();
    while !ready(&world) && begun.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    running.kill().expect("killed");
    running.wait().expect("gone");
    assert!(references(&world).is_empty());
    let run = said(&world, "ls ../../state/runs");
    let diff = crate::harness::said(&mut world.endow(["diff", "--name-status", run.as_str()]));
    assert_eq!(diff.ok(), "A\ta\nA\tready\n");
    let mut apply = world.endow(["apply", run.as_str()]);
    crate::harness::said(&mut apply).ok();
    assert_eq!(said(&world, &format!("git show {}:a", reference(&world))), "1");
}

/// What leads to objects that the repository lacks is not lost with the layer.
#[test]
fn other_branches_and_stashes_land_beside_it() {
    let world = repository("");
    let script = format!(
        "set -e; git checkout -q -b topic; echo t >t; git add t; git {WHO} commit -qm topic
        git checkout -q main; echo older >>file; git {WHO} stash -q; echo s >>file
        git {WHO} stash -q; git tag same; git branch other"
    );
    landed(&world, &[], &script);
    let names = references(&world);
    let ends: Vec<&str> =
        names.iter().map(|it| it.split_once(".refs/").expect("beside").1).collect();
    assert_eq!(ends, ["heads/topic", "stash", "stash-1"]);
    assert_eq!(said(&world, &format!("git show {}:t", names[0])), "t");
    assert_eq!(said(&world, &format!("git stash show --name-only {}", names[1])), "file");
    for (name, line) in [(&names[1], "s"), (&names[2], "older")] {
        assert_eq!(said(&world, &format!("git show {name}:file | tail -1")), line);
    }
}

/// It is a result all the same.
#[test]
fn commit_that_changes_no_file_is_applied() {
    let world = repository("");
    let script = format!("git {WHO} commit -q --allow-empty -m empty");
    changed(&world, &["--sync", "review"], &script).ok();
    let (code, screen) = Pty::start(&world.endow(["apply"])).end();
    assert!(code == 0 && screen.contains("applied; `endow undo "), "{screen}");
    assert_eq!(said(&world, &format!("git log -1 --format=%s {}", reference(&world))), "empty");
}

/// One that somebody else has locked keeps no other from being set, and is tried again.
#[test]
fn references_that_could_not_be_set_land_later() {
    let world = repository("");
    let script = format!(
        "set -e; for it in one two; do git checkout -q -b $it main; echo $it >t; git add t
        git {WHO} commit -qm $it; done; git checkout -q main; echo x >file"
    );
    changed(&world, &["--sync", "review"], &script).ok();
    let runs = std::fs::read_dir(world.state().join("runs")).expect("runs");
    let id = runs.flatten().next().expect("a run").file_name().into_string().expect("text");
    let lock = format!(".git/refs/endow/{id}.refs/heads/one.lock");
    said(&world, &format!("mkdir -p $(dirname {lock}); touch {lock}"));
    let apply = || crate::harness::said(&mut world.endow(["apply"]));
    assert!(apply().fails(121).contains("one"), "it is locked");
    let ends = |names: &[&str]| {
        let expected = names.iter().map(|name| format!("refs/endow/{id}{name}"));
        assert_eq!(references(&world), expected.collect::<Vec<_>>());
    };
    ends(&["", ".refs/heads/two"]);
    said(&world, &format!("rm {lock}"));
    apply().ok();
    ends(&["", ".refs/heads/one", ".refs/heads/two"]);
}

#[test]
fn what_no_commit_holds_is_refused_and_kept() {
    let world = repository("");
    let script =
        "mkfifo pipe; git init -q own; touch own/x; mkdir -p d/.GIT; echo h >d/.GIT/x; echo 1 >a";
    let run = changed(&world, &[], script);
    let told = run.fails(121);
    assert!(told.contains("3 in no commit"), "{told}");
    assert_eq!(said(&world, &format!("git diff --name-only HEAD {}", reference(&world))), "a");
    assert_eq!(world.states(), ["waiting"]);
    assert_eq!(said(&world, "git fsck --full --strict 2>&1"), "");
}

/// The command's own repository may be gone, or another one.
#[test]
fn removed_git_directory_is_no_loss() {
    for script in ["rm -rf .git", "rm -rf .git; echo x >.git", "rm -rf .git; ln -s /etc .git"] {
        let world = repository("");
        changed(&world, &[], &format!("{script}; echo 1 >a")).ok();
        let name = reference(&world);
        assert_eq!(said(&world, &format!("git diff --name-only HEAD {name}")), "a", "{script}");
    }
    let world = repository("");
    let script =
        format!("rm -rf .git; git init -q; git add .; git {WHO} commit -qm root; echo 1 >a");
    changed(&world, &[], &script).ok();
    let name = reference(&world);
    assert_eq!(said(&world, &format!("git log --format=%s {name} | tail -1")), "root");
}

#[test]
fn borrowed_objects_can_only_be_read() {
    let world = repository("");
    world.bare("git gc -q").ok();
    let script = "touch .git/borrowed/0/x; rm -f .git/borrowed/0/pack/*.pack; chmod u+w .git/borrowed/0/pack";
    let inside = changed(&world, &[], &format!("{script}; git fsck"));
    assert!(inside.stderr.matches("Read-only file system").count() >= 2, "{}", inside.stderr);
    assert_eq!(said(&world, "git fsck 2>&1"), "");
    // Outside nothing but the user's own care is in the way.
    let objects = script.replace("borrowed/0", "objects");
    world.bare(&objects).ok();
    assert!(said(&world, "git fsck 2>&1 || true").contains("missing"), "the control does not bite");
}

/// A shared clone and a linked work tree borrow from elsewhere, and so does the working copy.
#[test]
fn alternates_and_linked_work_trees_are_borrowed_from() {
    let world = repository("");
    let script = format!(
        "git worktree add -q ../linked && cd ../linked && echo l >l && git add . && git {WHO} commit -qm linked"
    );
    world.bare(&script).ok();
    world.bare("git clone -q --shared . ../shared").ok();
    for place in ["linked", "shared"] {
        let mount = format!("/work=../{place}@HEAD,cow");
        let options = ["run", "--workspace", "none", "--chdir", "/work", "--git", &mount];
        let run = world.run(
            &options,
            "git status --porcelain; git log --format=%s | tail -1; git fsck --no-dangling 2>&1; echo 1 >a",
        );
        assert_eq!(run.ok(), "first\n", "{place}");
    }
    assert_eq!(said(&world, &format!("git show {}:a", reference(&world))), "1");
    let shared = "cd ../shared && git show $(git for-each-ref --format='%(refname)' refs/endow):a";
    assert_eq!(said(&world, shared), "1");
}

/// A linked work tree, and a repository that objects are borrowed from, are there while the command runs.
#[test]
fn result_lands_where_its_work_tree_and_what_it_borrowed_from_are_gone() {
    let world = repository("");
    let made = "git worktree add -q ../linked; git clone -q --bare . ../lender; git clone -q --shared ../lender ../shared";
    world.bare(made).ok();
    let gone = "git worktree remove ../linked";
    let returned =
        "cd ../shared && git repack -qad && rm -rf .git/objects/info/alternates ../lender";
    for (place, gone, into) in [("linked", gone, "."), ("shared", returned, "../shared")] {
        let mount = format!("/work=../{place}@HEAD,cow");
        let options = ["run", "--workspace", "none", "--chdir", "/work", "--sync", "review"];
        world.run(&[&options[..], &["--name", place, "--git", &mount]].concat(), "echo 1 >a").ok();
        world.bare(gone).ok();
        crate::harness::said(&mut world.endow(["apply", place])).ok();
        let id = "$(git for-each-ref --format='%(refname)' refs/endow)";
        assert_eq!(said(&world, &format!("cd {into} && git show {id}:a")), "1", "{place}");
    }
}

/// A loose object that claims to be larger than it is; its bytes are not compressed (RFC 1950).
fn forged(claimed: usize, content: &[u8]) -> Vec<u8> {
    let bytes = [format!("blob {claimed}\0").as_bytes(), content].concat();
    let length = u16::try_from(bytes.len()).expect("a short one");
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in &bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    let mut all = vec![0x78, 0x01, 0x01];
    all.extend(length.to_le_bytes());
    all.extend((!length).to_le_bytes());
    all.extend(bytes);
    all.extend((high << 16 | low).to_be_bytes());
    all
}

#[test]
fn sizes_that_one_repository_makes_up_are_not_told_to_another() {
    let world = repository("");
    let blob = said(&world, "git clone -q . ../other; git rev-parse HEAD:file");
    let (fan, rest) = blob.split_at(2);
    let object = format!("../other/.git/objects/{fan}/{rest}");
    said(&world, &format!("rm -f {object}; mkdir -p ../other/.git/objects/{fan}"));
    std::fs::write(world.project().join(&object), forged(5, b"new\n")).expect("written");
    let status = |repository: &str| {
        let mount = format!("/work={repository}HEAD,cow");
        let fixed = ["run", "--workspace", "none", "--chdir", "/work", "--git", &mount];
        world.run(&fixed, "git status --porcelain").ok().to_owned()
    };
    world.run(&["run", "--workspace", "none", "--git", "/ref=HEAD", "--chdir", "/"], "true").ok();
    assert_eq!(status("../other@"), " M file\n", "what it claims itself");
    assert_eq!(status(""), "");
}
