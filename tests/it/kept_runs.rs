//! `endow runs`, `gc`, `du` and `discard`: runs that are kept, and how they go.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use endow_vfs::state::{ChangeCounts, RunState};
use serde_json::Value;

use crate::harness::{MadeUp, World, project, said};

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

fn json(world: &World, arguments: &[&str]) -> Value {
    let said = said(world.endow(arguments).arg("--json"));
    serde_json::from_str(said.ok()).expect("JSON")
}

/// Returns id and state of each run, the oldest first.
fn states(world: &World) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let listed = json(world, &["runs"]);
    let runs = listed["runs"].as_array().expect("a list");
    runs.iter().rev().map(|run| (word(&run["id"]), word(&run["state"]))).collect()
}

fn changed(world: &World, ago: Duration) -> MadeUp {
    let run = world.make_up(ago);
    fs::write(run.upper().join("new"), "made inside\n").expect("written");
    run
}

fn path(world: &World, id: &str) -> PathBuf {
    world.state().join("runs").join(id)
}

#[test]
fn no_runs_are_no_error() {
    let world = World::new();
    assert_eq!(said(&mut world.endow(["runs"])).ok(), "");
    assert_eq!(json(&world, &["runs"])["runs"], serde_json::json!([]));
    said(&mut world.endow(["gc"])).ok();
    said(&mut world.endow(["du"])).ok();
    let error = said(&mut world.endow(["discard"]));
    assert!(error.fails(2).contains("no run of this workspace to discard"), "{}", error.stderr);
    assert!(!world.state().exists(), "looking made a directory");
}

#[test]
fn runs_are_listed_with_state_age_and_place() {
    let world = World::new();
    let mut first = changed(&world, 3 * MINUTE);
    first.record.name = Some("try".to_owned());
    first.record.changes = Some(ChangeCounts { created: 1, modified: 2, deleted: 3, left: 0 });
    let first = first.keep(RunState::Waiting);
    let mut second = changed(&world, 2 * MINUTE);
    second.record.changes = Some(ChangeCounts { left: 5, ..ChangeCounts::default() });
    let second = second.keep(RunState::Running);
    let newer = changed(&world, MINUTE).keep(RunState::Applied);
    fs::write(path(&world, &newer).join("record.json"), "{\"version\": 9}").expect("written");
    let said = said(&mut world.endow(["runs"]));
    let lines: Vec<Vec<&str>> =
        said.ok().lines().map(|line| line.split_whitespace().collect()).collect();
    let project = world.project().canonicalize().expect("a path");
    let project = project.to_str().expect("a text");
    assert_eq!(lines[0], ["ID", "NAME", "STATE", "AGE", "CHANGES", "COMMAND", "WORKSPACE"]);
    assert_eq!(lines[1], [&*newer, "-", "unusable", "1m", "-", "-", "-"]);
    assert_eq!(lines[2], [&*second, "-", "interrupted", "2m", "5", "wait", "make", project]);
    assert_eq!(lines[3], [&*first, "try", "waiting", "3m", "+1", "~2", "-3", "make", project]);
    let listed = json(&world, &["runs"]);
    assert_eq!(listed["runs"][2]["changes"]["deleted"], 3);
    assert_eq!(listed["runs"][0]["error"], "written by a newer endow (format 9, known is 1)");
}

#[test]
fn hostile_names_do_not_reach_the_terminal() {
    let world = World::new();
    let mut run = changed(&world, MINUTE);
    run.record.command = "a\x1b]0;x\x07\nb".into();
    run.keep(RunState::Waiting);
    let said = said(&mut world.endow(["runs"]));
    assert!(!said.ok().contains('\x1b'), "{:?}", said.stdout);
    assert_eq!(said.stdout.lines().count(), 2, "{:?}", said.stdout);
}

