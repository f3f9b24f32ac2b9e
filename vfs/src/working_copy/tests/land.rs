//! Objects on their way into a repository.

use super::*;

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
