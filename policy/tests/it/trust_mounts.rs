//! Mounts of a project file that is not trusted, and what of an enclosing one holds by what is mounted.

use endow_policy::{FileKind, Vars, View, compose, judge, narrowed};

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

/// Returns the patterns that hold of the file of the project around `sub`, a repository, in a run there.
fn patterns_in_sub(user: &str) -> Vec<String> {
    let sub = host("/home/u/src/app/sub");
    let vars = Vars { cwd: sub.clone(), git_root: Some(sub), ..vars() };
    let weaker = compose(&crate::harness::user(user), &vars).expect("composes");
    let deny = "[deny]\npatterns = [\"secrets/x\", \"{sub,lib}/key\", \"*.pem\"]";
    let file = text(FileKind::Project, deny);
    let narrowed = narrowed(&file, &weaker, &View::of(&weaker, &vars), &vars);
    narrowed.deny.patterns.iter().map(|it| it.value.clone()).collect()
}

/// A command makes a directory a repository, and the run shows as much as before.
#[test]
fn patterns_of_an_enclosing_project_hold_where_a_grant_shows_it() {
    assert_eq!(patterns_in_sub(""), ["/key", "*.pem"], "control");
    let written = ["secrets/x", "{sub,lib}/key", "*.pem"];
    for mount in
        ["\"~/src/app\" = \"cow\"", "\"~/src\" = \"ro\"", "\"/work\" = { host = \"~/src/app\" }"]
    {
        assert_eq!(patterns_in_sub(&format!("[mounts]\n{mount}")), written, "{mount}");
    }
    let both = "[mounts]\n\"~/src/app\" = \"ro\"\n\"~/src/app/sub\" = \"cow\"";
    assert_eq!(patterns_in_sub(both), ["secrets/x", "/key", "{sub,lib}/key", "*.pem"]);
}