#[test]
fn settled_runs_are_removed_and_others_are_not() {
    let world = World::new();
    let applied = changed(&world, MINUTE).keep(RunState::Applied);
    let waiting = changed(&world, 2 * MINUTE).keep(RunState::Waiting);
    let refused = said(&mut world.endow(["runs", "rm", &applied, &waiting]));
    assert!(refused.fails(2).contains("can't remove a run that is waiting"), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("endow discard {waiting}")), "{}", refused.stderr);
    assert!(path(&world, &applied).exists(), "all or none");
    said(&mut world.endow(["runs", "rm", &applied, &applied])).ok();
    assert_eq!(states(&world), [(waiting, "waiting".to_owned())]);
    said(&mut world.endow(["runs", "rm", "nope"])).fails(2);
}

#[test]
fn running_run_and_a_newer_one_are_left_alone() {
    let world = World::new();
    let newer = changed(&world, MINUTE).keep(RunState::Applied);
    let record = path(&world, &newer).join("record.json");
    fs::write(&record, "{\"version\": 9}").expect("written");
    for command in [&["runs", "rm", &*newer][..], &["discard", &*newer], &["gc"]] {
        let said = said(&mut world.endow(command));
        assert!(command[0] == "gc" || said.code == 125, "{command:?}: {}", said.stderr);
        assert_eq!(fs::read_to_string(&record).expect("there"), "{\"version\": 9}");
    }
    let held = changed(&world, MINUTE);
    let id = held.record.id.to_string();
    said(&mut world.endow(["discard", &id])).fails(2);
    assert!(held.path().exists());
}

#[test]
fn discard_drops_the_newest_of_this_workspace() {
    let world = World::new();
    let older = changed(&world, 3 * MINUTE).keep(RunState::Waiting);
    let newer = changed(&world, 2 * MINUTE).keep(RunState::Running);
    changed(&world, MINUTE).keep(RunState::Applied);
    fs::create_dir(world.project().join("sub")).expect("mkdir");
    let mut command = world.endow(["discard", "--json"]);
    let said_first = said(command.current_dir(world.project().join("sub")));
    assert!(said_first.ok().contains(&newer), "{}", said_first.stdout);
    assert!(!path(&world, &newer).join("layers").exists());
    let again = said(&mut world.endow(["discard", &newer]));
    assert!(again.fails(2).contains("that is discarded"), "{}", again.stderr);
    let mut elsewhere = world.endow(["discard"]);
    said(elsewhere.current_dir(world.home())).fails(2);
    said(&mut world.endow(["discard"])).ok();
    let listed = states(&world);
    assert!(listed.contains(&(older, "discarded".to_owned())), "{listed:?}");
}

#[test]
fn gc_bounds_what_is_settled_and_keeps_the_rest() {
    let world = World::new();
    world.write("config/policy.toml", "version = 1\n[state]\nruns = 2\ndays = 30\n");
    let old = changed(&world, 40 * DAY).keep(RunState::Undone);
    let waiting = changed(&world, 50 * DAY).keep(RunState::Waiting);
    let interrupted = changed(&world, 50 * DAY).keep(RunState::Running);
    let empty = world.make_up(50 * DAY).keep(RunState::Running);
    let settled: Vec<String> =
        (1..4).map(|days| changed(&world, days * DAY).keep(RunState::Applied)).collect();
    let dry = json(&world, &["gc", "--dry-run"]);
    assert_eq!(dry["removed"].as_array().expect("a list").len(), 2, "{dry}");
    assert_eq!(states(&world).len(), 7);
    let done = json(&world, &["gc"]);
    assert_eq!(done["removed"], dry["removed"]);
    assert_eq!(done["swept"], serde_json::json!([empty]));
    let mut left: Vec<String> = states(&world).into_iter().map(|(id, _)| id).collect();
    left.sort();
    let mut expected = vec![waiting, interrupted, settled[0].clone(), settled[1].clone()];
    expected.sort();
    assert_eq!(left, expected, "{old} goes by age, {} by count", settled[2]);
}

