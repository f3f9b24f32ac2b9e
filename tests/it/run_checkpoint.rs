//! Checkpoints of live workspaces: changes reach the host at once, and can be taken back.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{self, Running, Said, World, said, soon};

const LIVE: [&str; 4] = ["run", "--workspace", "rw", "--checkpoint"];
const CHANGE: &str = "set -e; echo guest >file; rm gone; rm -r old; mkdir old; echo x >old/new
    mv dir moved; ln -s file link; chmod 600 mode; rm swap; mkdir swap; echo in >swap/in";

fn project() -> World {
    let world = World::new();
    let script = "mkdir -p dir/sub old/deep
        for it in file gone dir/sub/deep dir/inner old/deep/x mode swap; do echo host $it >$it; done
        find . -exec touch -h -d @1400000000 '{}' +";
    world.bare(script).ok();
    world
}

fn endow(world: &World, words: &[&str]) -> Said {
    said(&mut world.endow(words))
}

/// Everything below the project: names, kinds, modes, times, targets and contents.
fn tree(world: &World) -> String {
    let script = "find . -printf '%P %y %m %T@ %l\\n' | sort; find . -type f | sort | xargs cat";
    world.bare(script).ok().to_owned()
}

/// Whether the record of the one run is whole.
pub(crate) fn is_recorded(world: &World) -> bool {
    let runs = fs::read_dir(world.state().join("runs")).into_iter().flatten();
    let mut lists =
        runs.filter_map(|run| fs::read_to_string(run.ok()?.path().join("checkpoint/list")).ok());
    lists.any(|list| list.contains("\"listed\"") && names_without_content(&list) == 0)
}

/// Counts names of which the last line tells only that they were there.
fn names_without_content(list: &str) -> usize {
    let lines = list.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let entries = lines.filter_map(|line| line.get("entry").cloned());
    let last: std::collections::BTreeMap<String, Value> =
        entries.map(|entry| (entry["path"].to_string(), entry["kept"].clone())).collect();
    last.values().filter(|kept| **kept == "name").count()
}

/// Waits until the tree is recorded, then does what the script says.
pub(crate) fn run_recorded(world: &World, options: &[&str], script: &str) -> i32 {
    let script = format!("echo in; read go; {script}");
    let words = [&LIVE[..], options, &["--", "sh", "-c", &script]].concat();
    let mut command = world.endow(words);
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    soon("the record", || is_recorded(world));
    running.say("\n");
    running.end()
}

/// Changes a file once the tree is recorded; then endow is killed.
fn run_killed(world: &World) {
    run_killed_after(world, "echo guest >file");
}

/// Does what the script says once the tree is recorded; then endow is killed.
fn run_killed_after(world: &World, script: &str) {
    run_killed_with(world, &[], script);
}

/// Does what the script says, in a run with options, once the tree is recorded; then endow is killed.
fn run_killed_with(world: &World, options: &[&str], script: &str) {
    let script = format!("echo in; read go; {script}; echo done; read go");
    let mut command = world.endow([&LIVE[..], options, &["--", "sh", "-c", &script]].concat());
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    soon("the record", || is_recorded(world));
    running.say("\n");
    running.expect("done");
    running.signal(9);
    running.end();
    soon("the end of the run", || endow(world, &["runs"]).stdout.contains("interrupted"));
}

fn report(world: &World, script: &str) -> Value {
    let path = world.root().join("report.json");
    let words = ["--report", path.to_str().expect("text")];
    assert_eq!(run_recorded(world, &words, script), 0);
    serde_json::from_slice(&fs::read(&path).expect("a report")).expect("json")
}

#[test]
fn live_changes_are_told_and_taken_back() {
    let (world, bare) = (project(), project());
    let before = tree(&world);
    let report = report(&world, CHANGE);
    bare.bare(CHANGE).ok();
    assert_eq!(
        world.bare("find . | sort; cat file old/new").ok(),
        bare.bare("find . | sort; cat file old/new").ok()
    );
    assert_eq!(report["checkpoint"]["uncovered"], json!([]));
    let at = |name: &str| json!(world.project().join(name));
    assert_eq!(report["changes"]["modified"], json!([at("file"), at("swap")]));
    assert_eq!(report["changes"]["mode"], json!([at("mode")]));
    let listed = endow(&world, &["diff", "--name-status"]);
    for line in [
        "M\tfile",
        "D\tgone",
        "D\told/deep/x",
        "T\tswap/",
        "M\tmode",
        "A\told/new",
        "A\tlink",
        "A\tswap/in",
    ] {
        assert!(listed.ok().lines().any(|it| it == line), "{line}: {}", listed.stdout);
    }
    let patch = endow(&world, &["diff", "file"]);
    assert!(patch.ok().contains("-host file\n+guest\n"), "{}", patch.stdout);
    assert!(endow(&world, &["runs"]).ok().contains("applied"));
    endow(&world, &["undo", "file"]).ok();
    assert_eq!(fs::read_to_string(world.project().join("file")).expect("there"), "host file\n");
    assert!(world.project().join("old/new").exists());
    endow(&world, &["undo"]).ok();
    assert_eq!(tree(&world), before);
}

