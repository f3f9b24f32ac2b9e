//! `--cas GUEST=DIGEST,cow`: what is changed inside becomes another tree of the store.

use std::fs;

use serde_json::Value;

use super::cas::{cas, put};
use crate::harness::{Running, Said, World, project, said, soon};

/// Changes of every kind, in the tree that a shell stands in.
const EDITS: &str = "echo new >new; echo more >>file; chmod 755 file; rm dir/inner; mkdir void
    rm -r dir/sub; ln -s ../x dir/sub; rm link; mkdir link; echo y >link/y; mv new dir/moved";

/// Runs a script in a changeable mount of a tree; returns the report, too.
fn change(world: &World, digest: &str, options: &[&str], script: &str) -> (Said, Value) {
    let report = world.root().join("report.json");
    let at = format!("/t={digest},cow");
    let path = report.display().to_string();
    let fixed = ["run", "-v", "--cas", &at, "--chdir", "/t", "--report", path.as_str()];
    let said = world.run(&[&fixed, options].concat(), script);
    let text = fs::read_to_string(report).expect("a report");
    (said, serde_json::from_str(&text).expect("JSON"))
}

fn digest(report: &Value) -> String {
    report["sync"]["digest"].as_str().unwrap_or_else(|| panic!("{report:#}")).to_owned()
}

/// Puts what the project is after a script.
fn put_changed(world: &World, script: &str) -> String {
    world.bare(&format!("cp -a . ../view; cd ../view; {script}")).ok();
    put(world, "../view")
}

fn gc(world: &World) {
    cas(world, &["gc", "--max-size", "0"]).ok();
}

#[test]
fn changed_tree_is_what_a_put_of_it_is() {
    let world = project();
    let base = put(&world, ".");
    let (ran, report) = change(&world, &base, &[], EDITS);
    ran.ok();
    let new = digest(&report);
    assert!(ran.stderr.contains(&format!("/t: 8 changes in {new}")), "{}", ran.stderr);
    let tree = &report["trees"][0];
    assert_eq!(tree["digest"], new.as_str());
    assert_eq!(tree["commit"], Value::Null);
    // Another one shows it as it was left, before anything else put it.
    let list =
        "find . -mindepth 1 -printf '%P %y %l\\n' | LC_ALL=C sort; cat file dir/moved link/y";
    let at = format!("/t={new}");
    let shown = world.run(&["run", "--workspace", "none", "--cas", &at, "--chdir", "/t"], list);
    assert_eq!(put_changed(&world, EDITS), new);
    assert_eq!(shown.ok(), world.bare(&format!("cd ../view; {list}")).ok());
    // The one at the start is what it was.
    cas(&world, &["verify"]).ok();
    assert_eq!(put(&world, "."), base);
    assert_eq!(cas(&world, &["cat", &base, "file"]).ok(), "host\n");
}

#[test]
fn unchanged_tree_leaves_nothing() {
    let world = project();
    let base = put(&world, ".");
    let (ran, report) = change(&world, &base, &[], "echo x >y; rm y; touch file; cat file");
    assert_eq!(ran.ok(), "host\n");
    assert_eq!(report["sync"]["digest"], Value::Null);
    world.assert_no_run_left();
}

#[test]
fn mount_without_cow_is_read_only() {
    let world = project();
    let base = put(&world, ".");
    let write = "echo x >/t/file; echo x >/t/new";
    let at = format!("/t={base}");
    world.run(&["run", "--cas", &at], write).fails(2);
    // The same can be written with it, and the next run doesn't see it.
    let (ran, _) = change(&world, &base, &[], write);
    ran.ok();
    let (ran, _) = change(&world, &base, &[], "cat file; ls new");
    assert!(ran.fails(2).contains("new") && ran.stdout == "host\n", "{ran:?}");
}

#[test]
fn result_stays_as_long_as_its_run() {
    let world = project();
    let base = put(&world, ".");
    let (ran, report) = change(&world, &base, &[], "echo new >dir/new");
    ran.ok();
    let new = digest(&report);
    gc(&world);
    assert_eq!(cas(&world, &["cat", &new, "dir/new"]).ok(), "new\n");
    assert_eq!(cas(&world, &["cat", &new, "file"]).ok(), "host\n", "what was not changed");
    // Control: what nothing keeps goes.
    let other = put(&world, "dir/sub");
    world.bare("echo other >other").ok();
    let alone = put(&world, "other");
    gc(&world);
    cas(&world, &["cat", &alone]).fails(2);
    assert_eq!(cas(&world, &["cat", &other, "deep"]).ok(), "deep\n", "a part of the tree");
    let undone = said(&mut world.endow(["undo", "-v"]));
    undone.ok();
    assert!(undone.stderr.contains("/t: the store keeps the new tree no longer"), "{undone:?}");
    assert_eq!(world.states(), ["undone"]);
    gc(&world);
    cas(&world, &["cat", &new, "dir/new"]).fails(2);
}