#[test]
fn gc_bounds_by_size_oldest_first() {
    let world = World::new();
    world.write("config/policy.toml", "version = 1\n[state]\nsize = \"3M\"\n");
    let large = |ago| {
        let run = world.make_up(ago);
        let undo = run.path().join("undo/m000");
        fs::create_dir_all(&undo).expect("mkdir");
        fs::write(undo.join("0"), vec![7; 2 << 20]).expect("written");
        run.keep(RunState::Applied)
    };
    let (older, newer) = (large(2 * DAY), large(DAY));
    let removed = json(&world, &["gc"])["removed"].clone();
    assert_eq!(removed[0]["id"], *older);
    assert_eq!(states(&world), [(newer, "applied".to_owned())]);
}

/// Whoever may write to a tree can make a directory of a stage's name, with anything in it.
#[test]
fn planted_stages_are_left() {
    let world = World::new();
    let old = changed(&world, 400 * DAY).keep(RunState::Applied);
    let waiting = changed(&world, MINUTE).keep(RunState::Waiting);
    let stage = |run: &str| {
        let stage = world.project().join(format!(".endow-{run}-stage"));
        fs::create_dir_all(stage.join("1/deep")).expect("mkdir");
        fs::write(stage.join("2"), "the user's\n").expect("written");
        stage
    };
    let planted = [stage(&old), stage(&waiting), stage("1nb2ew00zzzzzzzz"), stage("x")];
    json(&world, &["gc"]);
    assert!(!path(&world, &old).exists(), "it was removed itself");
    said(&mut world.endow(["discard", &waiting])).ok();
    said(&mut world.endow(["runs", "rm", &waiting])).ok();
    assert!(planted.iter().all(|stage| stage.join("1/deep").exists() && stage.join("2").exists()));
}

#[test]
fn du_counts_blocks_of_layer_and_undo() {
    let world = World::new();
    let run = changed(&world, MINUTE);
    fs::write(run.upper().join("large"), vec![7; 1 << 20]).expect("written");
    let sparse = fs::File::create(run.upper().join("sparse")).expect("created");
    sparse.set_len(1 << 40).expect("a size");
    let id = run.keep(RunState::Waiting);
    let taken = json(&world, &["du"]);
    let layer = taken["runs"][0]["layer_bytes"].as_u64().expect("a number");
    assert!((1 << 20..2 << 20).contains(&layer), "{taken}");
    assert_eq!(taken["runs"][0]["undo_bytes"], 0);
    assert!(taken["total_bytes"].as_u64() >= Some(layer));
    let text = said(&mut world.endow(["du", &id]));
    assert!(text.ok().contains(&id) && text.stdout.contains("total"), "{}", text.stdout);
}

#[test]
fn name_of_a_run_is_checked_before_it_starts() {
    let world = World::new();
    let mut run = changed(&world, MINUTE);
    run.record.name = Some("try".to_owned());
    let id = run.keep(RunState::Waiting);
    let named = |name: &str| world.run(&["run", "--workspace", "ro", "--name", name], "echo ran");
    let taken = named("try");
    assert!(taken.fails(125).contains("another run has this name"), "{}", taken.stderr);
    assert!(taken.stderr.contains(&id), "{}", taken.stderr);
    for name in ["", "a/b", "1nb2ew00zzzzzzzz"] {
        let refused = named(name);
        assert!(refused.fails(125).contains("not a name for a run"), "{}", refused.stderr);
        assert!(!refused.stdout.contains("ran"));
    }
    assert_eq!(named("other").ok(), "ran\n");
    said(&mut world.endow(["discard", "try"])).ok();
}

/// Whoever begins at the same time: one has the name.
#[test]
fn name_is_had_by_one_run() {
    let world = World::new();
    let begin = |number: usize| {
        let script = format!("echo {number} >{number}; sleep 1");
        let mut command =
            world.endow(["run", "--sync", "review", "--name", "one", "--", "sh", "-c"]);
        command.arg(script).stderr(Stdio::null()).spawn().expect("endow starts")
    };
    let begun: Vec<_> = (0..6).map(begin).collect();
    let codes = begun.into_iter().map(|mut run| run.wait().expect("ended").code());
    let ran = codes.filter(|code| *code == Some(0)).count();
    let runs = json(&world, &["runs"])["runs"].as_array().expect("a list").clone();
    assert_eq!((ran, runs.len()), (1, 1), "{runs:?}");
    said(&mut world.endow(["discard", "one"])).ok();
}