#[test]
fn what_the_user_changed_since_stays() {
    let world = project();
    assert_eq!(run_recorded(&world, &[], "echo guest >file; echo guest >gone"), 0);
    world.write("home/project/file", "mine\n");
    assert_eq!(endow(&world, &["undo"]).code, 121);
    assert_eq!(world.bare("cat file gone").ok(), "mine\nhost gone\n");
}

#[test]
fn run_that_changes_nothing_leaves_nothing() {
    let world = project();
    let before = tree(&world);
    assert_eq!(run_recorded(&world, &[], "cat file"), 0);
    assert_eq!(tree(&world), before);
    world.assert_no_run_left();
}

#[test]
fn what_changed_too_early_is_named() {
    let world = project();
    // Enough that the record is not there when the command writes.
    world.bare("mkdir many; cd many; for it in $(seq 3000); do echo $it >$it; done").ok();
    let path = world.root().join("report.json");
    let script = "for it in many/1 many/2999 file; do echo guest >$it; done";
    let words = [&LIVE[..], &["-v", "--report", path.to_str().expect("text")]].concat();
    let said = world.run(&words, script);
    said.ok();
    let report: Value = serde_json::from_slice(&fs::read(&path).expect("a report")).expect("json");
    let (covered, uncovered) =
        (&report["checkpoint"]["covered"], &report["checkpoint"]["uncovered"]);
    let names = uncovered.as_array().expect("a list").len();
    assert_eq!(covered.as_u64().expect("a number") + names as u64, 3, "{report}");
    assert_eq!(said.stderr.contains("can't be taken back"), names > 0, "{}", said.stderr);
    if *covered != 0 {
        let undo = endow(&world, &["undo"]);
        assert_eq!(undo.code, if names > 0 { 121 } else { 0 }, "{undo:?}");
        assert_eq!(undo.stderr.contains("can't be taken back"), names > 0, "{undo:?}");
    }
    for it in uncovered.as_array().expect("a list") {
        let name = it["path"].as_str().expect("text");
        assert_eq!(fs::read_to_string(name).expect("there"), "guest\n", "it stays");
        assert_eq!(it["reason"], "changed before it was recorded");
    }
}

#[test]
fn hidden_names_are_not_copied() {
    let world = project();
    world.write("home/project/.env", "hidden canary\n");
    world.write("home/project/plain", "plain canary\n");
    let script = "echo guest >plain; grep -rs canary . && exit 1; :";
    assert_eq!(run_recorded(&world, &[], script), 0);
    let search = format!("grep -rhs canary {}", world.state().display());
    assert_eq!(world.bare(&search).ok(), "plain canary\n", "the same search finds what is copied");
}

#[test]
fn killed_supervisor_leaves_what_an_undo_needs() {
    let world = project();
    let before = tree(&world);
    // Without namespaces, the recorder that stands by has pid 1 end, too.
    for options in [&[][..], &["--require", "landlock", "--no-policy"]] {
        run_killed_with(&world, options, "echo guest >file");
        endow(&world, &["undo"]).ok();
        assert_eq!(tree(&world), before, "{options:?}");
    }
}

const CLOSE: &str =
    "echo guest >dir/inner; rm -r dir/sub; mkdir -p new/deep; echo n >new/deep/n; rm old/deep/x";

/// endow opens what the command closed to look for protected names: that is no change after the end.
#[test]
fn what_happened_in_closed_directories_is_taken_back() {
    for mode in ["0555", "0400", "0300", "0111", "0"] {
        let world = project();
        let before = tree(&world);
        let script = format!("{CLOSE}; chmod {mode} new/deep new old/deep old dir");
        assert_eq!(run_recorded(&world, &[], &script), 0);
        endow(&world, &["undo"]).ok();
        assert_eq!(tree(&world), before, "{mode}");
        run_killed_after(&world, &script);
        endow(&world, &["undo"]).ok();
        assert_eq!(tree(&world), before, "{mode}: killed");
    }
}