#[test]
fn waiting_changes_are_applied_later() {
    let world = project();
    let base = put(&world, ".");
    let (ran, report) = change(&world, &base, &["--sync", "review"], EDITS);
    ran.ok();
    assert_eq!(report["sync"]["digest"], Value::Null);
    assert_eq!(world.states(), ["waiting"]);
    // Nobody else needs the tree at the start.
    gc(&world);
    let applied = said(&mut world.endow(["apply", "--json"]));
    let applied: Value = serde_json::from_str(applied.ok()).expect("JSON");
    assert_eq!(digest(&applied), put_changed(&world, EDITS));
    assert_eq!(world.states(), ["applied"]);
}

#[test]
fn staged_objects_that_were_lost_are_made_again() {
    let world = project();
    let base = put(&world, ".");
    change(&world, &base, &["--sync", "review"], EDITS).0.ok();
    // As a loss of power leaves them.
    let runs = world.state().join("runs");
    let staged =
        format!("find {} -name work -prune -o -path '*/objects/??/*' -type f", runs.display());
    assert_ne!(world.bare(&format!("{staged} -print")).ok(), "", "something is staged");
    world.bare(&format!("{staged} -exec truncate -s 0 {{}} +")).ok();
    let applied = said(&mut world.endow(["apply", "--json"]));
    let applied: Value = serde_json::from_str(applied.ok()).expect("JSON");
    assert_eq!(digest(&applied), put_changed(&world, EDITS));
    cas(&world, &["verify"]).ok();
}

#[test]
fn tree_that_is_changed_stays_in_the_store() {
    let world = project();
    let base = put(&world, ".");
    let at = format!("/t={base},cow");
    let script = "echo in; read go; echo new >/t/dir/new";
    let mut command = world.endow(["run", "--cas", &at, "--", "sh", "-c", script]);
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    running.expect("in");
    let leases = fs::read_dir(world.root().join("cache/cas/leases")).expect("listed");
    assert_eq!(leases.count(), 1);
    gc(&world);
    running.say("\n");
    assert_eq!(running.end(), 0);
    gc(&world);
    assert_eq!(cas(&world, &["cat", &base, "file"]).ok(), "host\n");
    cas(&world, &["verify"]).ok();
}

/// A collection that waits for a run which is just ending must know of it once its turn has come.
#[test]
fn collection_keeps_what_a_run_put_while_it_waited() {
    let world = project();
    let base = put(&world, ".");
    let path = world.root().join("cache/cas/lock");
    let lock = fs::File::open(&path).expect("the lock of those who put something");
    lock.lock_shared().expect("shared with them");
    let mut collection = Running::start(&mut world.endow(["cas", "gc", "--max-size", "0"]));
    let fds = format!("/proc/{}/fd", collection.pid());
    soon("it waits for the lock", || {
        let fds = fs::read_dir(&fds).into_iter().flatten().flatten();
        fds.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|it| it == path))
    });
    let (ran, report) = change(&world, &base, &[], "echo new >dir/new");
    ran.ok();
    drop(lock);
    assert_eq!(collection.end(), 0);
    assert_eq!(cas(&world, &["cat", &digest(&report), "dir/new"]).ok(), "new\n");
    assert_eq!(cas(&world, &["cat", &digest(&report), "file"]).ok(), "host\n");
}

#[test]
fn discarded_changes_are_kept_nowhere() {
    let world = project();
    let base = put(&world, ".");
    change(&world, &base, &["--sync", "review"], "echo new >new").0.ok();
    said(&mut world.endow(["discard"])).ok();
    assert_eq!(world.states(), ["discarded"]);
    gc(&world);
    cas(&world, &["cat", &base, "file"]).fails(2);
}

#[test]
fn what_no_tree_can_hold_is_named() {
    let world = project();
    let base = put(&world, ".");
    let script = "mkfifo pipe; echo new >new; echo bad >\"$(printf '\\377')\"";
    let (ran, report) = change(&world, &base, &[], script);
    assert!(ran.fails(121).contains("2 in no tree: pipe"), "{}", ran.stderr);
    assert_eq!(report["trees"][0]["refused"][0]["path"], "pipe");
    assert_eq!(digest(&report), put_changed(&world, "echo new >new"));
    assert_eq!(world.states(), ["waiting"], "so that the rest can be looked at");
}

#[test]
fn tree_that_the_store_lacks_is_shown_and_not_changed() {
    let world = project();
    let base = put(&world, ".");
    let at = format!("/t={base}");
    world.run(&["run", "--cas", &at], "cat /t/file").ok();
    fs::remove_dir_all(world.root().join("cache/cas/objects")).expect("removed");
    world.run(&["run", "--cas", &at], "cat /t/file").ok();
    let cow = format!("{at},cow");
    let refused = world.run(&["run", "--cas", &cow], "cat /t/file");
    assert!(refused.fails(125).contains("endow cas put"), "{}", refused.stderr);
}

#[test]
fn waiting_tree_of_the_store_is_called_so() {
    let world = project();
    let at = format!("/t={},cow", put(&world, "."));
    let review = ["run", "--sync", "review", "--name", "one", "--cas", &at, "--chdir", "/t"];
    world.run(&review, "echo new >new").ok();
    let refused = world.run(&["run", "--from", "one", "--cas", &at], "true");
    let said = refused.fails(125);
    assert!(said.contains("can't go on from changes of a tree of the store"), "{said}");
    assert!(said.contains("then name that tree"), "{said}");
}
