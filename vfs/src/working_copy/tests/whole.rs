//! What was staged, looked at again before it lands.

use super::*;

/// A change of one file beside another, and of one in a directory.
fn staged(world: &World) -> Captured {
    world.run("echo x > new; mkdir d; echo y > d/in");
    world.capture().expect("captured")
}

fn is_still_whole(world: &World, captured: &Captured) -> bool {
    let [root, git, staging] = ["host", "host/.git", "staging"].map(|name| world.path().join(name));
    let objects = vec![git.join("objects"), staging];
    let places = Places { root, git: [git.clone(), git], objects };
    let repository = Repository::open_at(&places).expect("a repository");
    let tips = [captured.tip.parse().expect("an id")];
    is_whole(&OsFs, world.open("staging").as_fd(), &repository, &tips)
}

/// The file of an object.
fn object(world: &World, dir: &str, id: &str) -> PathBuf {
    let (fan, rest) = id.split_at(2);
    world.path().join(dir).join(fan).join(rest)
}

/// The content `y`, a line.
const Y: &str = "975fbec8256d3e8a3797e7a3611380f27c49f4ac";
/// The content `1`, a line, which the repository had.
const ONE: &str = "d00491fd7e5bb6fa28c517a0bb32b8b506539d4d";

#[test]
fn what_was_staged_is_whole_until_something_is_lost() {
    type Loss = (&'static str, fn(&World, &Captured));
    let losses: [Loss; 5] = [
        ("a content", |world, _| {
            fs::remove_file(object(world, "staging", Y)).expect("removed");
        }),
        ("the bytes of a content", |world, _| {
            let path = object(world, "staging", Y);
            fs::remove_file(&path).expect("removed");
            fs::write(path, "").expect("written");
        }),
        ("the right bytes", |world, captured| {
            let path = object(world, "staging", Y);
            let other = fs::read(object(world, "staging", &captured.tip)).expect("read");
            fs::remove_file(&path).expect("removed");
            fs::write(path, other).expect("written");
        }),
        ("the commit", |world, captured| {
            fs::remove_file(object(world, "staging", &captured.tip)).expect("removed");
        }),
        ("what the repository had", |world, _| {
            fs::remove_file(object(world, "host/.git/objects", ONE)).expect("removed");
        }),
    ];
    for (what, lose) in losses {
        let world = World::small("echo 1 > top");
        let captured = staged(&world);
        assert!(is_still_whole(&world, &captured));
        lose(&world, &captured);
        assert!(!is_still_whole(&world, &captured), "{what}");
    }
}

#[test]
fn what_landed_is_whole_without_staged_objects() {
    let world = World::small("echo 1 > top");
    let captured = staged(&world);
    world.land(&captured);
    in_user_namespace(world.path(), "rm -r staging/*");
    assert!(is_still_whole(&world, &captured));
}
