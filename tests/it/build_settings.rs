//! Settings of repositories among the inputs of actions.

use std::fs;

use crate::harness::Project;

/// A token in the settings of the repository is nobody's input, and no result depends on it.
#[test]
fn credentials_of_a_repository_are_no_inputs() {
    let project = Project::new("");
    project.world.bare("git init -q . && git config user.name me && echo x >in").ok();
    let script = "cat .git/config; git config -f .git/config user.name";
    let action = ["-v", "--input", "in", "--input", ".git/**", "--", "sh", "-c", script];
    let with = |token: &str| {
        let header = format!("AUTHORIZATION: basic {token}");
        project.world.bare(&format!("git config http.extraheader '{header}'")).ok();
        project.build(&action)
    };
    let first = with("canary-1");
    assert!(first.ok().ends_with("me\n") && !first.stdout.contains("canary"), "{first:?}");
    assert!(first.stderr.contains("1 executed"), "{first:?}");
    let second = with("canary-2");
    assert_eq!(second.ok(), first.ok());
    assert!(second.stderr.contains("1 from the cache"), "it is the same without: {second:?}");
    let control = fs::read_to_string(project.path(".git/config")).expect("settings");
    assert!(control.contains("canary-2"), "the user's own stay");
    // Another setting is an input as any.
    project.world.bare("git config user.name you").ok();
    assert!(project.build(&action).ok().ends_with("you\n"));
}

/// Whoever took a repository apart, or names one file of it alone, sees no more.
#[test]
fn credentials_of_what_is_hardly_a_repository_are_no_inputs() {
    let project = Project::new("");
    project.write("in", "");
    let token = "[http]\n\textraheader = AUTHORIZATION: basic canary\n";
    for path in [
        ".git/modules/lib/config",
        "vendor/x.git/config",
        "vendor/x.git/worktrees/w/config.worktree",
        ".git/modules/lib/worktrees/w/config.worktree",
    ] {
        project.write(path, token);
        let said = project.build(&["--input", "in", "--input", path, "--", "cat", path]);
        assert!(!said.ok().contains("canary"), "{path}: {said:?}");
    }
    project.write("plain/config", token);
    let control = project.build(&["--input", "plain/config", "--", "cat", "plain/config"]);
    assert!(control.ok().contains("canary"), "any other file is seen as it is");
}
