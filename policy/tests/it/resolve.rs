//! Where the workspace and the start are.

use endow_policy::{
    BuildRoot, ErrorKind, FileKind, Flags, PolicyText, RemoteMode, Sources, StateRules, Vars,
    compose, parse, resolve,
};
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
    assert_snapshot!(show(&Sources::default(), &vars()), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home/u/src/app Cow Workspace Physical { host: HostPath("/home/u/src/app") } <- default
    "#);
    let below = Vars { cwd: host("/home/u/src/app/sub"), ..vars() };
    assert_snapshot!(show(&Sources::default(), &below), @r#"
    workspace /home/u/src/app, start /home/u/src/app/sub
    /home/u/src/app Cow Workspace Physical { host: HostPath("/home/u/src/app") } <- default
    "#);
    assert_snapshot!(show(&Sources::default(), &vars_in("/home/u/notes")), @r#"
    workspace /home/u/notes, start /home/u/notes
    /home/u/notes Cow Workspace Physical { host: HostPath("/home/u/notes") } <- default
    "#);
}

#[test]
fn workspace_access() {
    let ro = with(|flags| flags.workspace = Some("ro".to_owned()));
    assert_snapshot!(show(&ro, &vars()), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home/u/src/app Ro Workspace Physical { host: HostPath("/home/u/src/app") } <- --workspace ro
    "#);
    assert_snapshot!(show(&user("[workspace]\naccess = \"cow\"\nroot = \"cwd\""), &vars()), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home/u/src/app Cow Workspace Physical { host: HostPath("/home/u/src/app") } <- ~/.config/endow/policy.toml:3
    "#);
    assert_snapshot!(show(&user("[workspace]\nroot = \"~/src\""), &vars()), @r#"
    workspace /home/u/src, start /home/u/src/app
    /home/u/src Cow Workspace Physical { host: HostPath("/home/u/src") } <- default
    "#);
}

#[test]
fn workspace_of_a_linked_worktree() {
    let linked = Vars { git_dirs: vec![host("/home/u/main/.git")], ..vars() };
    assert_snapshot!(show(&Sources::default(), &linked), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home/u/main/.git Cow Workspace Physical { host: HostPath("/home/u/main/.git") } <- default
    /home/u/src/app Cow Workspace Physical { host: HostPath("/home/u/src/app") } <- default
    "#);
    let narrow = with(|flags| flags.rw = vec!["./sub=./sub".into()]);
    assert_snapshot!(show(&narrow, &linked), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home/u/main/.git Cow Workspace Physical { host: HostPath("/home/u/main/.git") } <- default
    /home/u/src/app Cow Workspace Physical { host: HostPath("/home/u/src/app") } <- default
    /home/u/src/app/sub Rw Granted Physical { host: HostPath("/home/u/src/app/sub") } <- --rw ./sub=./sub
    "#);
    let hostile = Vars { git_dirs: vec![host("/home/u")], ..vars() };
    assert_snapshot!(show(&Sources::default(), &hostile), @"not taken as the workspace by default: /home/u");
}

#[test]
fn grant_of_the_current_directory_is_the_workspace() {
    assert_snapshot!(show(&with(|flags| flags.ro = vec![".".into()]), &vars()), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home/u/src/app Ro Workspace Physical { host: HostPath("/home/u/src/app") } <- --ro .
    "#);
    assert_snapshot!(show(&with(|flags| flags.rw = vec!["~/src".into()]), &vars()), @r#"
    workspace /home/u/src, start /home/u/src/app
    /home/u/src Rw Workspace Physical { host: HostPath("/home/u/src") } <- --rw ~/src
    "#);
    assert_snapshot!(show(&with(|flags| flags.ro = vec!["~".into()]), &vars()), @r#"
    workspace /home/u, start /home/u/src/app
    /home/u Ro Workspace Physical { host: HostPath("/home/u") } <- --ro ~
    "#);
    assert_snapshot!(show(&with(|flags| flags.tmp = vec![".".into()]), &vars()), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home/u/src/app Rw Workspace Memory { size_bytes: 268435456, inodes: None, mode: 1023 } <- --tmp .
    "#);
}

#[test]
fn grant_inside_adds() {
    assert_snapshot!(show(&with(|flags| flags.ro = vec!["./vendor".into()]), &vars()), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home/u/src/app Cow Workspace Physical { host: HostPath("/home/u/src/app") } <- default
    /home/u/src/app/vendor Ro Granted Physical { host: HostPath("/home/u/src/app/vendor") } <- --ro ./vendor
    "#);
    // The private home is deeper than this grant, so that the default workspace is needed.
    assert_snapshot!(show(&with(|flags| flags.ro = vec!["/home".into()]), &vars()), @r#"
    workspace /home/u/src/app, start /home/u/src/app
    /home Ro Granted Physical { host: HostPath("/home") } <- --ro /home
    /home/u/src/app Cow Workspace Physical { host: HostPath("/home/u/src/app") } <- default
    "#);
}

#[test]
fn grant_at_another_place_moves_the_start() {
    let below = Vars { cwd: host("/home/u/src/app/sub"), ..vars() };
    assert_snapshot!(show(&with(|flags| flags.rw = vec!["/project=..".into()]), &below), @r#"
    workspace /project, start /project/sub
    /project Rw Workspace Physical { host: HostPath("/home/u/src/app") } <- --rw /project=..
    "#);
    let two = with(|flags| flags.ro = vec!["/all=~/src".into(), "/work=.".into()]);
    assert_snapshot!(show(&two, &vars()), @r#"
    workspace /work, start /work
    /all Ro Granted Physical { host: HostPath("/home/u/src") } <- --ro /all=~/src
    /work Ro Workspace Physical { host: HostPath("/home/u/src/app") } <- --ro /work=.
    "#);
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
    assert_snapshot!(report.join("\n"), @r#"
    not taken as the workspace by default: /
    not taken as the workspace by default: /home
    not taken as the workspace by default: /home/u
    not taken as the workspace by default: /tmp
    not taken as the workspace by default: /var/tmp
    not taken as the workspace by default: /usr/share/doc
    not taken as the workspace by default: /etc
    not taken as the workspace by default: /opt
    not taken as the workspace by default: /var
    not taken as the workspace by default: /dev/shm
    not taken as the workspace by default: /proc/1
    not taken as the workspace by default: /nix/store
    not taken as the workspace by default: /run
    workspace /run/user/1000/x, start /run/user/1000/x
    workspace /opt/app, start /opt/app
    workspace /tmp/x, start /tmp/x
    workspace /var/www/app, start /var/www/app
    workspace /srv/app, start /srv/app
    "#);
    // A home that is a work tree.
    let dotfiles = Vars { cwd: host("/home/u/notes"), git_root: Some(host("/home/u")), ..vars() };
    assert_snapshot!(show(&Sources::default(), &dotfiles), @"not taken as the workspace by default: /home/u");
}

#[test]
fn no_workspace() {
    let none = |flags: &mut Flags| flags.workspace = Some("none".to_owned());
    assert_snapshot!(show(&with(none), &vars()), @"current directory is not in the sandbox: /home/u/src/app");
    let chdir = with(|flags| {
        none(flags);
        flags.chdir = Some("/tmp".into());
    });
    assert_snapshot!(show(&chdir, &vars()), @"workspace none, start /tmp");
    assert_snapshot!(show(&with(none), &vars_in("/usr/share")), @"workspace none, start /usr/share");
    assert_snapshot!(show(&with(none), &vars_in("/home/u")), @"workspace none, start /home/u");
}

#[test]
fn errors_have_a_kind_and_hints() {
    let composed = compose(&Sources::default(), &vars_in("/home/u")).expect("composes");
    let error = resolve(&composed, &vars_in("/home/u")).expect_err("home");
    assert_eq!(error.kind(), ErrorKind::Setup);
    assert_snapshot!(error.hints().join("\n"), @r#"
    `--workspace none --chdir GUEST` starts without a workspace
    `--ro /home/u` shows it all the same
    "#);
    // A home that is a work tree.
    let dotfiles = Vars { cwd: host("/home/u/notes"), git_root: Some(host("/home/u")), ..vars() };
    let error = resolve(&composed, &dotfiles).expect_err("home");
    assert_snapshot!(error.hints().join("\n"), @r#"
    `--cow /home/u/notes` takes this directory alone, and not the repository around it
    `--workspace none --chdir GUEST` starts without a workspace
    `--ro /home/u` shows it all the same
    "#);
    let text = "[mounts]\n\"~\" = { private = true, write_back = [\"~/.x\"] }";
    let composed = compose(&user(text), &vars()).expect("composes");
    let error = resolve(&composed, &vars()).expect_err("not built");
    assert_eq!(error.kind(), ErrorKind::Policy);
}

#[test]
fn repository_at_the_root_of_actions_is_found_from_the_file_that_names_it() {
    let root = |text: &str| {
        let composed =
            compose(&user(&format!("[build]\nroot = {text}")), &vars()).expect("composes");
        let root = resolve(&composed, &vars()).expect("resolves").build_root.expect("a root");
        match root.value {
            BuildRoot::Git { repository, rev } => format!("{repository} at {rev}"),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(root("{ git = \".\", rev = \"HEAD\" }"), "/home/u/src/app at HEAD");
    assert_eq!(root("{ git = \"~/tools\", rev = \"v1\" }"), "/home/u/tools at v1");
    assert_eq!(root("\"host\""), "Host");
}

/// A token is for whom it was stated.
#[test]
fn remote_of_a_stronger_source_takes_nothing_of_another_one() {
    let remote = |more: &str| {
        let text = format!(
            "[remote]\nurl = \"grpcs://a\"\ntoken = \"env:T\"\nca = \"/ca\"\n[project.\"/home/u\".remote]\n{more}"
        );
        policy(&user(&text), &vars_in("/home/u/p")).expect("resolves").remote.expect("one")
    };
    let same = remote("url = \"grpcs://a:443\"\nmode = \"read\"");
    assert!(same.token.is_some() && same.ca.is_some() && same.mode == RemoteMode::Read);
    let added = remote("instance = \"main\"");
    assert!(added.token.is_some() && added.instance == "main");
    let other = remote("url = \"grpcs://b\"");
    assert_eq!(other.url.value.to_string(), "grpcs://b:443");
    assert!(other.token.is_none() && other.ca.is_none());
}

#[test]
fn state_is_kept_as_said_or_as_usual() {
    let state = |text: &str| policy(&user(text), &vars()).expect("resolves").state;
    let usual = StateRules { runs: 20, days: 14, size_bytes: 5 << 30, cache_bytes: 10 << 30 };
    assert_eq!(state(""), usual);
    let said = state("[state]\nruns = 0\nsize = \"1M\"\ncache = \"2G\"");
    assert_eq!(said, StateRules { runs: 0, size_bytes: 1 << 20, cache_bytes: 2 << 30, ..usual });
}

#[test]
fn state_is_no_projects_to_say() {
    let text = b"version = 1\n[project.\"/x\".state]\nruns = 1\n";
    let project = PolicyText {
        name: "x",
        kind: FileKind::Project,
        directory: None,
        text: b"version = 1\n[state]\nruns = 1\n",
    };
    let nested = PolicyText { name: "x", kind: FileKind::User, directory: None, text };
    for source in [project, nested] {
        let error = parse(source).expect_err("refused");
        assert_eq!(
            error.problems[0].message,
            "`state` belongs at the top of the user's policy.toml"
        );
    }
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

/// Who writes a path into a pattern would have nothing hidden, and no word about it.
#[test]
fn patterns_are_no_paths() {
    for (text, hint) in [
        ("[deny]\npatterns = [\"/home/u/src/app/secret\"]", "write `/secret`"),
        ("[protect]\nnames = [\"!~/x\"]", "`~` has no meaning"),
    ] {
        let composed = compose(&user(text), &vars()).expect("composes");
        let error = resolve(&composed, &vars()).expect_err("misplaced");
        assert!(error.to_string().contains("counts from the root of each mount"), "{error}");
        assert!(error.hints().join("\n").contains(hint), "{:?}", error.hints());
        assert_eq!(error.kind(), ErrorKind::Policy);
    }
    for text in ["[deny]\npatterns = [\"/secret\"]", "[deny]\npatterns = [\"/home/u/other/x\"]"] {
        policy(&user(text), &vars()).expect("resolves");
    }
}

/// Who asks on the command line that changes wait is not told afterwards that a file let them through.
#[test]
fn changes_of_a_live_workspace_cannot_wait() {
    let asked = |file: &str, word: &str, flag: fn(&mut Flags)| {
        let mut all = Flags { sync: Some(word.to_owned()), ..Flags::default() };
        flag(&mut all);
        let sources = Sources { flags: flags(&all).flags, ..user(file) };
        show(&sources, &vars()).lines().next().unwrap_or_default().to_owned()
    };
    let live = "[workspace]\naccess = \"rw\"";
    let granted = "[mounts]\n\"~/src/app\" = \"rw\"";
    let nothing = |_: &mut Flags| ();
    for file in [live, granted] {
        for word in ["review", "discard", "apply-ok"] {
            let said = asked(file, word, nothing);
            assert_eq!(said, "changes can't wait: the workspace is live: /home/u/src/app");
        }
        let starts = "workspace /home/u/src/app, start /home/u/src/app";
        assert_eq!(asked(file, "apply", nothing), starts);
        assert_eq!(asked(file, "review", |it| it.rw = vec![".".into()]), starts);
        assert_eq!(asked(file, "review", |it| it.cow = vec![".".into()]), starts);
    }
    for file in [live, granted] {
        let only = |it: &mut Flags| it.sync_only = vec!["dist/**".to_owned()];
        let said = asked(file, "apply", only);
        assert_eq!(said, "no change is left out: the workspace is live: /home/u/src/app");
        let buffered = |it: &mut Flags| {
            (it.sync_only, it.cow) = (vec!["dist/**".to_owned()], vec![".".into()]);
        };
        assert_eq!(
            asked(file, "apply", buffered),
            "workspace /home/u/src/app, start /home/u/src/app"
        );
    }
    let in_file = format!("{live}\n[sync]\nonly = [\"dist/**\"]");
    assert!(asked(&in_file, "apply", nothing).starts_with("workspace "), "a file says both");
    assert_eq!(
        asked(live, "review", |it| it.workspace = Some("cow".to_owned())),
        "workspace /home/u/src/app, start /home/u/src/app"
    );
}