#[test]
fn name_that_is_held_keeps_nothing_from_an_undo() {
    let world = project();
    let before = tree(&world);
    // Enough that the last ones are found when the command has ended.
    let held = "for it in $(seq 200); do mkdir dir/$it; echo layout >dir/$it/.envrc; done";
    assert_eq!(run_recorded(&world, &[], &format!("rm dir/inner; {held}; rm -r old")), 0);
    assert!(!world.project().join("dir/200/.envrc").exists(), "it is taken out");
    endow(&world, &["undo"]).ok();
    assert_eq!(tree(&world), before);
}

#[test]
fn what_the_user_did_after_a_killed_run_stays() {
    let world = project();
    run_killed_after(&world, "echo guest >file; rm -r dir");
    world.bare("echo mine >gone; echo mine >mine; rm mode").ok();
    let undo = endow(&world, &["undo"]);
    let told = undo.fails(121);
    assert!(told.contains("2 left alone, something changed beside it after the end"), "{undo:?}");
    assert!(told.contains("changed since it was written back, left alone"), "{undo:?}");
    assert_eq!(
        world.bare("cat file gone mine; ls mode 2>&1").stdout.lines().take(3).collect::<Vec<_>>(),
        ["host file", "mine", "mine"]
    );
    assert!(!world.project().join("mode").exists() && !world.project().join("dir").exists());
    endow(&world, &["undo", "dir"]).ok();
    assert_eq!(
        world.bare("cat dir/inner dir/sub/deep mine").ok(),
        "host dir/inner\nhost dir/sub/deep\nmine\n"
    );
}

#[test]
fn diff_shows_what_became_of_the_workspace_beside_what_is_held() {
    let world = project();
    assert_eq!(run_recorded(&world, &[], "echo guest >file; rm gone; echo layout >.envrc"), 0);
    let listed = endow(&world, &["diff", "--name-status", "-v"]);
    assert_eq!(listed.ok(), "A\t.envrc\nM\tfile\nD\tgone\n");
    assert!(listed.stderr.contains("1 of these held for review: .envrc"), "{listed:?}");
    assert_eq!(endow(&world, &["diff", "--name-status", "--", "file"]).ok(), "M\tfile\n");
    assert_eq!(endow(&world, &["diff", "--name-status", "--", ".envrc"]).ok(), "A\t.envrc\n");
    endow(&world, &["diff", "--name-status", "--", "mode"]).fails(2);
    let value: Value = serde_json::from_str(endow(&world, &["diff", "--json"]).ok()).expect("json");
    let held: Vec<_> =
        value["changes"].as_array().expect("a list").iter().map(|it| it["held"].clone()).collect();
    assert_eq!(held, [json!(true), json!(false), json!(false)]);
    endow(&world, &["discard"]).ok();
    assert_eq!(endow(&world, &["diff", "--name-status"]).ok(), "M\tfile\nD\tgone\n");
}

#[test]
fn undo_says_what_it_can_not_take_back() {
    let world = project();
    world.bare("mkdir node_modules; echo host >node_modules/x").ok();
    assert_eq!(run_recorded(&world, &[], "echo guest >file; rm -r node_modules"), 0);
    endow(&world, &["undo", "file"]).ok();
    assert_eq!(run_recorded(&world, &[], "echo guest >file; mkdir node_modules; mkfifo pipe"), 0);
    let undo = endow(&world, &["undo"]);
    let told = undo.fails(121);
    assert!(told.contains("1 can't be taken back") && told.contains("pipe (no file"), "{told}");
    assert_eq!(world.bare("cat file").ok(), "host file\n");
}

#[test]
fn edit_after_the_run_that_keeps_size_and_time_stays() {
    let world = project();
    assert_eq!(run_recorded(&world, &[], "echo guest >file; echo guest >gone"), 0);
    world.bare("touch -r file ../then; echo users >file; touch -r ../then file").ok();
    endow(&world, &["undo"]).fails(121);
    assert_eq!(world.bare("cat file gone").ok(), "users\nhost gone\n");
}

/// As a power cut leaves it.
#[test]
fn run_whose_end_nobody_saw_takes_nothing_back() {
    let world = project();
    run_killed(&world);
    let find = |what: &str| {
        let script = format!("find {} -path '*/checkpoint/{what}'", world.state().display());
        world.bare(&script).ok().trim_end().to_owned()
    };
    fs::remove_file(find("ended")).expect("it was noted");
    endow(&world, &["undo"]).fails(2);
    assert_eq!(world.bare("cat file").ok(), "guest\n");
    assert!(!find("files").is_empty(), "its copies stay");
    endow(&world, &["discard"]).ok();
}