/// Nobody knows what it is, and what it keeps: by force it goes, and others can be collected again.
#[test]
fn run_with_a_damaged_record_can_be_removed() {
    let world = World::new();
    let (good, bad) = (changed(&world, MINUTE), changed(&world, MINUTE));
    let (good, bad) = (good.keep(RunState::Waiting), bad.keep(RunState::Waiting));
    fs::write(path(&world, &bad).join("record.json"), "").expect("written");
    for command in [&["runs", "rm", &bad][..], &["discard", &bad], &["discard", "--force", &bad]] {
        said(&mut world.endow(command)).fails(125);
    }
    said(&mut world.endow(["runs", "rm", "--force", &bad])).ok();
    assert!(!path(&world, &bad).exists() && path(&world, &good).exists());
    said(&mut world.endow(["gc"])).ok();
}

/// What an older endow left of a run that it was killed in removing.
#[test]
fn run_without_a_record_can_be_removed() {
    let world = World::new();
    let remnant = |ago| {
        let id = changed(&world, ago).keep(RunState::Applied);
        fs::create_dir_all(path(&world, &id).join("undo/000")).expect("made");
        fs::remove_file(path(&world, &id).join("record.json")).expect("removed");
        id
    };
    let (new, old, later) = (remnant(MINUTE), remnant(15 * DAY), remnant(15 * DAY));
    fs::write(path(&world, &later).join("unknown"), "").expect("written");
    for command in [&["runs", "rm", &new][..], &["discard", &new], &["discard", "--force", &new]] {
        let said = said(&mut world.endow(command));
        assert!(said.fails(2).contains(&format!("`endow runs rm --force {new}`")), "{said:?}");
    }
    for (dry, is_there) in [(&["gc", "-n"][..], true), (&["gc"], false)] {
        assert_eq!(json(&world, dry)["removed"][0]["id"], old.as_str());
        assert_eq!(path(&world, &old).exists(), is_there);
        assert!(path(&world, &later).exists() && path(&world, &new).exists());
    }
    said(&mut world.endow(["runs", "rm", "--force", &new, &later])).ok();
    world.assert_no_run_left();
}

/// The next command that looks finishes what was begun, and nothing lists it meanwhile.
#[test]
fn removal_that_is_killed_is_finished() {
    let world = World::new();
    let id = changed(&world, MINUTE).keep(RunState::Applied);
    let gone = world.state().join("runs").join(format!(".gone-{id}"));
    // What a kill at any call of the removal leaves.
    fs::rename(path(&world, &id), &gone).expect("renamed");
    fs::remove_file(gone.join("record.json")).expect("removed");
    assert!(states(&world).is_empty());
    assert_eq!(json(&world, &["gc"])["gone"], serde_json::json!([id]));
    world.assert_no_run_left();
}

#[test]
fn bounds_hold_at_the_end_of_a_run_that_is_kept() {
    let world = World::new();
    world.write("config/policy.toml", "version = 1\n[state]\nruns = 3\nsize = \"1M\"\n");
    let settled = |ago| changed(&world, ago).keep(RunState::Applied);
    let old: Vec<String> = (2..6).map(|minutes| settled(minutes * MINUTE)).collect();
    let waiting = changed(&world, 9 * DAY).keep(RunState::Waiting);
    let there = |ids: &[String]| ids.iter().map(|id| path(&world, id).exists()).collect::<Vec<_>>();
    world.run(&["run"], "true").ok();
    assert_eq!(there(&old), [true; 4], "nothing was kept");
    world.run(&["run"], "echo x >made").ok();
    assert_eq!(there(&old), [true, true, false, false]);
    let mut large = changed(&world, MINUTE);
    large.record.undo_bytes = Some(1 << 20);
    let large = large.keep(RunState::Undone);
    world.run(&["run"], "echo y >made").ok();
    assert_eq!(there(&old), [false; 4]);
    assert!(!path(&world, &large).exists() && path(&world, &waiting).exists());
    let applied = states(&world).iter().filter(|(_, state)| state == "applied").count();
    assert_eq!(applied, 2);
}

