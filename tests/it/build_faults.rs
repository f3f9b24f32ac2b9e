//! What `endow build` says of inputs that can't be read, and of what an action misses.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::harness::{Project, Said, said};

/// Two actions, of which one asks for what can't be an input.
const TWO: &str = r#"
[[action]]
name = "odd"
command = ["true"]
inputs = ["odd/**"]

[[action]]
name = "fine"
command = ["cat", "fine"]
inputs = ["fine", "*.c"]
"#;

/// The control is the other action, which sees nothing of it.
#[test]
fn input_that_can_not_be_read_fails_its_action_alone() {
    let project = Project::new(TWO);
    for path in ["odd/file", "fine", "a.c"] {
        project.write(path, "text\n");
    }
    let build = |why: &str| {
        let built = project.build_anew(&["-k"]);
        assert_eq!(built.code, 1, "{why}: {built:?}");
        assert_eq!(built.stdout, "text\n", "{why}: {built:?}");
        assert!(built.stderr.contains("odd: can't read the inputs"), "{built:?}");
        assert!(built.stderr.contains(why), "{why}: {built:?}");
        assert!(built.stderr.contains("/endow.toml:6"), "{built:?}");
    };
    assert_eq!(project.build(&["-k"]).code, 0, "control");
    let odd = project.path("odd/odd");
    let socket = UnixListener::bind(&odd).expect("a socket");
    build("neither a file nor a link: odd/odd");
    drop(socket);
    fs::remove_file(&odd).expect("removed");
    project.world.bare("mkfifo odd/odd").ok();
    build("neither a file nor a link: odd/odd");
    fs::remove_file(&odd).expect("removed");
    let name = project.path("odd").join(std::ffi::OsStr::from_bytes(b"odd\xe9"));
    fs::write(&name, "").expect("written");
    build("not UTF-8: odd/odd");
    fs::remove_file(&name).expect("removed");
    let set = |path: &str, mode| {
        fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).expect("set");
    };
    if rustix::process::geteuid().is_root() {
        return;
    }
    set("odd/file", 0);
    build("can't read odd/file");
    set("odd/file", 0o644);
    set("odd", 0);
    build("can't list odd");
    set("odd", 0o755);
    assert_eq!(project.build(&["-k"]).code, 0, "control");
}

/// What stands at the place of its own output is no input that it misses.
#[test]
fn failed_action_is_not_told_to_need_itself() {
    let project = Project::new(
        r#"
[[action]]
name = "lib"
command = ["sh", "-c", "mkdir lib; touch lib/a lib/b"]
outputs = ["lib/"]

[[action]]
name = "prog"
command = ["sh", "-c", "cat in >prog"]
inputs = ["in"]
outputs = ["prog"]
"#,
    );
    project.write("in", "text\n");
    project.build(&[]).ok();
    let policy = fs::read_to_string(project.path("endow.toml")).expect("the policy");
    let script = "cat prog lib/a lib/b; exit 3";
    fs::write(project.path("endow.toml"), policy.replace("cat in >prog", script)).expect("changed");
    let built = project.build(&["prog"]);
    assert_eq!(built.code, 1, "{built:?}");
    assert!(!built.stderr.contains("prog needs what prog makes"), "{built:?}");
    let hint = "prog needs what lib makes: add it to its `needs`";
    assert_eq!(built.stderr.matches(hint).count(), 1, "{built:?}");
}

/// The control is a failure of another kind, which is looked into.
#[test]
fn action_whose_time_was_over_is_executed_once() {
    let project = Project::new("");
    project.write("missed", "");
    let built = |script: &str| {
        let action = ["--timeout", "1s", "--output", "out", "--", "sh", "-c", script];
        project.build_anew(&action).stderr
    };
    let control = built("cat missed");
    assert!(control.contains("needs `missed`"), "{control}");
    let told = built("cat missed; exec sleep 60");
    assert!(told.contains("its time was over") && !told.contains("needs `missed`"), "{told}");
}

/// Builds what fails until some seconds from now, and lasts as long: executed once more it succeeds. Where the machine
/// is too busy for the first execution to begin before that, it is tried with more of them.
fn built_once_too_early(project: &Project, options: &[&str]) -> (Said, String) {
    for seconds in [4, 12, 36] {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
        let script = format!(
            "is_over() {{ test $(date +%s) -ge {}; }}; echo made >out
             is_over || {{ until is_over; do sleep 0.1; done; echo first >&2; exit 3; }}",
            now + seconds
        );
        let said =
            project.build(&[options, &["--output", "out", "--", "sh", "-c", &script]].concat());
        if said.code != 0 {
            return (said, script);
        }
    }
    panic!("no execution failed, or none counted")
}

