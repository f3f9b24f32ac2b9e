//! Where the workspace and the start are.

use endow_policy::{ErrorKind, Flags, Sources, Vars, compose, resolve};
use insta::assert_snapshot;

use crate::harness::*;

/// Renders the workspace, the start and the mounts that are not the base's.
fn show(sources: &Sources, vars: &Vars) -> String {
    match policy(sources, vars) {
        Ok(policy) => {
            let workspace =
                policy.workspace.as_ref().map_or("none".to_owned(), ToString::to_string);
            format!("workspace {workspace}, start {}\n{}", policy.chdir, own_mounts(&policy))
        }
        Err(error) => error,
    }
}

fn with(flag: impl FnOnce(&mut Flags)) -> Sources {
    let mut all = Flags::default();
    flag(&mut all);
    flags(&all)
}

#[test]
fn workspace_is_the_work_tree() {
    assert_snapshot!(show(&Sources::default(), &vars()), @"");
    let below = Vars { cwd: host("/home/u/src/app/sub"), ..vars() };
    assert_snapshot!(show(&Sources::default(), &below), @"");
    assert_snapshot!(show(&Sources::default(), &vars_in("/home/u/notes")), @"");
}

#[test]
fn workspace_access() {
    let ro = with(|flags| flags.workspace = Some("ro".to_owned()));
    assert_snapshot!(show(&ro, &vars()), @"");
    assert_snapshot!(show(&user("[workspace]\naccess = \"cow\"\nroot = \"cwd\""), &vars()), @"");
    assert_snapshot!(show(&user("[workspace]\nroot = \"~/src\""), &vars()), @"");
}

#[test]
fn workspace_of_a_linked_worktree() {
    let linked = Vars { git_dirs: vec![host("/home/u/main/.git")], ..vars() };
    assert_snapshot!(show(&Sources::default(), &linked), @"");
    let narrow = with(|flags| flags.rw = vec!["./sub=./sub".into()]);
    assert_snapshot!(show(&narrow, &linked), @"");
    let hostile = Vars { git_dirs: vec![host("/home/u")], ..vars() };
    assert_snapshot!(show(&Sources::default(), &hostile), @"");
}

#[test]
fn grant_of_the_current_directory_is_the_workspace() {
    assert_snapshot!(show(&with(|flags| flags.ro = vec![".".into()]), &vars()), @"");
    assert_snapshot!(show(&with(|flags| flags.rw = vec!["~/src".into()]), &vars()), @"");
    assert_snapshot!(show(&with(|flags| flags.ro = vec!["~".into()]), &vars()), @"");
    assert_snapshot!(show(&with(|flags| flags.tmp = vec![".".into()]), &vars()), @"");
}

#[test]
fn grant_inside_adds() {
    assert_snapshot!(show(&with(|flags| flags.ro = vec!["./vendor".into()]), &vars()), @"");
    // The private home is deeper than this grant, so that the default workspace is needed.
    assert_snapshot!(show(&with(|flags| flags.ro = vec!["/home".into()]), &vars()), @"");
}

#[test]
fn grant_at_another_place_moves_the_start() {
    let below = Vars { cwd: host("/home/u/src/app/sub"), ..vars() };
    assert_snapshot!(show(&with(|flags| flags.rw = vec!["/project=..".into()]), &below), @"");
    let two = with(|flags| flags.ro = vec!["/all=~/src".into(), "/work=.".into()]);
    assert_snapshot!(show(&two, &vars()), @"");
}

#[test]
fn directories_never_taken() {
    let report: Vec<_> = [
        "/",
        "/home",
        "/home/u",
        "/tmp",
        "/var/tmp",
        "/usr/share/doc",
        "/etc",
        "/opt",
        "/var",
        "/dev/shm",
        "/proc/1",
        "/nix/store",
        "/run",
        "/run/user/1000/x",
        "/opt/app",
        "/tmp/x",
        "/var/www/app",
        "/srv/app",
    ]
    .iter()
    .map(|cwd| show(&Sources::default(), &vars_in(cwd)).lines().next().unwrap_or("").to_owned())
    .collect();
    assert_snapshot!(report.join("\n"), @"");
    // A home that is a work tree.
    let dotfiles = Vars { cwd: host("/home/u/notes"), git_root: Some(host("/home/u")), ..vars() };
    assert_snapshot!(show(&Sources::default(), &dotfiles), @"");
}

#[test]
fn no_workspace() {
    let none = |flags: &mut Flags| flags.workspace = Some("none".to_owned());
    assert_snapshot!(show(&with(none), &vars()), @"");
    let chdir = with(|flags| {
        none(flags);
        flags.chdir = Some("/tmp".into());
    });
    assert_snapshot!(show(&chdir, &vars()), @"");
    assert_snapshot!(show(&with(none), &vars_in("/usr/share")), @"");
    assert_snapshot!(show(&with(none), &vars_in("/home/u")), @"");
}

#[test]
fn errors_have_a_kind_and_hints() {
    let composed = compose(&Sources::default(), &vars_in("/home/u")).expect("composes");
    let error = resolve(&composed, &vars_in("/home/u")).expect_err("home");
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert_snapshot!(error.hints().join("\n"), @"");
    let composed = compose(&user("[state]\nruns = 1"), &vars()).expect("composes");
    let error = resolve(&composed, &vars()).expect_err("not built");
    assert_eq!(error.kind(), ErrorKind::Policy);
}

#[test]
fn mounts_are_sorted_and_single() {
    let policy = policy(&Sources::default(), &vars()).expect("resolves");
    let paths: Vec<_> = policy.mounts.iter().map(|mount| mount.at.clone()).collect();
    let mut sorted = paths.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(paths, sorted);
}
