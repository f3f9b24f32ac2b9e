//! `endow build`: tools of the host, and `--check`.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};

use serde_json::Value;

use crate::build::{STEPS, files};
use crate::harness::{Project, Running, soon};

/// A program of the user's own, that no action sees by itself.
fn tool(project: &Project) -> String {
    let tool = project.world.write("home/tools/shout", "#!/bin/sh\ntr a-z A-Z\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("made executable");
    project.world.write("home/tools/private/key", "canary\n");
    tool.display().to_string()
}

#[test]
fn tool_of_the_user_is_seen_where_it_is_named_and_its_content_counts() {
    let project = Project::new("");
    let tool = tool(&project);
    let private = tool.replace("shout", "private/key");
    let script = format!("echo abc | {tool} && test ! -e {private}");
    let build = |tools: &[&str]| {
        let said = project.build(&[tools, &["--json", "--", "sh", "-c", &script]].concat());
        let told: Value = serde_json::from_str(&said.stdout).expect("json");
        (told["actions"][0]["state"].as_str().expect("a state").to_owned(), said.stderr)
    };
    let hidden = build(&[]);
    assert!(hidden.0 == "failed" && hidden.1.contains("not found"), "{hidden:?}");
    let shown = ["--tool", &tool];
    let first = build(&shown);
    assert!(first.0 == "executed" && first.1.contains("ABC"), "{first:?}");
    assert_eq!(build(&shown).0, "cached");
    // As many bytes as before, and the time of before.
    let file = fs::File::options().write(true).open(&tool).expect("opened");
    let time = file.metadata().expect("its status").modified().expect("its time");
    file.write_all_at(b"b-z B", 13).expect("written");
    file.set_modified(time).expect("set back");
    drop(file);
    let changed = build(&shown);
    assert!(changed.0 == "executed" && changed.1.contains("aBC"), "{changed:?}");
}

#[test]
fn tool_in_an_untrusted_file_is_a_grant() {
    let project = Project::new("");
    let tool = tool(&project);
    let action = |tool: &str| {
        format!(
            "[[action]]\nname = \"a\"\ncommand = [\"sh\", \"-c\", \"echo x | {tool}\"]\ntools = [\"{tool}\"]\n"
        )
    };
    project.policy(&action(&tool));
    let refused = project.build(&[]);
    assert!(refused.fails(120).contains("action.tools"), "{}", refused.stderr);
    let file = project.path("endow.toml").display().to_string();
    assert_eq!(project.build(&["-p", &file]).ok(), "X\n");
    project.policy(&action("~/tools/gone"));
    let missing = project.build(&["-p", &file]);
    assert!(missing.fails(125).contains("tools/gone"), "{}", missing.stderr);
}

/// Waits for an action that makes a file of this name, which it does not leave.
fn wait_until_begun(project: &Project) {
    let runs = project.world.state().join("runs");
    soon("the action is executed", || {
        let mut runs = fs::read_dir(&runs).into_iter().flatten().flatten();
        runs.any(|run| run.path().join("layers/000/t000/upper/begun").exists())
    });
}

/// What is known of the host since an action before is asked again where it holds no more.
#[test]
fn tool_that_is_replaced_between_two_actions_is_shown_as_it_is() {
    let project = Project::new("");
    let tool = tool(&project);
    let action = |name: &str, script: &str, needs: &str| {
        format!(
            "[[action]]\nname = \"{name}\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\n\
             tools = [\"{tool}\"]\noutputs = [\"{name}\"]\nneeds = [{needs}]\n"
        )
    };
    let first = action("one", &format!("echo x >begun; sleep 1; echo a | {tool} >one"), "");
    let second = action("two", &format!("echo a | {tool} >two"), "\"one\"");
    project.policy(&format!("{first}{second}"));
    let file = project.path("endow.toml").display().to_string();
    let mut build = Running::start(&mut project.world.endow(["build", "-j1", "-p", &file]));
    wait_until_begun(&project);
    let new = project.world.write("home/tools/new", "#!/bin/sh\ntr a-z b-za\n");
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("made executable");
    fs::rename(new, &tool).expect("replaced");
    assert_eq!(build.end(), 0);
    assert_eq!(project.read("two"), "b\n");
}

/// Of what a result is that was made while a tool changed nobody can say.
#[test]
fn results_of_a_build_in_which_a_tool_changed_are_forgotten() {
    let project = Project::new("");
    let tool = tool(&project);
    let arguments = |output: &str| {
        let script = format!("echo x >begun; sleep 1; echo made >{output}");
        let words = ["build", "--tool", &tool, "--output", output, "--", "sh", "-c", &script];
        words.map(str::to_owned)
    };
    let remembered = || files(&project.world.root().join("cache/actions")).len();
    let build = |output: &str, meanwhile: &dyn Fn()| {
        let mut build = Running::start(&mut project.world.endow(arguments(output)));
        wait_until_begun(&project);
        meanwhile();
        assert_eq!(build.end(), 0);
        assert_eq!(project.read(output), "made\n");
    };
    build("quiet", &|| ());
    let before = remembered();
    assert!(before > 0);
    build("changed", &|| fs::write(&tool, "#!/bin/sh\n").expect("written"));
    assert_eq!(remembered(), before);
    build("gone", &|| fs::remove_file(&tool).expect("removed"));
    assert_eq!(remembered(), before);
}

/// What each command leaves depends on one thing that no input says.
const CHANCE: [(&str, &str); 4] = [
    ("time", "date +%s"),
    ("host", "hostname"),
    ("processors", "nproc"),
    ("chance", "cat /proc/sys/kernel/random/uuid"),
];

#[test]
fn action_that_leaves_something_else_the_second_time_is_told() {
    let actions = CHANCE.map(|(name, command)| {
        format!(
            "[[action]]\nname = \"{name}\"\ncommand = [\"sh\", \"-c\", \"{command} >out/{name}; echo same >out/same-{name}\"]\n\
             outputs = [\"out/{name}\", \"out/same-{name}\"]\n"
        )
    });
    let project = Project::new(&actions.concat());
    let several = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    // Executed one after the other, so that none has what another was varied by.
    let said = project.build(&["--check", "-k", "-j1"]);
    for (name, _) in CHANCE {
        if name == "processors" && !several {
            continue;
        }
        let told = format!("{name}: executed twice, it left something else: out/{name}\n");
        assert!(said.fails(1).contains(&told), "{name}: {}", said.stderr);
        assert!(!project.path(&format!("out/{name}")).exists(), "{name}");
    }
    // Without the second look each is fine.
    project.build(&[]).ok();
}

#[test]
fn inputs_that_are_never_read_are_named() {
    let action = "[[action]]\nname = \"cc\"\ninputs = [\"in/**\", \"link\"]\noutputs = [\"out\"]\n\
                  command = [\"sh\", \"-c\", \"cat in/../in/a link/c >out; cat gone || true\"]\n";
    let project = Project::new(action);
    for path in ["in/a", "in/b", "in/deep/c", "in/deep/d"] {
        project.write(path, path);
    }
    std::os::unix::fs::symlink("in/deep", project.path("link")).expect("a link");
    let said = project.build(&["--check"]);
    said.ok();
    assert!(said.stderr.contains("endow: cc: never read: in/b, in/deep/d\n"), "{}", said.stderr);
    assert_eq!(project.read("out"), "in/ain/deep/c");
    // What was the same twice is a result.
    assert_eq!(project.states(&[]), ["cc cached"]);
    assert_eq!(project.states(&["--check"]), ["cc executed"]);
}

#[test]
fn dry_run_says_what_would_be_executed_and_does_nothing() {
    let project = Project::new(STEPS);
    project.write("in/text", "abc\n");
    let told =
        |arguments: &[&str]| project.build(&[&["--dry-run"], arguments].concat()).ok().to_owned();
    let first =
        "upper: would be executed\ntwice: depends on what the actions leave that it needs\n";
    assert_eq!(told(&[]), first);
    assert!(!project.path("out").exists());
    project.build(&[]).ok();
    assert_eq!(told(&[]), "upper: from the cache\ntwice: from the cache\n");
    fs::remove_dir_all(project.path("out")).expect("removed");
    project.write("in/text", "xyz\n");
    assert_eq!(told(&["upper"]), "upper: would be executed\n");
    assert_eq!(told(&["--no-cache", "upper"]), "upper: would be executed\n");
    assert!(!project.path("out").exists());
    assert_eq!(project.states(&["--dry-run", "upper"]), ["upper executed"]);
}
