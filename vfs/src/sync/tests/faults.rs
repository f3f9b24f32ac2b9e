//! Every call fails once, or the process is killed there: nothing is torn and nothing is left.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::testing::*;
use super::super::*;
use crate::fs::faulty::FaultyFs;
use crate::fs::{Errno, OsFs};

/// Small, and with every kind of step.
const TREE: &str = "
    mkdir -p gone/sub keep type; echo 1 > gone/sub/one; echo 2 > keep/two; echo 3 > keep/three
    echo 4 > four; ln -s four link; echo 5 > type/five; chmod 750 keep
    touch -d '2001-02-03 04:05:06.123456789' gone/sub/one keep/two keep/three four gone type keep .";
const GUEST: &str = "
    rm -r gone type; echo type > type; echo changed > keep/two; rm keep/three; chmod 711 keep
    mkdir -p new/deep; echo new > new/deep/file; ln new/deep/file new/hard; ln -sfn keep link
    chmod 400 four";

type Tree = BTreeMap<PathBuf, String>;

/// What one world looked like before and after.
struct Case {
    world: World,
    plan: SyncPlan,
    before: Tree,
}

/// Makes the first one by shell and overlay, and all others by a copy of it.
struct Cases {
    place: Where,
    first: World,
}

impl Cases {
    fn new(place: Where) -> Self {
        let first = World::new(place, TREE);
        first.guest(GUEST);
        Self { place, first }
    }

    fn case(&self) -> Case {
        let world = self.first.again();
        let before = world.snapshot();
        let plan = plan(&world.collect(), &rules(OnConflict::Host));
        Case { world, plan, before }
    }
}

/// Each path that is not a directory is what it was, or what it becomes.
fn assert_whole(now: &Tree, before: &Tree, after: &Tree, what: &str) {
    for (path, text) in now.iter().filter(|(path, _)| !path.starts_with(".endow-r1-1-stage")) {
        let is_dir = text.starts_with('4');
        // While hard links are written back one by one, a group is incomplete; attributes of one
        // file are set one by one.
        let content = |text: &String| {
            let text = text.split(" = ").next().unwrap_or_default();
            text.split_once(']').map(|(_, content)| content.to_owned())
        };
        let known = [before.get(path), after.get(path)];
        let is_known = known.iter().flatten().any(|known| content(known) == content(text));
        assert!(is_dir || is_known, "{what}: {} is {text}", path.display());
    }
}

/// Returns what the finished tree is, and how many calls that takes.
fn finished(cases: &Cases, undone: bool) -> (Tree, usize) {
    let Case { world, plan, .. } = cases.case();
    let fs = FaultyFs::counting();
    world.apply(if undone { &OsFs } else { &fs }, &plan).expect("applied");
    if undone {
        world.undo(&fs).expect("undone");
    }
    (normal(world.snapshot()), fs.calls())
}

/// Takes times away that differ from run to run.
fn normal(tree: Tree) -> Tree {
    let normal = |text: String| {
        let (mode, rest) = text.split_once(' ').expect("a mode");
        let (time, rest) = rest.split_once(' ').expect("a time");
        let time = if time.starts_with("981173106.") { time } else { "now" };
        format!("{mode} {time} {rest}")
    };
    tree.into_iter().map(|(path, text)| (path, normal(text))).collect()
}

/// Runs one fault and what the next command does; returns whether the tree is the new one.
fn inject(cases: &Cases, fs: &FaultyFs, after: &Tree, what: &str) -> bool {
    let Case { world, plan, before } = cases.case();
    let result = world.apply(fs, &plan);
    let before = normal(before);
    assert_whole(&normal(world.snapshot()), &before, after, what);
    let resumed = world.resume(&OsFs).expect(what);
    let now = normal(world.snapshot());
    let is_new = now == *after;
    if !is_new {
        let lines: Tree = match result {
            // Reported as something the kernel does not allow: the rest is done.
            Ok(report) if !report.is_complete() => now.clone(),
            _ => before.clone(),
        };
        // Where the stage was at the root when the process died before the journal, the root's
        // time is not the old one.
        let is_root =
            |path: &PathBuf| cases.place == Where::Elsewhere && path.as_os_str().is_empty();
        let strip = |tree: Tree| tree.into_iter().filter(|(path, _)| !is_root(path)).collect();
        assert_same(&strip(now), &strip(lines), what);
        assert!(
            resumed.is_none_or(|resumed| resumed
                .reports
                .iter()
                .all(|(_, report)| !report.is_complete()))
        );
    }
    world.assert_clean();
    let (now, ledger) = (world.snapshot(), ledger_text(&world));
    assert!(world.resume(&OsFs).expect(what).is_none(), "{what}");
    assert_same(&world.snapshot(), &now, what);
    assert_eq!(ledger_text(&world), ledger, "{what}");
    if is_new {
        let undone = world.undo(&OsFs).expect(what);
        assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{what}: {undone:?}");
        assert_same(&normal(world.snapshot()), &before, what);
    }
    is_new
}

