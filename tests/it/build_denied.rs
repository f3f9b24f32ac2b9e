//! What `[deny]` hides from builds: the same as from runs, with what is spared.

use crate::harness::{Project, Said};

/// A project whose files are named, each with its path in it, and are tracked by git.
fn tracked(paths: &[&str]) -> Project {
    let project = Project::new("");
    for path in paths {
        project.write(path, &format!("{path}\n"));
    }
    project
        .world
        .bare("git init -q . && git add -Af . && git -c user.name=a -c user.email=a@b commit -qm x")
        .ok();
    project
}

fn shown(project: &Project, input: &str) -> Said {
    project.build_anew(&["--input", input, "--", "sh", "-c", "find . -type f | sort"])
}

#[test]
fn what_git_tracks_is_an_input_as_long_as_it_is_unchanged() {
    let project = tracked(&["td/ca.pem", "plain"]);
    let cat = project.world.run(&["run"], "cat td/ca.pem");
    assert_eq!(cat.ok(), "td/ca.pem\n", "control: a run");
    let copy = ["--input", "td/ca.pem", "--output", "o", "--", "cp", "td/ca.pem", "o"];
    project.build(&copy).ok();
    assert_eq!(project.read("o"), "td/ca.pem\n");
    project.write("td/new.pem", "secret\n");
    assert_eq!(shown(&project, "td").ok(), "./td/ca.pem\n");
    project.write("td/ca.pem", "another\n");
    let inside = project.world.run(&["run"], "cat td/ca.pem");
    assert_ne!(inside.code, 0, "control: a run");
    let built = project.build(&copy);
    assert!(built.fails(1).contains("`td/ca.pem` is hidden from every command"), "{built:?}");
}

/// A directory that is hidden is looked into for what git tracks there, and for nothing else.
#[test]
fn hidden_directory_shows_what_git_tracks_in_it() {
    let project = tracked(&["conf/.ssh/config", "conf/other"]);
    project.write("conf/.ssh/id_rsa", "secret\n");
    assert_eq!(shown(&project, "conf").ok(), "./conf/.ssh/config\n./conf/other\n");
    // The directory of a build may be one in the work tree.
    let at = project.path("conf");
    let find = ["-C", at.to_str().expect("text"), "--input", "**", "--", "find", ".", "-type", "f"];
    let mut found: Vec<String> =
        project.build_anew(&find).ok().lines().map(str::to_owned).collect();
    found.sort();
    assert_eq!(found, ["./.ssh/config", "./other"]);
}

#[test]
fn other_peoples_code_is_whole_but_for_what_somebody_denies() {
    let project = Project::new("");
    for path in ["nm/node_modules/a/index.js", "nm/node_modules/a/lib/cacert.pem", "nm/own.pem"] {
        project.write(path, "text\n");
    }
    let all = "./nm/node_modules/a/index.js\n./nm/node_modules/a/lib/cacert.pem\n";
    assert_eq!(shown(&project, "nm/**").ok(), all);
    project.world.write("config/policy.toml", "version = 1\n[deny]\npatterns = [\"*.pem\"]\n");
    assert_eq!(shown(&project, "nm/**").ok(), "./nm/node_modules/a/index.js\n");
}

/// The control is the same outside of other people's code.
#[test]
fn action_may_leave_other_peoples_code() {
    let project = Project::new("");
    let leave = |directory: &str| {
        let script = format!(
            "mkdir -p {directory}/certifi; echo ca >{directory}/certifi/cacert.pem; echo import >{directory}/x.pth"
        );
        project.build(&["--output", "venv/", "--", "sh", "-c", &script])
    };
    let own = leave("venv/lib");
    assert!(own.fails(1).contains("that can't be an output: venv/lib/"), "{own:?}");
    let pem = ["--output", "lib/a.pem", "--", "true"];
    let own = project.build(&pem);
    assert!(own.fails(2).contains("`[deny]` hides the name from every command"), "{own:?}");
    for _ in 0..2 {
        leave("venv/lib/site-packages").ok();
        assert_eq!(project.read("venv/lib/site-packages/certifi/cacert.pem"), "ca\n");
    }
    let repository = project.build(&[
        "--output",
        "mod/",
        "--",
        "sh",
        "-c",
        "mkdir -p mod/vendor/x/.git/hooks; echo evil >mod/vendor/x/.git/hooks/post-checkout",
    ]);
    assert_eq!(repository.code, 1, "{repository:?}");
}

#[test]
fn input_of_which_all_is_hidden_says_so() {
    let project = Project::new("");
    project.write("td/sub/server.pem", "secret\n");
    for input in ["td", "td/**", "td/*/*.pem", "td/sub/server.pem"] {
        let built = shown(&project, input);
        let hint = "hint: `td/sub/server.pem` is hidden from every command: `[deny]` says so";
        assert!(built.fails(1).contains(hint), "{input}: {built:?}");
    }
    project.write("td/sub/plain", "");
    shown(&project, "td").ok();
}

#[test]
fn input_behind_a_link_is_told_as_one() {
    let project = Project::new("");
    project.write("d/a", "text\n");
    std::os::unix::fs::symlink("d", project.path("lk")).expect("a link");
    for input in ["lk/a", "lk/*", "lk/**/a"] {
        let built = shown(&project, input);
        assert!(built.fails(1).contains("`lk` is a link, which is not followed"), "{built:?}");
    }
    let both = ["--input", "lk", "--input", "d/a", "--", "cat", "lk/a"];
    assert_eq!(project.build(&both).ok(), "text\n", "control: as the hint says");
}
