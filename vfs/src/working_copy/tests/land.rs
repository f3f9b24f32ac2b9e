//! Objects on their way into a repository.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::fs::faulty::FaultyFs;
use crate::tree::remove_tree;

fn staged(world: &World) -> Captured {
    world.run(
        "echo x > top; git add -A; git commit -qm second; mkdir n; echo y > n/y; echo z > n/z",
    );
    world.capture().expect("captured")
}

#[test]
fn objects_land_once() {
    let world = World::small("echo 1 > top");
    let captured = staged(&world);
    world.land(&captured);
    let (staging, objects) = (world.open("staging"), world.open("host/.git/objects"));
    assert_eq!(land_objects(&OsFs, staging.as_fd(), objects.as_fd()).expect("again"), 0);
    world.fsck();
}

#[test]
fn object_without_a_byte_is_none() {
    let world = World::small("echo 1 > top");
    let captured = staged(&world);
    // As a loss of power leaves one.
    let (fan, rest) = captured.tip.split_at(2);
    let fan = world.path().join("host/.git/objects").join(fan);
    fs::create_dir_all(&fan).expect("made");
    fs::write(fan.join(rest), "").expect("written");
    in_user_namespace(world.path(), "rm -r staging/*");
    assert_eq!(world.capture().expect("captured"), captured);
    world.land(&captured);
}

#[test]
fn directories_of_objects_have_the_bits_of_the_one_above() {
    for mode in [0o2775, 0o700] {
        let world = World::small("echo 1 > top");
        let captured = staged(&world);
        let objects = world.path().join("host/.git/objects");
        fs::set_permissions(&objects, fs::Permissions::from_mode(mode)).expect("bits");
        let is_fan = |name: &std::ffi::OsStr| name.len() == 2;
        let fans = || fs::read_dir(&objects).expect("listed").map(|it| it.expect("an entry"));
        let before: Vec<_> = fans().map(|it| it.file_name()).collect();
        world.land(&captured);
        let new = fans().filter(|it| is_fan(&it.file_name()) && !before.contains(&it.file_name()));
        let modes = new.map(|it| it.metadata().expect("a status").permissions().mode() & 0o7777);
        let modes: Vec<_> = modes.collect();
        assert!(!modes.is_empty() && modes.iter().all(|it| *it == mode), "{modes:?}");
    }
}

#[test]
fn objects_land_on_another_file_system() {
    let world = World::small("echo 1 > top");
    let captured = staged(&world);
    let elsewhere = world.scratch.elsewhere();
    let from = world.path().join("staging");
    let script = format!("cp -a {}/. {}", from.display(), elsewhere.path().display());
    in_user_namespace(world.path(), &script);
    let objects = world.open("host/.git/objects");
    // What a copy left that was cut off is no obstacle.
    let landed = land_objects(&OsFs, elsewhere.fd(), objects.as_fd()).expect("landed");
    assert_eq!(landed, captured.objects);
    world.land(&Captured { objects: 0, ..captured });
    let left = fs::read_dir(world.path().join("host/.git/objects")).expect("listed");
    let left = left.map(|entry| entry.expect("an entry").file_name()).filter(|name| name.len() > 4);
    assert_eq!(left.count(), 0);
}

#[test]
fn what_is_no_object_does_not_land() {
    for path in ["config", "x", "zz", "ab/short", "ab/zz"] {
        let world = World::small("echo 1 > top");
        let path = world.path().join("staging").join(path);
        fs::create_dir_all(path.parent().expect("above")).expect("made");
        fs::write(&path, "x").expect("written");
        let before = world.host_files();
        let (staging, objects) = (world.open("staging"), world.open("host/.git/objects"));
        land_objects(&OsFs, staging.as_fd(), objects.as_fd()).expect_err("no object");
        assert_eq!(world.host_files(), before);
        world.fsck();
    }
}

/// Two branches, a merge, a tag of a tag, and what was not committed, in directories of some depth.
const HISTORY: &str = "mkdir -p a/b/c; echo 1 > a/b/c/one; git add -A; git commit -qm one\n\
    git checkout -q -b side; echo 2 > a/b/two; git add -A; git commit -qm two\n\
    git checkout -q main; echo 3 > three; git add -A; git commit -qm three; git merge -q -m all side\n\
    git tag -a -m v1 v1; git tag -a -m v2 v2 v1; mkdir a/d; echo 4 > a/d/four";

/// Cuts a landing off at each of its calls, and returns how often an object was there then that
/// leads to one which is not.
fn broken_landings(world: &World, staging: &File) -> usize {
    let all = "cd host; export GIT_OBJECT_DIRECTORY=../cut GIT_ALTERNATE_OBJECT_DIRECTORIES=.git/objects\n\
        git cat-file --batch-all-objects --batch-check='%(objectname)' > ../all\n\
        git rev-list --objects --stdin < ../all > ../reached 2>&1 || echo broken";
    let cut = world.path().join("cut");
    let (mut broken, mut before) = (0, 0);
    for call in 0.. {
        fs::create_dir(&cut).expect("made");
        let fs = FaultyFs::killed(call);
        let landed = land_objects(&fs, staging.as_fd(), world.open("cut").as_fd());
        let (is_over, there) = (fs.calls() <= call, objects_in(&cut));
        assert_eq!(landed.is_ok(), is_over, "call {call}");
        if there > before {
            broken += usize::from(!in_user_namespace(world.path(), all).is_empty());
        }
        let name = cut.file_name().expect("a name");
        remove_tree(&OsFs, world.open(".").as_fd(), name).expect("removed");
        if is_over {
            break;
        }
        before = there;
    }
    broken
}

/// Counts objects that have their names.
fn objects_in(dir: &Path) -> usize {
    let entries = |dir: &Path| fs::read_dir(dir).expect("listed").map(|it| it.expect("an entry"));
    let fans = entries(dir).filter(|it| it.file_name().len() == 2);
    fans.map(|fan| entries(&fan.path()).count()).sum()
}

#[test]
fn landing_that_is_cut_off_leaves_no_object_without_what_it_leads_to() {
    let world = World::small("echo 1 > top");
    world.run(HISTORY);
    let captured = world.capture().expect("captured");
    assert_eq!(broken_landings(&world, &world.open("staging")), 0);
    // In the order of names there are such moments.
    let unordered = world.path().join("unordered");
    in_user_namespace(world.path(), "cp -a staging unordered; rm unordered/order");
    assert_ne!(broken_landings(&world, &File::open(unordered).expect("opened")), 0);
    world.land(&captured);
}

#[test]
fn landing_that_is_cut_off_on_the_way_from_another_file_system_is_whole_too() {
    let world = World::small("echo 1 > top");
    world.run(HISTORY);
    world.capture().expect("captured");
    let elsewhere = world.scratch.elsewhere();
    let script = format!("cp -a staging/. {}", elsewhere.path().display());
    in_user_namespace(world.path(), &script);
    assert_eq!(broken_landings(&world, &File::open(elsewhere.path()).expect("opened")), 0);
}

#[test]
fn order_that_names_what_is_no_object_is_refused() {
    for line in ["../x", "config", "zz", "ab"] {
        let world = World::small("echo 1 > top");
        fs::write(world.path().join("staging/order"), line).expect("written");
        let (staging, objects) = (world.open("staging"), world.open("host/.git/objects"));
        land_objects(&OsFs, staging.as_fd(), objects.as_fd()).expect_err("no object");
        world.fsck();
    }
}
