//! Random trees, random operations: written back they give what they give without an overlay, and
//! undone the tree of before.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;

use super::super::testing::*;
use super::super::*;
use crate::fs::OsFs;
use crate::testing::in_user_namespace;

/// Names of a small tree, so that operations meet.
const NAMES: &[&str] = &["a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "-x", "n w"];
const DIRS: &[&str] = &["d", "d/e", "f", "f/g"];

#[derive(Clone, Debug)]
enum Act {
    Write(usize, u8),
    Append(usize),
    Truncate(usize, u32),
    Rename(usize, usize),
    Link(usize, usize),
    Symlink(usize),
    Mode(usize, u32),
    Time(usize, u32),
    DirTime(usize, u32),
    Remove(usize),
    MakeDir(usize),
    RemoveDir(usize),
    DirMode(usize, u32),
    TypeSwap(usize),
    Hole(usize),
}

/// Commands go on after one that fails, as they do alike on both sides.
fn script(act: &Act) -> String {
    let name = |at: &usize| format!("'./{}'", NAMES[at % NAMES.len()]);
    let dir = |at: &usize| format!("'./{}'", DIRS[at % DIRS.len()]);
    match act {
        Act::Write(at, byte) => format!("echo {byte} > {}", name(at)),
        Act::Append(at) => format!("echo more >> {}", name(at)),
        Act::Truncate(at, size) => format!("[ -f {0} ] && truncate -s {size} {0}", name(at)),
        Act::Rename(one, other) => {
            format!("[ ! -d {0} ] && [ ! -d {1} ] && mv -f {0} {1}", name(one), name(other))
        }
        Act::Link(one, other) => {
            format!("[ -f {0} ] && [ ! -L {0} ] && ln {0} {1}", name(one), name(other))
        }
        Act::Symlink(at) => format!("[ ! -d {0} ] && ln -sfn a {0}", name(at)),
        Act::Mode(at, mode) => {
            format!("[ -f {0} ] && [ ! -L {0} ] && chmod {mode:o} {0}", name(at))
        }
        Act::Time(at, time) => format!("[ -e {0} ] && touch -h -d @{time}.000000007 {0}", name(at)),
        Act::DirTime(at, time) => format!("[ -d {0} ] && touch -d @{time}.5 {0}", dir(at)),
        Act::Remove(at) => format!("rm -rf {}", name(at)),
        Act::MakeDir(at) => format!("mkdir {}", dir(at)),
        Act::RemoveDir(at) => format!("rm -rf {}", dir(at)),
        Act::DirMode(at, mode) => format!("[ -d {0} ] && chmod {mode:o} {0}", dir(at)),
        Act::TypeSwap(at) => format!("rm -rf {0}; mkdir {0}; echo in > {0}/in", name(at)),
        Act::Hole(at) => {
            format!("[ -d {0} ] || {{ truncate -s 5M {0}; echo end >> {0}; }}", name(at))
        }
    }
}

fn act() -> impl Strategy<Value = Act> {
    let name = || 0..NAMES.len();
    let dir = || 0..DIRS.len();
    prop_oneof![
        (name(), any::<u8>()).prop_map(|(at, byte)| Act::Write(at, byte)),
        name().prop_map(Act::Append),
        (name(), 0..5000_u32).prop_map(|(at, size)| Act::Truncate(at, size)),
        (name(), name()).prop_map(|(one, other)| Act::Rename(one, other)),
        (name(), name()).prop_map(|(one, other)| Act::Link(one, other)),
        name().prop_map(Act::Symlink),
        (name(), prop_oneof![Just(0o600), Just(0o755), Just(0o444), Just(0o1644)])
            .prop_map(|(at, mode)| Act::Mode(at, mode)),
        (name(), 1..1_000_000_000_u32).prop_map(|(at, time)| Act::Time(at, time)),
        (dir(), 1..1_000_000_000_u32).prop_map(|(at, time)| Act::DirTime(at, time)),
        name().prop_map(Act::Remove),
        dir().prop_map(Act::MakeDir),
        dir().prop_map(Act::RemoveDir),
        (dir(), prop_oneof![Just(0o700), Just(0o755), Just(0o1777)])
            .prop_map(|(at, mode)| Act::DirMode(at, mode)),
        name().prop_map(Act::TypeSwap),
        name().prop_map(Act::Hole),
    ]
}

pub(super) fn acts(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let lines = |acts: Vec<Act>| {
        acts.iter().map(|act| format!("{{ {}; }} 2> /dev/null || :\n", script(act))).collect()
    };
    proptest::collection::vec(act(), length).prop_map(lines)
}

/// Leaves what does not depend on when it was done.
fn timeless(tree: BTreeMap<PathBuf, String>) -> BTreeMap<PathBuf, String> {
    let short = |text: String| {
        let (mode, rest) = text.split_once(' ').expect("a mode");
        let (time, rest) = rest.split_once(' ').expect("a time");
        let is_now = time
            .split('.')
            .next()
            .and_then(|time| time.parse::<u64>().ok())
            .is_some_and(|time| time > 1_000_000_000);
        format!("{mode} {} {rest}", if is_now { "now" } else { time })
    };
    tree.into_iter().map(|(path, text)| (path, short(text))).collect()
}

fn times(tree: &BTreeMap<PathBuf, String>) -> BTreeMap<PathBuf, String> {
    let time = |text: &String| text.split(" = ").next().unwrap_or_default().to_owned();
    tree.iter().map(|(path, text)| (path.clone(), time(text))).collect()
}

fn write_back_is_exact(place: Where, tree: &str, run: &str) {
    // Links of before the run break in an overlay; so there are none.
    let tree = format!(
        "mkdir -p d/e f; {tree}\nfor f in * */* */*/*; do [ -f \"./$f\" ] && [ ! -L \"./$f\" ] && {{ cp -p \"./$f\" ./t-t; mv -f ./t-t \"./$f\"; }}; done; :"
    );
    let world = World::new(place, &tree);
    shell(world.run.path(), &format!("cp -a '{}' bare", world.root().display()));
    let before = world.snapshot();
    world.guest(&format!("{run}\ncp -a . ../copy"));
    // Root of a user namespace here too: bits are no obstacle to either.
    in_user_namespace(&world.run.path().join("bare"), run);
    let copy = snapshot(&world.run.path().join("copy"));
    let bare = snapshot(&world.run.path().join("bare"));
    let report = world.sync(OnConflict::Host);
    assert!(report.is_complete(), "{report:?}");
    let now = world.snapshot();
    assert_same(
        &times(&now),
        &times(&copy),
        &format!("{place:?}: as the run saw it\n{tree}\n--\n{run}"),
    );
    assert_same(
        &timeless(now),
        &timeless(bare),
        &format!("{place:?}: as without an overlay\n{tree}\n--\n{run}"),
    );
    assert_eq!(told(&world.collect()), [""; 0]);
    let undone = world.undo(&OsFs).expect("undone");
    assert!(undone.changed_since.is_empty() && undone.failed.is_empty(), "{undone:?}");
    assert_same(&world.snapshot(), &before, &format!("{place:?}: undone\n{tree}\n--\n{run}"));
    shell(world.run.path(), "rm -rf bare copy");
    world.assert_clean();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_sweep() { 96 } else { 40 }))]

    #[test]
    fn within_one_file_system(tree in acts(0..20), run in acts(1..24)) {
        write_back_is_exact(Where::Same, &tree, &run);
    }

    #[test]
    fn between_two_file_systems(tree in acts(0..20), run in acts(1..24)) {
        write_back_is_exact(Where::Elsewhere, &tree, &run);
    }
}
