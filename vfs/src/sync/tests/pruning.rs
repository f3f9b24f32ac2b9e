//! A run whose changes are written back in steps: what was is taken out of the layer each time, and
//! what was not still waits.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::testing::*;
use super::super::*;
use super::random::acts;
use crate::fs::OsFs;
use crate::fs::faulty::{FaultyFs, Race};

const TREE: &str = "mkdir -p gen/c/d other; echo b > gen/c/b; echo n > gen/c/n; echo e > gen/c/d/e
    echo f > gen/f; echo z > z; echo o > other/o";

/// Leaves what a step in between must keep: times of directories are traces.
fn view(tree: BTreeMap<PathBuf, String>) -> BTreeMap<PathBuf, String> {
    let short = |text: String| match text.split_once(' ') {
        Some((mode, rest)) if mode.starts_with('4') => {
            format!("{mode} {}", rest.split_once(' ').map_or("", |(_, rest)| rest))
        }
        _ => text.split(" = ").next().unwrap_or_default().to_owned(),
    };
    tree.into_iter().map(|(path, text)| (path, short(text))).collect()
}

/// What a run sees that goes on with this one.
fn inside(world: &World) -> BTreeMap<PathBuf, String> {
    world.guest("cp -a . ../copy");
    let copy = world.run.path().join("copy");
    let seen = view(snapshot(&copy));
    shell(world.run.path(), "rm -r copy");
    seen
}

fn paths(set: &ChangeSet) -> BTreeSet<PathBuf> {
    let told = set.changes.iter().filter(|change| !change.is_trace());
    told.map(|change| change.path.clone()).collect()
}

/// Writes back what is selected and prunes: all else waits still, and the view stays.
fn step(world: &World, what: &str, selected: &dyn Fn(&Path) -> bool) {
    let before = inside(world);
    let all = world.collect();
    let rules = Rules { only: selected, ..rules(OnConflict::Host) };
    let report = world.apply(&OsFs, &plan(&all, &rules)).expect("applied");
    assert!(report.conflicts.is_empty() && report.failed.is_empty(), "{what}: {report:?}");
    let left = world.collect();
    let (all, waiting) = (paths(&all), paths(&left));
    let applied: BTreeSet<_> = report.applied.iter().map(|it| it.path.clone()).collect();
    assert!(waiting.is_subset(&all), "{what}: {all:?} {waiting:?}");
    // Of a file with several names one may wait for the others.
    assert!((&all - &applied).is_subset(&waiting), "{what}: {all:?} {applied:?} {waiting:?}");
    world.prune();
    assert_eq!(told(&world.collect()), told(&left), "{what}: pruned, what waits is the same");
    assert_same(&inside(world), &before, &format!("{what}: the view is the same"));
}

fn finish(world: &World, what: &str, wanted: &BTreeMap<PathBuf, String>) {
    let report = world.sync(OnConflict::Host);
    assert!(report.is_complete(), "{what}: {report:?}");
    assert_same(&view(world.snapshot()), wanted, &format!("{what}: all is written back"));
    assert_eq!(told(&world.collect()), [""; 0], "{what}");
}

fn check(run: &str, selected: &[&str], waiting: &[&str]) {
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest(run);
        let wanted = inside(&world);
        step(&world, run, &|path| selected.iter().any(|it| path.starts_with(it)));
        assert_eq!(told(&world.collect()), waiting, "{place:?}: {run}");
        finish(&world, run, &wanted);
    }
}

const REMADE: &str = "rm -rf gen; mkdir -p gen/c; echo new > gen/c/n; echo 2 > z";

#[test]
fn what_was_removed_deep_in_a_directory_made_again_waits() {
    let waiting = ["D gen/c/b", "D gen/c/d/", "D gen/c/d/e", "M gen/c/n", "D gen/f"];
    check(REMADE, &["z"], &waiting);
    check(REMADE, &["gen/c/n", "gen/f"], &["D gen/c/b", "D gen/c/d/", "D gen/c/d/e", "M z"]);
    check(REMADE, &["gen/c/d/e"], &["D gen/c/b", "D gen/c/d/", "M gen/c/n", "D gen/f", "M z"]);
    check(REMADE, &["gen"], &["M z"]);
}

#[test]
fn what_was_removed_in_a_directory_moved_and_back_waits() {
    let moved = "cp -a gen t; rm -r gen; mv t gen; rm gen/c/d/e; echo 2 > z";
    check(moved, &["z"], &["D gen/c/d/e"]);
    check(&format!("{moved}; mkdir gen/c/x"), &["z"], &["D gen/c/d/e", "A gen/c/x/"]);
    check(&format!("{moved}; echo > gen/c/d/x"), &["gen/c/d/x"], &["D gen/c/d/e", "M z"]);
}