#[test]
fn directory_in_the_place_of_the_workspace_is_left() {
    let world = project();
    assert_eq!(run_recorded(&world, &[], "echo guest >file; rm gone"), 0);
    let moved = world.project().with_extension("moved");
    fs::rename(world.project(), &moved).expect("renamed");
    world.write("home/project/file", "another\n");
    let id = endow(&world, &["runs", "--json"]);
    let runs: Value = serde_json::from_str(&id.stdout).expect("json");
    let id = runs["runs"][0]["id"].as_str().expect("an id").to_owned();
    let refused = endow(&world, &["undo", &id]);
    assert!(refused.fails(121).contains("another directory stands there"), "{}", refused.stderr);
    assert_eq!(world.bare("cat *").ok(), "another\n");
}

#[test]
fn buffered_mounts_and_a_checkpoint_are_undone_together() {
    let world = project();
    let before = tree(&world);
    let other = world.write("data/file", "host\n");
    let data = other.parent().expect("a directory").display().to_string();
    let script = format!("echo guest >file; echo guest >{data}/file");
    assert_eq!(run_recorded(&world, &["--cow", &data], &script), 0);
    assert_eq!(fs::read_to_string(&other).expect("there"), "guest\n");
    endow(&world, &["undo"]).ok();
    assert_eq!(fs::read_to_string(&other).expect("there"), "host\n");
    assert_eq!(tree(&world), before);
}

/// What is written back there at the end is no change after it.
#[test]
fn buffered_directory_in_the_workspace_is_no_part_of_the_record() {
    let world = project();
    let before = tree(&world);
    let path = world.root().join("report.json");
    let dir = world.project().join("dir").display().to_string();
    let words = ["--cow", &dir, "--report", path.to_str().expect("text")];
    let script = "echo guest >file; rm gone dir/inner; echo guest >dir/sub/deep; echo n >dir/n";
    assert_eq!(run_recorded(&world, &words, script), 0);
    let report: Value = serde_json::from_slice(&fs::read(&path).expect("a report")).expect("json");
    assert_eq!(report["checkpoint"]["uncovered"], json!([]));
    assert!(world.project().join("dir/n").exists() && !world.project().join("dir/inner").exists());
    endow(&world, &["undo"]).ok();
    assert_eq!(tree(&world), before);
}

#[test]
fn policy_and_plan_say_so() {
    let world = project();
    let plan = endow(&world, &["plan", "--workspace", "rw", "--checkpoint", "--", "true"]);
    assert!(
        plan.ok().contains(&format!("record  {}", world.project().display())),
        "{}",
        plan.stdout
    );
    let plan = endow(&world, &["plan", "--workspace", "cow", "--checkpoint", "--", "true"]);
    assert!(!plan.ok().contains("record  "), "a buffered one needs none");
}

/// The kernel sets a file's size at once, and its times when it has let go of what the file held.
#[test]
fn file_that_is_cut_while_it_is_recorded_is_never_lost() {
    let world = World::new();
    let content = |number: usize| vec![u8::try_from(number).expect("few"); 10_000_000];
    for number in 1..=12 {
        fs::write(world.project().join("file"), content(number)).expect("written");
        world.bare("sync file").ok();
        let report = world.root().join("report.json");
        let words = ["--report", report.to_str().expect("text"), "--", "sh", "-c", "echo 2 >file"];
        // All take turns on one processor: the command is often left in the midst of it.
        let mut command = world.command("taskset");
        command.args(["-c", "0"]).arg(harness::endow()).args(LIVE).args(words);
        assert_eq!(said(&mut command).code, 0);
        let report: Value =
            serde_json::from_slice(&fs::read(&report).expect("a report")).expect("json");
        if report["checkpoint"]["covered"] == 1 {
            endow(&world, &["undo"]);
            let now = fs::read(world.project().join("file")).expect("read");
            assert!(now == content(number), "round {number}: {} bytes", now.len());
        } else {
            assert!(report["checkpoint"]["uncovered"].to_string().contains("file"), "{report}");
        }
    }
}

/// A repository with files that it has packed, others that it has loose, and some that it does not
/// have as they are.
fn repository() -> World {
    let world = project();
    let script = "git init -q .; git config user.name x; git config user.email x; chmod 755 mode
        git add -A; git commit -qm one; git gc -q; echo loose >loose; echo twice >dir/twice
        git add -A; git commit -qm two; echo edited >swap
        printf 'a\\r\\nb\\r\\n' >crlf; echo 'crlf text' >.gitattributes; git add -A 2>/dev/null; git commit -qm three
        echo untracked >own; find . -path ./.git -prune -o -exec touch -h -d @1400000000 '{}' +";
    world.bare(script).ok();
    world
}

