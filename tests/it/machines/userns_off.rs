//! A machine whose ordinary users have no user namespaces: nothing starts, unless the level that needs
//! none was asked for.

use super::{diagnosis, findings, refused, switch};
use crate::harness::{World, elsewhere};

/// A machine without user namespaces; else says that the test is for one.
fn world() -> Option<World> {
    let is_off = switch("/proc/sys/user/max_user_namespaces").as_deref() == Some("0");
    if !is_off {
        elsewhere("user namespaces are there");
    }
    is_off.then(World::new)
}

#[test]
fn a_view_is_refused_and_the_remedy_named() {
    let Some(world) = world() else { return };
    for options in [&[][..], &["--require", "full"], &["--require", "namespaces"]] {
        let message = refused(&world, options);
        assert!(message.contains("user.max_user_namespaces"), "{message}");
        assert!(message.contains("sudo sysctl user.max_user_namespaces="), "{message}");
    }
}

#[test]
fn doctor_names_the_same_remedy() {
    let Some(world) = world() else { return };
    let (code, diagnosis) = diagnosis(&world);
    assert_eq!(code, 122, "{diagnosis}");
    assert_ne!(diagnosis["level"], "full");
    for name in ["sandbox", "userns-count"] {
        let found = findings(&diagnosis, name);
        assert!(found[0].contains("(sudo sysctl user.max_user_namespaces="), "{found:?}");
    }
}

#[test]
fn level_landlock_holds_or_is_refused() {
    let Some(world) = world() else { return };
    world.write("home/secret", "secret\n");
    let options = ["run", "--require", "landlock", "--workspace", "rw"];
    let inside = world.run(&options, "cat ~/secret; echo end");
    if inside.code == 122 {
        assert!(inside.stderr.contains("scope of signals"), "{}", inside.stderr);
        assert_eq!(inside.stdout, "");
        return;
    }
    assert_eq!(inside.ok(), "end\n");
    assert!(inside.stderr.contains("Permission denied"), "{}", inside.stderr);
    assert_eq!(world.bare("cat ~/secret").ok(), "secret\n");
}
