//! The `[project."PATH"]` tables of the user's file.

use endow_policy::{
    FileKind, PolicyText, Sources, Vars, compose, explain, parse, project_directories,
};
use insta::assert_snapshot;

use crate::harness::*;

/// Returns whether a table for a path holds in a directory.
fn holds(path: &str, vars: &Vars) -> bool {
    let sources = user(&format!("[project.{path:?}.deny]\npatterns = [\"held\"]"));
    holds_with(&sources, vars)
}

fn holds_with(sources: &Sources, vars: &Vars) -> bool {
    let policy = policy(sources, vars).expect("resolves");
    policy.deny.iter().any(|rule| rule.pattern == "held")
}

#[test]
fn tables_hold_in_their_directory_and_below() {
    let body = "[project.\"~/src\".mounts]\n\"./lib\" = \"ro\"\n[project.\"~/other\".mounts]\n\"/other\" = \"ro\"";
    let joined = policy(&user(body), &vars()).expect("resolves");
    let lib = explain(&joined, &guest("/home/u/src/lib")).expect("covered");
    assert_snapshot!(lib.mount.origin, @"~/.config/endow/policy.toml:3");
    assert!(explain(&joined, &guest("/other")).is_none());
    for path in ["~", "~/src/app", "/home/u/src/", "../../src", "$XDG_RUNTIME_DIR/x"] {
        let is_here = !path.starts_with('$');
        assert_eq!(holds(path, &vars()), is_here, "{path}");
    }
    let inside = vars_in("/run/user/1000/x/y");
    assert!(holds("$XDG_RUNTIME_DIR/x", &inside) && !holds("$XDG_RUNTIME_DIR/x/y/z", &inside));
}

/// A table that holds nowhere would be ignored in silence.
#[test]
fn path_that_names_no_directory_is_a_mistake() {
    let complaint = |path: &str| {
        let text = format!("version = 1\n[project.{path:?}.deny]\npatterns = [\"x\"]\n");
        let (kind, text) = (FileKind::User, text.as_bytes());
        let source = PolicyText { name: "policy.toml", kind, directory: None, text };
        let error = parse(source).expect_err(path);
        assert_eq!(error.problems.len(), 1);
        let problem = &error.problems[0];
        assert_eq!(problem.key.as_deref(), Some(format!("project.\"{path}\"").as_str()));
        format!("{problem} | {}", problem.hint.as_deref().unwrap_or("-"))
    };
    let paths = [
        "$HOME/x",
        "${HOME}/x",
        "$SRC/x",
        "~ann/x",
        "/a/../b",
        "~/a/../b",
        "",
        "~/src/*",
        "*/x",
        "/*",
    ];
    assert_snapshot!(paths.map(complaint).join("\n"), @r"
    policy.toml:2:10: only `~` and `$XDG_RUNTIME_DIR` are replaced in paths | write `~/x`
    policy.toml:2:10: only `~` and `$XDG_RUNTIME_DIR` are replaced in paths | write `~/x`
    policy.toml:2:10: only `~` and `$XDG_RUNTIME_DIR` are replaced in paths | write what it stands for; `./$SRC/x` is such a name itself
    policy.toml:2:10: `~name` is not supported, only `~` | write it from the root on
    policy.toml:2:10: path contains `..` | write the path that it leads to
    policy.toml:2:10: path contains `..` | write the path that it leads to
    policy.toml:2:10: path is empty | name a directory: its table holds in all below it
    policy.toml:2:10: a path of a project is no pattern | write `~/src`: its table holds in all below it
    policy.toml:2:10: a path of a project is no pattern | name a directory: its table holds in all below it
    policy.toml:2:10: a path of a project is no pattern | name a directory: its table holds in all below it
    ");
}

#[test]
fn path_that_has_no_meaning_here_is_a_mistake() {
    let bare = Vars { home: None, runtime_dir: None, ..vars_in("/srv/app") };
    for path in ["~/x", "$XDG_RUNTIME_DIR/x"] {
        let sources = user(&format!("[project.{path:?}.deny]\npatterns = [\"x\"]"));
        let error = compose(&sources, &bare).expect_err("no such place");
        assert_eq!(error.to_string(), format!("path can't be used: {path}"));
        let origin = error.origin().expect("an entry").to_string();
        assert_eq!(origin, "~/.config/endow/policy.toml:2");
    }
}

#[test]
fn tables_hold_where_the_home_is_a_link() {
    let vars = Vars { home_resolved: Some(host("/data/u")), ..vars_in("/data/u/src/app") };
    for path in ["~", "~/src", "/home/u/src/app", "/data/u/src"] {
        assert!(holds(path, &vars), "{path}");
    }
    assert!(!holds("~/other", &vars));
    let sources = user("[project.\"~/src\".mounts]\n\"./lib\" = \"ro\"");
    let joined = policy(&sources, &vars).expect("resolves");
    assert!(explain(&joined, &guest("/data/u/src/lib")).is_some());
}

#[test]
fn tables_hold_behind_links_that_are_known() {
    let vars = vars_in("/data/src/app");
    let mut sources = user("[project.\"~/src\".deny]\npatterns = [\"held\"]");
    let user = sources.user.as_ref().expect("a file");
    assert_eq!(project_directories(user, &vars), [host("/home/u/src")]);
    assert!(!holds_with(&sources, &vars));
    sources.project_links = vec![(host("/home/u/src"), host("/data/src"))];
    assert!(holds_with(&sources, &vars));
}
