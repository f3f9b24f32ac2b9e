//! What a run moved to where it can't go: it is in the tree at one place, whatever becomes of the layer.

use std::path::Path;

use super::super::testing::*;
use super::super::*;
use crate::fs::{Kind, OsFs};

fn paths(list: &[HeldPath]) -> Vec<&Path> {
    list.iter().map(|one| one.path.as_path()).collect()
}

fn held(path: &Path, _: Kind) -> Option<Held> {
    (path.starts_with(".vscode") || path == Path::new("x/keep"))
        .then(|| Held::Protected("p".to_owned()))
}

fn sync_with(world: &World, only: &dyn Fn(&Path) -> bool) -> SyncReport {
    let rules = Rules { held: &held, only, ..rules(OnConflict::Host) };
    world.apply(&OsFs, &plan(&world.collect(), &rules)).expect("applied")
}

#[test]
fn what_is_refused_at_its_new_place_stays_at_the_old_one() {
    for place in PLACES {
        let tree = "mkdir -p d/s/t n m; echo precious > f; echo in > d/s/in; echo t > d/s/t/t; mkfifo p
            ln -s /etc/hostname l; mkdir d/empty; chmod 4775 d/s d/empty; chmod 4755 f; echo x > gone
            echo fine > d/fine";
        let world = World::new(place, tree);
        let before = world.snapshot();
        world.guest("mv f n/f; mv p n/p; mv l n/l; mv d m/d; rm gone");
        let report = world.sync(OnConflict::Host);
        let now = world.snapshot();
        for name in ["f", "p", "l", "d", "d/s", "d/s/in", "d/s/t", "d/s/t/t", "d/empty"] {
            let [is, was] = [&now, &before].map(|tree| tree.get(Path::new(name)));
            assert!(is.is_some() && (is == was || name == "d"), "{name}: {is:?}, was {was:?}");
        }
        for name in ["n/f", "n/p", "n/l", "m/d/s", "gone", "d/fine"] {
            assert!(!now.contains_key(Path::new(name)), "{name}");
        }
        assert!(now.contains_key(Path::new("m/d/fine")));
        let moved = report.refused.iter().filter(|one| one.reason == Refusal::Moved);
        let moved: Vec<_> = moved.filter_map(|one| one.path.to_str()).collect();
        assert_eq!(moved, ["d/empty", "d/s", "d/s/in", "d/s/t", "d/s/t/t", "f", "l", "p"]);
        world.assert_clean();
    }
}

#[test]
fn what_is_held_at_its_new_place_is_held_at_the_old_one() {
    for place in PLACES {
        let world = World::new(place, "echo precious > f; echo x > gone");
        world.guest("mkdir .vscode; mv f .vscode/f; rm gone");
        let report = sync_with(&world, &|_| true);
        assert_eq!(paths(&report.held), [".vscode", ".vscode/f", "f"].map(Path::new));
        assert_eq!(report.held.last().map(|it| &it.reason), Some(&Held::Moved("p".to_owned())));
        assert!(world.root().join("f").exists() && !world.root().join("gone").exists());
        // Who names the old place alone gets no removal either.
        sync_with(&world, &|path| path == Path::new("f"));
        assert!(world.root().join("f").exists());
        // Once it is at its new place, it goes from the old one.
        let report = world.sync(OnConflict::Host);
        assert!(report.is_complete(), "{report:?}");
        assert!(world.root().join(".vscode/f").exists() && !world.root().join("f").exists());
    }
}

#[test]
fn what_the_host_stands_in_the_way_of_stays_at_the_old_place() {
    for place in PLACES {
        let world =
            World::new(place, "echo moved > f; echo old > g; mkdir x; echo k > x/keep; echo m > m");
        world.guest("mv f g; rm -r x; mv m x");
        world.host("echo changed > g");
        sync_with(&world, &|_| true);
        let text = |name| std::fs::read_to_string(world.root().join(name)).expect("a text");
        assert_eq!([text("f"), text("g")], ["moved\n", "changed\n"], "a conflict");
        // What can't take the place of a directory in which something is held.
        assert_eq!([text("m"), text("x/keep")], ["m\n", "k\n"]);
    }
}

/// Returns the removals that go with what is dropped at some paths.
fn old_with(world: &World, dropped: &[&str]) -> Vec<String> {
    let is_dropped = |path: &Path| dropped.iter().any(|it| path.starts_with(it));
    let places = old_places(&world.collect(), &is_dropped);
    places.iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn what_is_dropped_at_its_new_place_was_moved_from_the_old_one() {
    let world = World::new(Where::Same, "mkdir d; echo in > d/in; echo moved > f; echo x > gone");
    world.guest("mv f g; mv d m; rm gone; echo new > new");
    for (dropped, expected) in [
        (&["g"][..], &["f"][..]),
        (&["m"], &["d"]),
        (&["m/in"], &["d/in"]),
        (&["new"], &[]),
        (&["f"], &[]),
        (&["g", "f"], &[]),
        (&[""], &[]),
    ] {
        assert_eq!(old_with(&world, dropped), expected, "{dropped:?}");
    }
}