fn files(world: &World) -> String {
    let script = "find . -path ./.git -prune -o -printf '%P %y %m %T@ %l\\n' | sort
        find . -path ./.git -prune -o -type f -print | sort | xargs cat";
    world.bare(script).ok().to_owned()
}

const EDITS: &str = "echo guest >file; echo guest >loose; echo guest >mode; rm -r dir; rm gone
    echo guest >crlf; echo guest >own; echo guest >swap";

#[test]
fn what_git_has_is_not_copied_and_comes_back() {
    let world = repository();
    let before = files(&world);
    let copied = "find $(dirname $LIST)/files -type f | xargs grep -l . | xargs cat | sort";
    let script = format!("echo in; read go; {EDITS}");
    let mut command = world.endow([&LIVE[..], &["--", "sh", "-c", &script]].concat());
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    soon("the record", || is_recorded(&world));
    let lists = world.state().join("runs");
    let list =
        said(std::process::Command::new("find").arg(lists).args(["-path", "*/checkpoint/list"]));
    let copied = format!("LIST={}; {copied}", list.ok().trim_end());
    let copies = world.bare(&copied);
    assert!(!copies.ok().contains("loose") && !copies.stdout.contains("host"), "{}", copies.stdout);
    assert!(
        copies.stdout.contains("untracked") && copies.stdout.contains("a\r\n"),
        "{}",
        copies.stdout
    );
    running.say("\n");
    assert_eq!(running.end(), 0);
    assert_ne!(files(&world), before);
    endow(&world, &["undo"]).ok();
    assert_eq!(files(&world), before);
    assert_eq!(world.bare("git status --porcelain; git fsck").ok(), "?? own\n");
}

#[test]
fn removed_repository_takes_nothing_from_an_undo() {
    let world = repository();
    let before = files(&world);
    assert_eq!(run_recorded(&world, &[], &format!("{EDITS}; rm -rf .git/objects .git/index")), 0);
    endow(&world, &["undo"]).ok();
    assert_eq!(files(&world), before);
}

#[test]
fn changed_objects_are_found_out() {
    let world = repository();
    let script = "for it in $(find .git/objects -type f); do chmod u+w $it; echo forged >$it; done
        echo guest >loose; echo guest >own";
    let report = report(&world, script);
    let lost =
        json!([{"path": world.project().join("loose"), "reason": "the repository has it no more"}]);
    assert_eq!(report["checkpoint"]["uncovered"], lost);
    assert!(endow(&world, &["undo"]).fails(121).contains("loose (the repository has it no more)"));
    assert_eq!(world.bare("cat loose own").ok(), "guest\nuntracked\n");
}

const FORGE: &str =
    "for it in $(find .git/objects -type f); do chmod u+w $it; echo forged >$it; done
    echo guest >loose";

#[test]
fn killed_run_of_which_nothing_can_be_taken_back_is_not_passed_over() {
    let world = repository();
    assert_eq!(run_recorded(&world, &[], "echo guest >own"), 0);
    run_killed_after(&world, FORGE);
    endow(&world, &["diff"]);
    assert!(endow(&world, &["undo"]).fails(121).contains("loose"));
    endow(&world, &["undo"]).ok();
    assert_eq!(world.bare("cat loose own").ok(), "guest\nuntracked\n");
}

/// One undo is for one run, also where it can do nothing.
#[test]
fn run_of_which_nothing_can_be_taken_back_is_not_passed_over() {
    let world = repository();
    assert_eq!(run_recorded(&world, &[], "echo guest >own"), 0);
    assert_eq!(run_recorded(&world, &[], FORGE), 0);
    assert!(
        endow(&world, &["undo", "own"]).fails(2).contains("nothing of the run is written back")
    );
    let undo = endow(&world, &["undo", "--json"]);
    assert!(undo.fails(121).contains("loose (the repository has it no more)"), "{}", undo.stderr);
    let told: Value = serde_json::from_str(&undo.stdout).expect("JSON");
    assert_eq!(told["uncovered"][0]["path"], json!(world.project().join("loose")));
    assert_eq!((&told["state"], &told["undone"]), (&json!("undone"), &json!([])));
    assert_eq!(world.bare("cat loose own").ok(), "guest\nguest\n");
    endow(&world, &["undo"]).ok();
    assert_eq!(world.bare("cat loose own").ok(), "guest\nuntracked\n");
}