fn ledger_text(world: &World) -> String {
    std::fs::read_to_string(world.run.path().join("undo/applied.json")).unwrap_or_default()
}

fn sweep(place: Where, fault: impl Fn(usize) -> FaultyFs, name: &str) {
    let cases = Cases::new(place);
    let (after, calls) = finished(&cases, false);
    let mut done = 0;
    for call in 0..calls {
        let what = format!("{name} at call {call} of {calls}, {place:?}");
        done += usize::from(inject(&cases, &fault(call), &after, &what));
    }
    println!("{calls} injections of {name}, {place:?}: {done} times the new tree");
    assert!(0 < done && done < calls);
}

#[test]
fn killed_at_any_call_of_apply() {
    for place in PLACES {
        sweep(place, FaultyFs::killed, "kill");
    }
}

#[test]
fn any_call_of_apply_fails_once() {
    let errnos = [Errno::NOSPC, Errno::IO, Errno::MFILE, Errno::INTR];
    // Each call fails in one way, in a sweep in every way.
    let (first, turns) = if is_sweep() { (0, errnos.len()) } else { (part_of(errnos.len()), 1) };
    for (number, place) in PLACES.into_iter().enumerate() {
        for turn in first + number..first + number + turns {
            let errno = |call| errnos[(call + turn) % errnos.len()];
            sweep(place, |call| FaultyFs::new(call, errno(call)), &format!("errors, turn {turn}"));
        }
    }
}

#[test]
fn killed_at_any_call_of_undo() {
    for place in PLACES {
        let cases = Cases::new(place);
        let (_, calls) = finished(&cases, true);
        let (after, _) = finished(&cases, false);
        for call in 0..calls {
            let what = format!("kill at call {call} of {calls} of undo, {place:?}");
            let Case { world, plan, before } = cases.case();
            world.apply(&OsFs, &plan).expect("applied");
            drop(world.undo(&FaultyFs::killed(call)));
            let before = normal(before);
            assert_whole(&normal(world.snapshot()), &before, &after, &what);
            world.resume(&OsFs).expect(&what);
            assert!(world.resume(&OsFs).expect(&what).is_none());
            world.assert_clean();
            let undone = world.undo(&OsFs).expect(&what);
            assert!(undone.changed_since.is_empty(), "{what}: {undone:?}");
            let is_root =
                |path: &PathBuf| cases.place == Where::Elsewhere && path.as_os_str().is_empty();
            let strip = |tree: Tree| tree.into_iter().filter(|(path, _)| !is_root(path)).collect();
            assert_same(&strip(normal(world.snapshot())), &strip(before), &what);
        }
        println!("{calls} kills of undo, {place:?}");
    }
}

/// Whether the journal holds when apply is killed at a call.
fn is_begun(cases: &Cases, call: usize) -> bool {
    let Case { world, plan, .. } = cases.case();
    drop(world.apply(&FaultyFs::killed(call), &plan));
    world.run.path().join("journal").exists()
}

/// Kills apply, then resume; returns whether the second one came to its end.
fn kill_twice(cases: &Cases, first: usize, second: usize, after: &Tree) -> bool {
    let what = format!("kill at call {first}, then {second}, {:?}", cases.place);
    let Case { world, plan, .. } = cases.case();
    drop(world.apply(&FaultyFs::killed(first), &plan));
    let fs = FaultyFs::killed(second);
    drop(world.resume(&fs));
    world.resume(&OsFs).expect(&what);
    assert_same(&normal(world.snapshot()), after, &what);
    world.assert_clean();
    fs.calls() <= second
}

#[test]
fn killed_at_any_call_of_resume() {
    let part = part_of(3);
    for place in PLACES {
        let cases = Cases::new(place);
        let (after, calls) = finished(&cases, false);
        let last = calls * 7 / 8;
        let calls: Vec<usize> = (0..last).collect();
        // A case may take some calls more than another.
        let begun = calls.partition_point(|call| !is_begun(&cases, *call)) + 8;
        for (number, first) in [begun, begun.midpoint(last), last].into_iter().enumerate() {
            let begin = if is_sweep() { 0 } else { (number + part) % 3 };
            let mut seconds = (begin..1000).step_by(if is_sweep() { 1 } else { 3 });
            let end = seconds.find(|second| kill_twice(&cases, first, *second, &after));
            println!("{} kills of resume, {place:?}", end.expect("an end"));
        }
    }
}

#[test]
fn any_call_of_collecting_fails_once() {
    let Case { world, .. } = Cases::new(Where::Same).case();
    let expected = world.collect();
    let fs = FaultyFs::counting();
    world.collect_with(&fs).expect("collected");
    for errno in [Errno::IO, Errno::MFILE, Errno::NOMEM] {
        for call in 0..fs.calls() {
            match world.collect_with(&FaultyFs::new(call, errno)) {
                // A file of the host's that can't be read is one that differs.
                Ok(found) => assert!(found.changes.len() >= expected.changes.len(), "{call}"),
                Err(error) => assert!(matches!(error, SyncError::Io { .. }), "{call}: {error}"),
            }
        }
    }
    assert_eq!(world.collect(), expected);
}
