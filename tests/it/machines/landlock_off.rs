//! A kernel that was booted without Landlock: level `full` is refused, `namespaces` holds.

use super::{diagnosis, findings, refused};
use crate::harness::{World, elsewhere};

/// A machine without Landlock; else says that the test is for one.
fn world() -> Option<World> {
    let world = World::new();
    let is_off = findings(&diagnosis(&world).1, "landlock").iter().any(|it| it.contains("off"));
    if !is_off {
        elsewhere("Landlock is there");
    }
    is_off.then_some(world)
}

#[test]
fn full_is_refused_and_the_remedy_named() {
    let Some(world) = world() else { return };
    for options in [&[][..], &["--require", "full"], &["--require", "landlock"]] {
        let message = refused(&world, options);
        assert!(message.contains("Landlock") && message.contains("lsm="), "{message}");
    }
}

#[test]
fn doctor_says_which_level_is_left() {
    let Some(world) = world() else { return };
    let (code, diagnosis) = diagnosis(&world);
    assert_eq!((code, &diagnosis["level"]), (122, &"namespaces".into()), "{diagnosis}");
    let found = findings(&diagnosis, "landlock");
    assert!(found[0].starts_with("missing: ") && found[0].contains("lsm="), "{found:?}");
}

#[test]
fn namespaces_hold_by_themselves() {
    let Some(world) = world() else { return };
    world.write("home/secret", "secret\n");
    world.write("home/project/.env", "KEY=secret\n");
    world.write("home/data/file", "kept\n");
    let data = world.home().join("data");
    let ro = format!("{}", data.display());
    let script = format!(
        "cat ~/secret .env; echo new >{ro}/file; rm -f {ro}/file; echo $(cat {ro}/file); \
         grep -E '^(Seccomp|NoNewPrivs|CapEff):' /proc/self/status"
    );
    let options = ["run", "--require", "namespaces", "--workspace", "rw", "--ro", &ro];
    let inside = world.run(&options, &script);
    let expected = "kept\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";
    assert_eq!(inside.ok(), expected, "{}", inside.stderr);
    let control = world.bare("cat ~/secret .env");
    assert_eq!(control.ok(), "secret\nKEY=secret\n");
}