#[test]
fn what_was_moved_to_the_root_waits_for_any_other_step() {
    // Neither a stage in the root nor a step beside it looks as if the host had removed the file there.
    let moved = "mv other/o o; echo more >> o; echo 2 > gen/f; echo 2 > z";
    check(moved, &["gen/f"], &["A o", "D other/o", "M z"]);
    check(moved, &["z"], &["M gen/f", "A o", "D other/o"]);
    for place in PLACES {
        let world = World::new(place, TREE);
        world.guest(moved);
        step(&world, "before an undo", &|path| path.starts_with("gen"));
        world.undo(&OsFs).expect("undone");
        world.undo(&OsFs).expect("nothing to undo");
        step(&world, "after one", &|path| path == Path::new("z"));
        let report = world.sync(OnConflict::Host);
        assert!(report.is_complete(), "{place:?}: {report:?}");
    }
}

#[test]
fn what_the_host_removes_from_the_root_around_a_step_is_told() {
    for (place, is_during) in PLACES.into_iter().flat_map(|it| [(it, false), (it, true)]) {
        let world = World::new(place, TREE);
        world.guest("echo 2 > gen/f; echo 2 >> z; echo 3 > other/o");
        let root = world.root();
        let remove = move || shell(&root, "rm z");
        let fs = if is_during {
            FaultyFs::racing(vec![Race::Before(Box::new(remove))])
        } else {
            remove();
            FaultyFs::counting()
        };
        let only = |path: &Path| path.starts_with("gen");
        let rules = Rules { only: &only, ..rules(OnConflict::Host) };
        let report = world.apply(&fs, &plan(&world.collect(), &rules)).expect("applied");
        assert_eq!(report.applied.len(), 1, "{report:?}");
        let report = world.sync(OnConflict::Host);
        let told: Vec<_> = report.conflicts.iter().map(|it| it.path.as_path()).collect();
        assert_eq!(told, [Path::new("z")], "{place:?} {is_during}: {report:?}");
    }
}

#[test]
fn what_was_written_back_of_a_new_directory_shows_through() {
    let new = "mkdir -p n/m; echo a > n/a; echo b > n/b; echo c > n/m/c";
    check(new, &["n/a"], &["A n/b", "A n/m/", "A n/m/c"]);
    check(new, &["n/m/c"], &["A n/a", "A n/b"]);
    let instead = "rm z; mkdir z; echo a > z/a; echo b > z/b";
    check(instead, &["z/a"], &["A z/b"]);
}

fn is_selected(path: &Path, seed: u64) -> bool {
    let mut hasher = DefaultHasher::new();
    (path, seed).hash(&mut hasher);
    hasher.finish().is_multiple_of(2)
}

/// Directories made again, with and without what was in them.
fn remade() -> impl Strategy<Value = String> {
    let dir = prop_oneof![Just("d"), Just("d/e"), Just("f")];
    let script = |(dir, keeps): (&str, bool)| {
        let fill = if keeps { format!("cp -a {dir}/. t") } else { "mkdir t/e".to_owned() };
        format!("{{ mkdir t; {fill}; rm -rf {dir}; mv t {dir}; }} 2> /dev/null || rm -rf t\n")
    };
    (dir, any::<bool>()).prop_map(script)
}

fn runs() -> impl Strategy<Value = String> {
    let part = prop_oneof![2 => acts(1..4), 1 => remade()];
    // A new name of a file that waits for another step may count as one that the host removed.
    let is_kept = |line: &&str| !line.contains("&& ln './");
    let joined = move |parts: Vec<String>| -> String {
        parts.concat().split_inclusive('\n').filter(is_kept).collect()
    };
    proptest::collection::vec(part, 1..8).prop_map(joined)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_sweep() { 96 } else { 24 }))]

    #[test]
    fn steps_keep_what_waits(
        (tree, run) in (acts(4..20), runs()),
        seeds in proptest::collection::vec(any::<u64>(), 1..4),
        is_same in any::<bool>(),
    ) {
        let place = if is_same { Where::Same } else { Where::Elsewhere };
        // Links of before the run break in an overlay; so there are none.
        let tree = format!("mkdir -p d/e f; {tree}\nfor f in * */* */*/*; do [ -f \"./$f\" ] && [ ! -L \"./$f\" ] && {{ cp -p \"./$f\" ./t-t; mv -f ./t-t \"./$f\"; }}; done; :");
        let world = World::new(place, &tree);
        let what = format!("{place:?}: {tree}\n--\n{run}\n-- {seeds:?}");
        world.guest(&format!("{run}\necho > first"));
        let wanted = inside(&world);
        // Once nothing but removals was written back, what is new may look as if the host had
        // removed it.
        step(&world, &what, &|path| path == Path::new("first"));
        for seed in seeds {
            step(&world, &what, &|path| is_selected(path, seed));
        }
        finish(&world, &what, &wanted);
    }
}