/// The control is the same action afterwards, which succeeds and was not known.
#[test]
fn action_that_succeeds_the_second_time_fails_and_is_not_remembered() {
    for options in [&[][..], &["--check"]] {
        let project = Project::new("");
        let (said, script) = built_once_too_early(&project, options);
        let told = said.fails(1);
        assert!(told.contains("first\n") && told.contains("command: exit code 3"), "{said:?}");
        assert!(told.contains("hint: executed once more, it succeeded"), "{said:?}");
        let states = project.states(&["--output", "out", "--", "sh", "-c", &script]);
        assert_eq!(states, ["command executed"]);
    }
}

/// Streams can be opened again by their names, in any order with what is written to them.
#[test]
fn action_opens_its_streams_again() {
    let project = Project::new("");
    let script = "echo 1; echo 2 >/dev/stdout; echo 3 >>/dev/stdout; echo a >&2; echo b | tee /dev/stderr; echo c >/dev/stderr; echo 4
        readlink /proc/self/fd/1 | grep -c /; ls /dev/fd >/dev/null && echo 5";
    for _ in 0..2 {
        let built = project.build(&["--", "sh", "-c", script]);
        assert_eq!(built.ok(), "1\n2\n3\nb\n4\n0\n5\n");
        assert!(built.stderr.contains("a\nb\nc\n"), "{built:?}");
    }
}

/// None of it is lost on its way.
#[test]
fn long_output_of_an_action_is_whole() {
    let project = Project::new("");
    let script = "i=0; while [ $i -lt 40 ]; do head -c 100000 /dev/zero | tr '\\0' x; echo; i=$((i+1)); done";
    let built = project.build(&["--", "sh", "-c", script]);
    assert_eq!(built.ok().len(), 40 * 100_001);
    assert!(built.stdout.lines().all(|line| line.len() == 100_000));
}

/// As in the text, and without it there.
#[test]
fn mistake_of_a_policy_file_is_in_the_json() {
    let project = Project::new("[[action]]\nname = 3\n");
    let text = project.build(&[]);
    assert_eq!(text.code, 120, "{text:?}");
    let told: Value = serde_json::from_str(&project.build(&["--json"]).stdout).expect("JSON");
    let causes = told["error"]["causes"].as_array().expect("causes");
    let causes: Vec<&str> = causes.iter().filter_map(Value::as_str).collect();
    assert!(causes.iter().any(|it| it.contains("/endow.toml:3:8: ")), "{causes:?}");
    assert!(causes.iter().all(|it| text.stderr.contains(it)), "{text:?}");
    assert!(!text.stderr.contains("cause:"), "each once: {text:?}");
}

/// The control is a file at the same place.
#[test]
fn fifo_is_put_into_no_store() {
    let project = Project::new("");
    let put = || said(project.world.endow(["cas", "put"]).arg(project.path("it")));
    project.world.bare("mkfifo it").ok();
    let refused = put();
    assert!(refused.fails(2).contains("neither a file nor a directory"), "{refused:?}");
    fs::remove_file(project.path("it")).expect("removed");
    project.write("it", "text\n");
    put().ok();
}

/// The control is a file that is no input.
#[test]
fn hints_name_what_can_be_added() {
    let project = Project::new("");
    for path in ["target", "other", ".env"] {
        project.write(path, "text\n");
    }
    project.world.bare("mkdir d; ln -s ../target d/link").ok();
    let told = |input: &str, script: &str| {
        let action = ["--input", input, "--output", "o", "--", "sh", "-c", script];
        project.build_anew(&action).fails(1).to_owned()
    };
    assert!(told("d/**", "cat other").contains("needs `other`"), "control");
    let link = told("d/**", "cat d/link");
    assert!(link.contains("needs `target`: add it") && !link.contains("d/link`"), "{link}");
    let hidden = told("**", "cat .env");
    assert!(hidden.contains("`.env` is hidden from every command"), "{hidden}");
    assert!(!hidden.contains("add it"), "{hidden}");
    let circle = told("other", "ln -s o o");
    assert!(circle.contains("o: the link leads to itself") && !circle.contains("git"), "{circle}");
}

/// The control is a run, which has the option.
#[test]
fn build_names_no_option_that_it_has_not() {
    let project = Project::new(
        "[mounts]\n\"/srv\" = \"ro\"\n[[action]]\nname = \"a\"\ncommand = [\"true\"]\n",
    );
    let built = project.build(&[]);
    assert!(built.stderr.contains("is not trusted"), "{built:?}");
    assert!(!built.stderr.contains("--no-policy"), "{built:?}");
    let run = project.world.run(&["run"], "true");
    assert!(run.stderr.contains("--no-policy"), "{run:?}");
}