/// What `endow runs` tells of the changes of the newest run.
fn counted(world: &World) -> Value {
    json(world, &["runs"])["runs"][0]["changes"].clone()
}

fn counts(created: u64, modified: u64, deleted: u64, left: u64) -> Value {
    serde_json::json!({
        "created": created, "modified": modified, "deleted": deleted, "left": left,
    })
}

#[test]
fn undo_of_what_is_no_change_is_refused_and_undoes_nothing() {
    let world = project();
    world.run(&["run"], "echo guest >>file; echo n >new; mkdir made; echo n >made/n").ok();
    assert_eq!(counted(&world), counts(3, 1, 0, 0));
    for words in [&["nosuch"][..], &["new", "nosuch"], &["file/below"]] {
        let refused = said(&mut world.endow([&["undo"][..], words].concat()));
        assert!(refused.fails(2).contains("neither a run nor a change"), "{}", refused.stderr);
        assert_eq!(counted(&world), counts(3, 1, 0, 0), "{words:?}");
    }
    assert_eq!(world.read("new"), "n\n");
    said(&mut world.endow(["undo", "made/n"])).ok();
    assert_eq!(counted(&world), counts(2, 1, 0, 0), "what is left of it");
    said(&mut world.endow(["undo", "made/n"])).fails(2);
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(counted(&world), Value::Null);
}

#[test]
fn nothing_waits_of_what_was_discarded() {
    let world = project();
    let review = ["run", "--sync", "review"];
    world.run(&review, "echo guest >>file; echo n >new; mkdir made; echo n >made/n").ok();
    assert_eq!(counted(&world), counts(0, 0, 0, 3));
    said(&mut world.endow(["discard", "new"])).ok();
    assert_eq!(counted(&world), counts(0, 0, 0, 2));
    said(&mut world.endow(["apply", "made"])).ok();
    assert_eq!(counted(&world), counts(2, 0, 0, 1));
    said(&mut world.endow(["discard", "file"])).ok();
    assert_eq!(counted(&world), counts(2, 0, 0, 0), "the rest, by its path");
    world.run(&review, "echo guest >>file; echo n >other").ok();
    said(&mut world.endow(["apply", "other"])).ok();
    assert_eq!(counted(&world), counts(1, 0, 0, 1));
    said(&mut world.endow(["discard"])).ok();
    assert_eq!(counted(&world), counts(1, 0, 0, 0), "the rest, as a whole");
    world.run(&review, "echo guest >>file").ok();
    said(&mut world.endow(["discard"])).ok();
    assert_eq!(counted(&world), counts(0, 0, 0, 0));
    let told = said(&mut world.endow(["runs"]));
    assert!(!told.ok().contains("wait"), "{}", told.stdout);
}

/// What another run's undo, and a run that goes on, note in the ledger is no write-back that was begun.
#[test]
fn run_that_is_told_of_others_is_finished() {
    let world = project();
    let rm = |name: &str| {
        let removed = said(&mut world.endow(["runs", "rm", "--force", name]));
        removed.ok();
        assert!(!removed.stderr.contains("half-done"), "{name}: {}", removed.stderr);
    };
    for name in ["one", "two"] {
        world.run(&["run", "--name", name], &format!("echo {name} >>file")).ok();
    }
    said(&mut world.endow(["undo", "two"])).ok();
    rm("one");
    let review = ["run", "--sync", "review", "--name", "three"];
    world.run(&review, "echo guest >>file; echo n >new").ok();
    said(&mut world.endow(["apply", "three", "new"])).ok();
    world.run(&["run", "--from", "three", "--sync", "review"], "cat file new").ok();
    rm("three");
}
