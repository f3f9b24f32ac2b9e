//! `endow build`: declared inputs, declared outputs, results that are made once.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Project, Running, debian_program, mark, marked, soon};

/// Two steps, of which the second sees what the first leaves.
pub(crate) const STEPS: &str = r#"
[[action]]
name = "upper"
command = ["sh", "-c", "tr a-z A-Z <in/text >out/upper; echo told; echo warned >&2"]
inputs = ["in/**"]
outputs = ["out/upper"]

[[action]]
name = "twice"
command = ["sh", "-c", "cat out/upper out/upper >out/twice"]
needs = ["upper"]
outputs = ["out/twice"]
"#;

#[test]
fn outputs_are_made_once_and_restored_byte_for_byte() {
    let project = Project::new(STEPS);
    project.write("in/text", "abc\n");
    let first = project.build(&[]);
    assert_eq!(first.ok(), "told\n");
    assert!(first.stderr.contains("warned\n"), "{}", first.stderr);
    assert_eq!(project.read("out/twice"), "ABC\nABC\n");
    fs::remove_dir_all(project.path("out")).expect("removed");
    let second = project.build(&[]);
    assert_eq!(second.ok(), "told\n");
    assert!(second.stderr.contains("warned\n"), "{}", second.stderr);
    assert!(second.stderr.contains("2 from the cache"), "{}", second.stderr);
    assert_eq!(project.read("out/twice"), "ABC\nABC\n");
    project.world.assert_no_run_left();
}

#[test]
fn change_runs_what_depends_on_it_alone() {
    let other = "[[action]]\nname = \"other\"\ncommand = [\"true\"]\ninputs = [\"other\"]\n";
    let project = Project::new(&format!("{STEPS}{other}"));
    project.write("in/text", "abc\n");
    project.write("other", "x\n");
    assert_eq!(project.states(&[]), ["upper executed", "twice executed", "other executed"]);
    project.write("in/text", "xyz\n");
    assert_eq!(project.states(&[]), ["upper executed", "twice executed", "other cached"]);
    assert_eq!(project.read("out/twice"), "XYZ\nXYZ\n");
    // What the first leaves is the same as before, so the second need not run.
    project.write("in/more", "");
    assert_eq!(project.states(&[]), ["upper executed", "twice cached", "other cached"]);
    project.write("in/text", "abc\n");
    fs::remove_file(project.path("in/more")).expect("removed");
    assert_eq!(project.states(&["twice"]), ["upper cached", "twice cached"]);
    assert_eq!(project.read("out/twice"), "ABC\nABC\n");
}

