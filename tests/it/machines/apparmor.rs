//! A machine where AppArmor withholds user namespaces: endow's profile gives them to endow alone.

use std::path::Path;

use super::{diagnosis, findings, refused, switch};
use crate::harness::{World, copy_of_endow, elsewhere, said};

const RESTRICTS: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

/// Where `ci/packaging/apparmor/endow` is installed.
const PROFILE: &str = "/etc/apparmor.d/endow";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Profile {
    Missing,
    Installed,
}

/// Whether this test is denied user namespaces: by Ubuntu's switch, or by a profile.
fn restricts() -> bool {
    let label = switch("/proc/self/attr/current").unwrap_or_default();
    let switched = switch(RESTRICTS).as_deref() == Some("1") && label == "unconfined";
    switched || label.ends_with("(enforce)")
}

/// A machine that restricts, with or without the profile; else says that the test is for one.
fn world(wanted: Profile) -> Option<World> {
    let found = Path::new(PROFILE).exists();
    let profile = if found { Profile::Installed } else { Profile::Missing };
    if !restricts() {
        elsewhere("AppArmor does not restrict user namespaces");
    } else if profile != wanted {
        let is = if found { "is" } else { "is not" };
        elsewhere(&format!("endow's profile {is} installed"));
    }
    (restricts() && profile == wanted).then(World::new)
}

#[test]
fn nothing_starts_without_the_profile() {
    let Some(world) = world(Profile::Missing) else { return };
    for options in [&[][..], &["--require", "full"], &["--require", "namespaces"]] {
        let message = refused(&world, options);
        assert!(message.contains("AppArmor"), "{message}");
        assert!(message.contains("install endow's AppArmor profile"), "{message}");
    }
}

#[test]
fn doctor_names_the_profile() {
    let Some(world) = world(Profile::Missing) else { return };
    let (code, diagnosis) = diagnosis(&world);
    assert_eq!(code, 122, "{diagnosis}");
    let found = findings(&diagnosis, "sandbox");
    assert!(found[0].contains("install endow's AppArmor profile"), "{found:?}");
}

#[test]
fn everything_holds_with_the_profile() {
    let Some(world) = world(Profile::Installed) else { return };
    let (code, diagnosis) = diagnosis(&world);
    assert_eq!((code, &diagnosis["level"]), (0, &"full".into()), "{diagnosis}");
    world.write("home/secret", "secret\n");
    let inside = world.run(&["run", "--require", "full"], "cat ~/secret; echo end");
    assert_eq!(inside.ok(), "end\n");
}

/// The profile is about a program at its place, not about whoever calls itself endow.
#[test]
fn a_copy_elsewhere_gets_nothing_from_the_profile() {
    let Some(world) = world(Profile::Installed) else { return };
    let copy = copy_of_endow(world.root());
    let said = said(world.command(copy).args(["run", "--", "echo", "started"]));
    assert!(said.fails(122).contains("AppArmor"), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
fn a_command_inside_has_no_user_namespaces() {
    let Some(world) = world(Profile::Installed) else { return };
    let inside = world.run(&["run"], "unshare -U true");
    assert_ne!(inside.code, 0, "{inside:?}");
}
