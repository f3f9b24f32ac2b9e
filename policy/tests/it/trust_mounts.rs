//! Mounts of a project file that is not trusted.

use endow_policy::{FileKind, Vars, View, compose, judge};

use crate::harness::*;

/// Returns whether a project file gives more than a user file.
fn gives(user: &str, project: &str, vars: &Vars) -> bool {
    let weaker = compose(&crate::harness::user(user), vars).expect("composes");
    let file = text(FileKind::Project, project);
    !judge(&file, &weaker, &View::of(&weaker, vars), vars).grants.is_empty()
}

/// Between the grant that holds the start and the start it would keep that grant from being the workspace, and the
/// default one is written back.
#[test]
fn memory_of_a_project_takes_no_grant_from_the_start() {
    let vars = Vars { cwd: host("/home/u/src/app/a/b"), ..vars() };
    let grants = |user: &str, place: &str| {
        gives(user, &format!("[mounts]\n\"{place}\" = {{ memory = true }}"), &vars)
    };
    for user in ["", "[mounts]\n\"~/src\" = \"ro\"", "[mounts]\n\"/work\" = { host = \"~/src\" }"] {
        for place in ["a/b/c", "a/c", "c", "/home/u/other"] {
            assert!(!grants(user, place), "control: {user}: {place}");
        }
    }
    assert!(grants("[mounts]\n\"~/src\" = \"ro\"", "a"));
    assert!(grants("[mounts]\n\"~/src\" = { access = \"cow\", sync = \"discard\" }", "a"));
    assert!(grants("[mounts]\n\"~\" = \"ro\"", "~/src"));
}

/// Without its source the mount would be none, and show what it hides.
#[test]
fn a_mount_that_is_needed_stays_so() {
    let needed = "[mounts]\n\"~/src/app/keys\" = { host = \"/empty\" }".to_owned();
    let grants = |user: &str, project: &str| gives(user, project, &vars());
    let optional = needed.replace(" }", ", optional = true }");
    assert!(grants(&needed, &optional));
    assert!(!grants(&needed, &needed), "control");
    assert!(!grants(&optional, &optional), "control");
    assert!(!grants(&optional, &needed), "control");
}