#[test]
fn command_sees_its_inputs_and_nothing_else_of_the_project() {
    let project = Project::new("");
    for path in ["src/a", "src/deep/b", "secret", "lib/c"] {
        project.write(path, "canary\n");
    }
    let script = "find . -type f | sort; ls -A ~ /tmp; id -un; hostname; env | sort";
    let said = project.build(&["--input", "src/**", "--", "sh", "-c", script]);
    let environment = [
        "HOME=/home/build",
        "LC_ALL=C.UTF-8",
        "LOGNAME=build",
        "PATH=",
        "PWD=/build",
        "SHELL=/bin/sh",
        "TMPDIR=/tmp",
        "TZ=UTC",
        "USER=build",
    ];
    let shown =
        said.ok().replace("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "");
    let expected = ["./src/a\n./src/deep/b\n/home/build:\n\n/tmp:\nbuild\nbuild\n"];
    assert_eq!(shown, [expected[0], &environment.join("\n"), "\n"].concat());
}

/// The control is the same path outside.
#[test]
fn command_reaches_neither_the_cache_nor_the_project() {
    let project = Project::new("");
    project.build(&["--", "true"]).ok();
    for path in [project.world.root().join("cache/actions"), project.path("endow.toml")] {
        assert!(path.exists());
        let path = path.display().to_string();
        let said = project.build(&["--", "sh", "-c", &format!("test -e {path} || echo absent")]);
        assert_eq!(said.ok(), "absent\n", "{path}");
    }
}

#[test]
fn missing_input_is_named() {
    let Some(_) = debian_program("gcc") else { return };
    let compile = |inputs: &str| {
        format!(
            "[[action]]\nname = \"a.o\"\ncommand = [\"gcc\", \"-Iinclude\", \"-c\", \"a.c\"]\n\
             inputs = [\"a.c\", {inputs}]\noutputs = [\"a.o\"]\n"
        )
    };
    let project = Project::new(&compile(r#""include/one.h""#));
    project
        .write("a.c", "#include \"one.h\"\n#include \"two.h\"\nint main(void) { return A + B; }\n");
    project.write("include/one.h", "#define A 1\n");
    project.write("include/two.h", "#define B 2\n");
    let said = project.build(&[]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("two.h: No such file"), "{}", said.stderr);
    let hint = "hint: a.o needs `include/two.h`: add it to its inputs";
    assert!(said.stderr.contains(hint), "{}", said.stderr);
    assert!(!project.path("a.o").exists());
    project.policy(&compile(r#""include/*.h""#));
    assert_eq!(project.states(&[]), ["a.o executed"]);
}

#[test]
fn what_another_action_makes_is_named_as_such() {
    let project = Project::new(&STEPS.replace("needs = [\"upper\"]\n", ""));
    project.write("in/text", "abc\n");
    let said = project.build(&["-k"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("twice needs what upper makes"), "{}", said.stderr);
}

#[test]
fn what_is_no_output_is_dropped_and_told() {
    let project = Project::new("");
    project.write("in", "x\n");
    let script = "echo y >in; mkdir d; echo 1 >d/a; echo 2 >junk";
    let said = project.build(&["--input", "in", "--output", "d/", "--", "sh", "-c", script]);
    said.ok();
    assert!(said.stderr.contains("dropped: in, junk"), "{}", said.stderr);
    assert_eq!(project.read("in"), "x\n");
    assert_eq!(project.read("d/a"), "1\n");
    assert!(!project.path("junk").exists());
}

#[test]
fn directories_links_and_bits_are_outputs() {
    let project = Project::new("");
    let script = "mkdir -p gen/deep/empty; echo run >gen/deep/tool; chmod 755 gen/deep/tool; \
        ln -s deep/tool gen/link; ln -s gen/link top";
    let arguments = ["--output", "gen/", "--output", "top", "--", "sh", "-c", script];
    for _ in 0..2 {
        project.build(&arguments).ok();
        let tool = fs::metadata(project.path("gen/deep/tool")).expect("a file");
        assert_eq!(tool.permissions().mode() & 0o777, 0o755);
        assert_eq!(tool.uid(), fs::metadata(project.path(".")).expect("the project").uid());
        assert!(project.path("gen/deep/empty").is_dir());
        assert_eq!(
            fs::read_link(project.path("gen/link")).expect("a link"),
            PathBuf::from("deep/tool")
        );
        assert_eq!(project.read("top"), "run\n");
        fs::remove_dir_all(project.path("gen")).expect("removed");
        fs::remove_file(project.path("top")).expect("removed");
    }
}

#[test]
fn output_that_is_missing_or_of_another_kind_is_told() {
    let project = Project::new("");
    let failure = |output: &str, script: &str| {
        let said = project.build(&["--output", output, "--", "sh", "-c", script]);
        assert_eq!(said.code, 1, "{}", said.stderr);
        said.stderr
    };
    assert!(failure("a", "echo x >b").contains("it did not make a\nhint: it made b\n"));
    assert!(failure("a", "mkdir a").contains("a is a directory\nhint: write `a/`"));
    assert!(failure("a/", "echo x >a").contains("a is no directory"));
}

#[test]
fn failure_is_not_remembered_and_ends_the_build() {
    let actions = r#"
[[action]]
name = "bad"
command = ["sh", "-c", "cat state; grep -q good state"]
inputs = ["state"]

[[action]]
name = "after"
command = ["test", "after"]
needs = ["bad"]

[[action]]
name = "beside"
command = ["true"]
"#;
    let project = Project::new(actions);
    project.write("state", "bad\n");
    assert_eq!(project.states(&["-j1"]), ["bad failed", "after skipped", "beside skipped"]);
    let on = project.states(&["--keep-going"]);
    assert_eq!(on, ["bad failed", "after skipped", "beside executed"]);
    assert_eq!(project.build(&[]).code, 1);
    project.write("state", "good\n");
    assert_eq!(project.states(&[]), ["bad executed", "after executed", "beside cached"]);
}

#[test]
fn time_limit_ends_an_action() {
    let project = Project::new("");
    let said = project.build(&["--timeout", "200ms", "--", "sleep", "60"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("its time was over"), "{}", said.stderr);
}

/// All files below a directory.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("listed").map(|entry| entry.expect("an entry").path());
    let (dirs, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    files.into_iter().chain(dirs.iter().flat_map(|dir| self::files(dir))).collect()
}

#[test]
fn damaged_results_and_objects_are_made_again() {
    let project = Project::new(STEPS);
    project.write("in/text", "abc\n");
    project.build(&[]).ok();
    let cache = project.world.root().join("cache");
    let every = |name: &str| files(&cache.join(name));
    let results = every("actions/v1");
    assert_eq!(results.len(), 2);
    for result in &results {
        let bytes = fs::read(result).expect("read");
        fs::write(result, &bytes[..bytes.len() / 2]).expect("cut off");
    }
    fs::remove_dir_all(project.path("out")).expect("removed");
    let said = project.build(&[]);
    said.ok();
    assert!(said.stderr.contains("is damaged"), "{}", said.stderr);
    assert!(said.stderr.contains("2 executed"), "{}", said.stderr);
    // An object with other bytes of the same number: its digest tells when it is used.
    for object in every("cas/objects") {
        let bytes = fs::read(&object).expect("read");
        if bytes == b"ABC\nABC\n" {
            fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).expect("writable");
            fs::write(&object, b"abc\nabc\n").expect("changed");
        }
    }
    fs::remove_dir_all(project.path("out")).expect("removed");
    let said = project.build(&[]);
    said.ok();
    assert_eq!(project.read("out/twice"), "ABC\nABC\n");
    assert!(said.stderr.contains("1 executed, 1 from the cache"), "{}", said.stderr);
}

#[test]
fn many_actions_are_executed_at_a_time() {
    let action = |number: usize| {
        format!(
            "[[action]]\nname = \"a{number}\"\ninputs = [\"shared/**\"]\n\
             command = [\"sh\", \"-c\", \"cat shared/* >o{number}; echo {number} >>o{number}\"]\n\
             outputs = [\"o{number}\"]\n"
        )
    };
    let project = Project::new(&(0..40).map(action).collect::<String>());
    for number in 0..50 {
        project.write(&format!("shared/{number}"), &format!("{number}\n"));
    }
    let states = project.states(&["-j8"]);
    assert!(states.iter().all(|it| it.ends_with(" executed")), "{states:?}");
    for number in 0..40 {
        assert!(project.read(&format!("o{number}")).ends_with(&format!("\n{number}\n")));
    }
    let states = project.states(&[]);
    assert!(states.iter().all(|it| it.ends_with(" cached")), "{states:?}");
    project.world.assert_no_run_left();
}

#[test]
fn mistakes_are_told_before_anything_is_executed() {
    let project = Project::new("");
    let told = |project: &Project, arguments: &[&str]| {
        let said = project.build(arguments);
        assert!(matches!(said.code, 2 | 120), "{}: {}", said.code, said.stderr);
        said.stderr
    };
    assert!(told(&project, &[]).contains("no action is stated"));
    assert!(told(&project, &["--input", "../x", "--", "true"]).contains("path contains `..`"));
    let none = told(&project, &["-j0", "--", "true"]);
    assert!(none.contains("invalid value '0' for '--jobs <N>': 1 is the least"), "{none}");
    let absent = project.build(&["--input", "nosuch", "--", "true"]);
    assert!(absent.fails(1).starts_with("endow: command: no such input: nosuch\n"), "{absent:?}");
    assert!(told(&project, &["--output", "/x", "--", "true"]).contains("path is not relative"));
    let whole = told(&project, &["--input", ".", "--", "true"]);
    assert!(whole.contains("`**` is all that is in it"), "{whole}");
    // What flags state is a mistake of the command line.
    for (outputs, why) in [
        (["q", "q"], "command names two outputs at one place: q"),
        (["q/", "q/x"], "command names two outputs at one place: q/x"),
        (["q", ".envrc"], "that can't be an output: .envrc"),
    ] {
        let [one, other] = outputs;
        let said = project.build(&["--output", one, "--output", other, "--", "true"]);
        assert!(said.fails(2).contains(why), "{said:?}");
    }
    project.policy(STEPS);
    assert!(told(&project, &["twise"]).contains("did you mean `twice`"));
    assert!(told(&project, &["everything"]).contains("there are: twice, upper"));
    // It would be ignored.
    for option in ["--input", "--output", "--tool", "--env", "--root", "--timeout"] {
        let said = told(&project, &[option, "1s", "twice"]);
        assert!(said.contains(option) && said.contains("[NAME]"), "{said}");
    }
    project.policy(&STEPS.replace("out/twice\"]", "out/upper\"]"));
    assert!(told(&project, &[]).contains("upper and twice both leave out/upper"));
    project.policy(&STEPS.replace("inputs = [\"in/**\"]", "needs = [\"twice\"]"));
    assert!(told(&project, &[]).contains("need one another: upper needs twice needs upper"));
}

#[test]
fn input_that_is_not_there_fails_its_action() {
    let project = Project::new(STEPS);
    let said = project.build(&[]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("no such input: in/**"), "{}", said.stderr);
}

/// What was put in place is the build's, also when the build never came to its end.
#[test]
fn killed_build_is_no_obstacle_for_the_next() {
    let mark = mark();
    let slow = format!(
        "\n[[action]]\nname = \"slow\"\ncommand = [\"sleep\", \"{mark}\"]\nneeds = [\"twice\"]\n"
    );
    let project = Project::new(&format!("{STEPS}{slow}"));
    project.write("in/text", "abc\n");
    let mut build = Running::start(&mut project.world.endow(["build"]));
    soon("what it needs is done", || !marked(&mark).is_empty());
    build.signal(9);
    build.end();
    project.policy(STEPS);
    assert_eq!(project.states(&[]), ["upper cached", "twice cached"]);
    project.write("in/text", "xyz\n");
    assert_eq!(project.states(&[]), ["upper executed", "twice executed"]);
}

#[test]
fn second_build_of_a_directory_waits_for_the_first() {
    let project = Project::new("");
    let first = ["build", "--output", "a", "--", "sh", "-c", "sleep 1; echo 1 >a"];
    let mut build = Running::start(&mut project.world.endow(first));
    std::thread::sleep(std::time::Duration::from_millis(500));
    let said = project.build(&["--output", "b", "--", "sh", "-c", "echo 2 >b"]);
    said.ok();
    assert!(said.stderr.contains("another build of this directory"), "{}", said.stderr);
    assert_eq!(project.read("a"), "1\n");
    assert_eq!(build.end(), 0);
}

/// By its digest a result is found: without a cache none is.
#[test]
fn action_is_named_where_its_result_is_kept() {
    let project = Project::new("");
    let is_named = |options: &[&str]| {
        let said = project.build(&[&["--json"], options, &["--", "true"]].concat());
        let told: Value = serde_json::from_str(said.ok()).expect("JSON");
        told["actions"][0]["action"].is_string()
    };
    assert!(!is_named(&["--no-cache"]));
    assert!(is_named(&[]));
}

/// Whatever the caller blocks or ignores, and however many actions were executed before.
#[test]
fn every_action_finds_its_signals_as_they_are_by_default() {
    let action = |number: usize| {
        format!(
            "[[action]]\nname = \"a{number}\"\ncommand = [\"grep\", \"-E\", \"Sig(Blk|Ign)\", \"/proc/self/status\"]\n"
        )
    };
    let project = Project::new(&(0..4).map(action).collect::<String>());
    let mut build = project.world.command("env");
    build.args(["--block-signal=USR1", "--ignore-signal=HUP", "--ignore-signal=CHLD"]);
    build.arg(crate::harness::endow()).args(["build", "--no-cache", "-j1"]);
    let said = crate::harness::said(&mut build);
    let none = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n";
    assert_eq!(said.ok(), none.repeat(4));
}

/// Many actions see a large tree each with something of its own: the tree is made once.
#[test]
fn what_many_actions_see_is_made_once() {
    let action = |number: usize| {
        format!(
            "[[action]]\nname = \"a{number}\"\ninputs = [\"src/{number}\", \"include/**\", \"more/**\"]\n\
             outputs = [\"include/sub/made-{number}\"]\ncommand = [\"sh\", \"-c\", \"cat src/* include/h7 \
             include/sub/x more/m3 >include/sub/made-{number}; rm include/h1; find . -type f | wc -l\"]\n"
        )
    };
    let project = Project::new(&(0..12).map(action).collect::<String>());
    for number in 0..100 {
        project.write(&format!("include/h{number}"), "h");
        project.write(&format!("more/m{number}"), "m");
        project.write(&format!("src/{number}"), "s");
    }
    project.write("include/sub/x", "x");
    let said = project.build(&[]);
    // Of its 202 files one is gone, and one is new.
    assert_eq!(said.ok(), "202\n".repeat(12));
    for number in 0..12 {
        assert_eq!(project.read(&format!("include/sub/made-{number}")), "shxm");
    }
    let trees = project.world.root().join("cache/trees/v1");
    for tree in fs::read_dir(&trees).expect("listed") {
        let tree = tree.expect("a tree").path();
        fs::set_permissions(tree, fs::Permissions::from_mode(0o700)).expect("opened");
    }
    let made = files(&trees).len();
    assert!((200..400).contains(&made), "{made} files for 12 trees of 202");
    project.world.assert_no_run_left();
}

/// Others take the results: a profile of the user's that has the name of the actions' own is one of runs.
#[test]
fn profile_of_the_users_is_none_of_actions() {
    let project = Project::new("");
    project
        .world
        .write("config/profiles/build.toml", "version = 1\n[env]\nset = { OWN_WORD = \"seen\" }\n");
    let script = "echo ${OWN_WORD:-none}";
    let control = project.world.run(&["--profile", "build"], script);
    assert_eq!(control.ok(), "seen\n");
    assert_eq!(project.build(&["-v", "--", "sh", "-c", script]).ok(), "none\n");
}

#[test]
fn how_each_action_came_about_is_told_to_who_asks() {
    let project = Project::new(STEPS);
    project.write("in/text", "abc\n");
    let told = |arguments: &[&str]| project.build(arguments).stderr;
    assert!(told(&["-v"]).contains("endow: upper: executed (no result"));
    assert!(told(&["-v"]).contains("endow: twice: from the cache\n"));
    assert!(told(&["-v", "--no-cache"]).contains("endow: upper: executed (`--no-cache`)\n"));
    assert!(!told(&["--no-cache"]).contains("upper:"), "nobody asks");
}
