//! Mistakes of the command line and of policy files: told clearly, and nothing is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Said, World, said};

/// Options of `run` that are mistakes.
const MISTAKES: &[&[&str]] = &[
    &["--bogus"],
    &["--ro"],
    &["--ro="],
    &["--ro", "/x:/y"],
    &["--ro", "/a=/b=/c,bogus=1"],
    &["--ro", "=/usr"],
    &["--ro", "/x="],
    &["--ro", "/usr,size=1M"],
    &["--ro", "/../x=/usr"],
    &["--tmp"],
    &["--tmp", "/x=/y"],
    &["--tmp", "/x,size=lots"],
    &["--tmp", "/x,inodes=some"],
    &["--tmp", "/x,mode=999"],
    &["--tmp", "/x,optional"],
    &["--git", "/x"],
    &["--cas", "/x=notadigest"],
    &["--workspace", "bogus"],
    &["--workspace"],
    &["--deny", "["],
    &["--deny", ""],
    &["--deny", "a/../b"],
    &["--protect", "{"],
    &["--env", "=value"],
    &["--env", ""],
    &["--net", "hots"],
    &["--net", ""],
    &["--net", "https://example.com"],
    &["--net", "example.com:0"],
    &["--net", "127.1:80"],
    &["--net", "host", "--net", "example.com"],
    &["--net", "host", "--publish", "3000"],
    &["--publish", "0"],
    &["--publish", "80:1", "--publish", "80:2"],
    &["--proxy", "0"],
    &["--allow", "bogus"],
    &["--allow", ""],
    &["--timeout", "5parsecs"],
    &["--timeout=-1s"],
    &["--timeout", ""],
    &["--grace", "soon"],
    &["--memory", "lots"],
    &["--memory=-1"],
    &["--pids", "many"],
    &["--pids", "0"],
    &["--open-files=-3"],
    &["--open-files", "1.5"],
    &["--file-size", "1X"],
    &["--cpu-time", "1x"],
    &["--profile", "no-such-profile"],
    &["--policy"],
    &["--require", "some"],
    &["--best-effort", ""],
    &["-C", "/no/such/place"],
    &["--hostname", "a b"],
    &["--hostname", ""],
    &["--keep-fd", "x"],
    &["--keep-fd", "77"],
    &["--keep-fd", "1"],
    &["--report"],
    &["--report", ""],
    &["--report", "-"],
    &["--events", "-"],
    &["--report", "fd:77"],
    &["--events", "fd:77"],
    &["--color", "purple"],
    &["-q", "-z"],
    &["--ro", "/usr", "extra"],
];

/// Everything below a directory but the cache, which is no state.
fn listing(directory: &Path) -> String {
    let script = "find . -path ./cache -prune -o -printf '%p %y %m %s %l\\n' | sort";
    let output = Command::new("sh").args(["-c", script]).current_dir(directory).output();
    String::from_utf8(output.expect("find runs").stdout).expect("text")
}

/// Runs endow, which must refuse, write nothing and start nothing.
#[track_caller]
fn refused<'a>(world: &World, arguments: impl IntoIterator<Item = &'a str>) -> Said {
    let before = listing(world.root());
    let arguments: Vec<&str> = arguments.into_iter().collect();
    let said = said(&mut world.endow(&arguments));
    assert_ne!(said.code, 0, "{arguments:?}");
    assert_eq!(listing(world.root()), before, "{arguments:?} left something");
    assert_eq!(said.stdout, "", "{arguments:?}");
    said
}

#[test]
fn mistake_is_told_and_starts_nothing() {
    let world = World::new();
    for mistake in MISTAKES {
        for prefix in [&[][..], &["run"]] {
            let said = refused(&world, [prefix, mistake, &["--", "touch", "started"]].concat());
            assert_eq!(said.code, 125, "{mistake:?}: {}", said.stderr);
            check_told(&said.stderr, mistake);
        }
    }
}

#[track_caller]
fn check_told(stderr: &str, mistake: &[&str]) {
    let first = stderr.lines().next().unwrap_or_default();
    assert!(first.starts_with("endow: "), "{mistake:?}: {stderr}");
    assert!(!first.ends_with('.'), "{stderr}");
    let place = mistake.first().and_then(|it| it.split('=').next()).expect("an option");
    let value = mistake.last().and_then(|it| it.rsplit(':').next()).expect("a value");
    let named = stderr.contains(place) || stderr.contains(value);
    assert!(named, "{mistake:?} is not named: {stderr}");
}

#[test]
fn help_is_a_command_too() {
    let world = World::new();
    for command in [&[][..], &["run"], &["diff"]] {
        let help = said(&mut world.endow([&["help"], command].concat()));
        let option = said(&mut world.endow([command, &["--help"]].concat()));
        assert_eq!(help.ok(), option.ok(), "{command:?}");
    }
}

/// After `--` comes the command.
#[test]
fn negative_value_is_not_said_to_belong_after_the_dashes() {
    let world = World::new();
    for option in ["--timeout", "--keep-fd"] {
        let said = refused(&world, ["run", option, "-1", "--", "true"]);
        assert!(!said.fails(125).contains("as a value"), "{}", said.stderr);
    }
    let said = refused(&world, ["run", "--timeout", "1.5s", "--", "true"]);
    assert!(said.fails(125).contains("not a whole number"), "{}", said.stderr);
}

#[test]
fn mistake_has_a_hint() {
    let world = World::new();
    let with_hint: [&[&str]; 10] = [
        &["--bogus"],
        &["--ro", "/x:/y"],
        &["--workspace", "bogus"],
        &["--net", "hots"],
        &["--allow", "bogus"],
        &["--keep-fd", "77"],
        &["--profile", "rsut"],
        &["--color", "purple"],
        &["--report", "-"],
        &["--bind", "/a"],
    ];
    for mistake in with_hint {
        let said = refused(&world, [&["run"], mistake, &["--", "true"]].concat());
        assert!(said.stderr.contains("\nhint: "), "{mistake:?}: {}", said.stderr);
    }
}

/// What was typed says which of several things is wrong.
#[test]
fn value_of_an_option_is_told_by_what_is_wrong_with_it() {
    let world = World::new();
    for (mistake, told, hint) in [
        (["--git", "/r=@~1"], "no repository before the `@`", r"`@~1` is `HEAD~1`, or `\@~1`"),
        (["--git", "/r=@^"], "no repository before the `@`", r"`@~1` is `HEAD~1`, or `\@~1`"),
        (["--tmp", "/s,mode=999"], "bad value of the option `mode`", "an octal number up to 1777"),
        (["--tmp", "/s,inodes=x"], "bad value of the option `inodes`", ""),
        (["--timeout", "-1"], "less than zero", "`--timeout 10m`"),
        (["--pids", "many"], "no number", "`--pids 512`"),
    ] {
        let said = refused(&world, ["run", &mistake.join("="), "--", "true"]);
        assert!(said.stderr.starts_with(&format!("endow: {told}: ")), "{}", said.stderr);
        assert!(said.stderr.contains(hint), "{}", said.stderr);
    }
}

#[test]
fn missing_command_is_a_mistake() {
    let world = World::new();
    for (arguments, code) in [
        (&["run"][..], 125),
        (&["run", "--"], 125),
        (&["--"], 125),
        (&["-q", "--"], 125),
        (&["run", "true"], 125),
        (&["plan"], 2),
        (&["bogus"], 2),
        (&["--bogus"], 125),
        (&["--workspace", "ro", "true"], 125),
        (&["-q"], 2),
        (&["why"], 2),
        (&["true", "--", "x"], 2),
        (&["completions", "bogus"], 2),
        (&["profile", "bogus"], 2),
    ] {
        let said = refused(&world, arguments.iter().copied());
        assert_eq!(said.code, code, "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.starts_with("endow: "), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains("hint: "), "{arguments:?}: {}", said.stderr);
    }
}

#[test]
fn mistake_of_another_command_than_run_is_2() {
    let world = World::new();
    for mistake in
        [&["--ro="][..], &["--workspace", "bogus"], &["--timeout", "x"], &["--color", "x"]]
    {
        let said = refused(&world, [&["plan"], mistake, &["--", "true"]].concat());
        assert_eq!(said.code, 2, "{mistake:?}: {}", said.stderr);
    }
}

/// A hint is about what was typed, and what it names is of use there.
#[test]
fn hints_of_other_commands_lead_on() {
    let world = World::new();
    for (words, hint, misleading) in [
        (&["runs", "ls"][..], "`endow runs --help`", "in a sandbox"),
        (&["help", "nosuch"], "`endow --help`", "in a sandbox"),
        (&["nosuch"], "`endow -- nosuch` runs a command", "--profile"),
        (&["runs", "-n", "x"], "--help", "invalid digit"),
        (&["why", "--verify", "call:bpf"], "`endow verify` tries", "--help"),
        (&["profile", "trim", "nosuch"], "known are: ", "--profile"),
        (&["plan", "--ro", "/nosuch,optinal", "--", "true"], "did you mean `optional`", "known:"),
    ] {
        let said = said(&mut world.endow(words));
        let told = said.stderr.split_once("\nhint: ").map_or("", |(_, hints)| hints);
        assert!(told.contains(hint), "{words:?}: {}", said.stderr);
        assert!(!said.stderr.contains(misleading), "{words:?}: {}", said.stderr);
    }
}

#[test]
fn object_of_a_mistake_is_told_in_json() {
    let world = World::new();
    for (words, object) in [(["--ro", "/nosuch"], "/nosuch"), (["--profile", "foo"], "foo")] {
        let said =
            said(&mut world.endow([&["run", "--json"], &words[..], &["--", "true"]].concat()));
        let told: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!(told["error"]["object"], object, "{told}");
    }
}

#[test]
fn mistake_is_told_in_json_when_asked_for() {
    let world = World::new();
    for mistake in [&["--bogus"][..], &["--workspace", "bogus"]] {
        let mut command = world.endow(["run", "--json"]);
        let said = said(command.args(mistake).args(["--", "touch", "started"]));
        assert_eq!(said.code, 125, "{said:?}");
        let told: serde_json::Value = serde_json::from_str(&said.stdout).expect("one object");
        assert_eq!(told["error"]["kind"], "usage", "{}", said.stdout);
    }
    assert!(!world.project().join("started").exists());
}

#[test]
fn help_is_no_mistake() {
    let world = World::new();
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"], &["plan", "-h"]] {
        let said = said(&mut world.endow(arguments));
        assert!(said.ok().contains("endow"), "{arguments:?}");
    }
}

#[test]
fn help_of_run_says_what_a_run_is() {
    let world = World::new();
    let help = said(&mut world.endow(["run", "--help"]));
    assert!(help.ok().starts_with("Run a command in a sandbox\n\n"), "{}", help.stdout);
    assert!(help.ok().contains("\nExamples:\n  endow -- make "), "{}", help.stdout);
}

#[test]
fn manual_has_every_command_by_its_whole_name() {
    let world = World::new();
    let page = said(&mut world.endow(["man"]));
    for name in ["endow", "endow run", "endow runs rm", "endow cas put", "endow profile trim"] {
        assert!(page.ok().contains(&format!("\n\\fB{name}\\fR ")), "{name}");
    }
}

fn bad_files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/policy/bad");
    // The compiled-in place may be unreadable to the test user; the runner's is not.
    let directory = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or(directory, |it| Path::new(&it).join("../tests/fixtures/policy/bad"));
    let Ok(entries) = fs::read_dir(&directory) else { return Vec::new() };
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        files.filter(|it| it.extension().is_some_and(|it| it == "toml")).collect();
    // What is wrong with it needs a certain home.
    files.retain(|it| !it.ends_with("mount_twice_by_home.toml"));
    files.sort();
    files
}

#[test]
fn invalid_policy_file_is_told_with_its_place() {
    let files = bad_files();
    if files.is_empty() {
        return crate::harness::skip("the fixtures can't be read");
    }
    let world = World::new();
    for file in files {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let copy = world.project().join(&name);
        fs::copy(&file, &copy).expect("copied");
        let said = refused(&world, ["run", "-p", &name, "--", "touch", "started"]);
        assert_eq!(said.code, 120, "{name}: {}", said.stderr);
        assert!(said.stderr.starts_with("endow: "), "{name}: {}", said.stderr);
        check_place(&said.stderr, &name);
        fs::remove_file(copy).expect("removed");
    }
}

/// `NAME:LINE:COLUMN` is somewhere in it; what several files together make wrong has no column.
#[track_caller]
fn check_place(stderr: &str, name: &str) {
    let starts_with_number = |part: Option<&str>| {
        part.is_some_and(|it| it.trim_end().starts_with(|c: char| c.is_ascii_digit()))
    };
    let has_place = stderr.match_indices(&format!("{name}:")).any(|(at, found)| {
        let mut parts = stderr[at + found.len()..].split(':');
        let line = starts_with_number(parts.next());
        let is_of_several = ["asked for by", "it is from"].iter().any(|it| stderr.contains(it));
        line && (is_of_several || starts_with_number(parts.next()))
    });
    assert!(has_place, "{name}: {stderr}");
}

#[test]
fn every_mistake_in_a_policy_file_has_its_own_hint() {
    let world = World::new();
    let policy = "version = 1\n[limits]\npids = 1.5\nmemry = \"1G\"\n[workspace]\nacces = \"rw\"\n";
    world.write("home/project/endow.toml", policy);
    let told = said(&mut world.endow(["plan", "--", "true"]));
    let hints: Vec<&str> =
        told.fails(120).lines().filter(|line| line.starts_with("hint: ")).collect();
    let expected = ["hint: at 4:1: did you mean `memory`", "hint: at 6:1: did you mean `access`"];
    assert_eq!(hints, expected, "{}", told.stderr);
    world.write("home/project/endow.toml", "version = 1\n[workspace]\nacces = \"rw\"\n");
    let alone = said(&mut world.endow(["plan", "--", "true"]));
    assert!(alone.fails(120).ends_with("\nhint: did you mean `access`\n"), "{}", alone.stderr);
}

#[test]
fn words_of_allow_are_listed_without_a_command() {
    let world = World::new();
    for words in [
        &["--allow", "help"][..],
        &["--allow=help"],
        &["run", "--allow", "help"],
        &["run", "--net", "none", "--allow=help", "--", "false"],
        &["plan", "--allow", "help"],
        &["why", "--allow", "help"],
        &["verify", "--allow", "help"],
        &["learn", "--allow", "help"],
    ] {
        let told = said(&mut world.endow(words));
        assert!(told.ok().contains("userns"), "{words:?}: {}", told.stdout);
    }
    let argument = ["run", "--", "echo", "--allow", "help"];
    assert_eq!(said(&mut world.endow(argument)).ok(), "--allow help\n");
    said(&mut world.endow(["runs", "--allow", "help"])).fails(2);
}

#[test]
fn command_that_is_not_built_is_refused_by_name() {
    let world = World::new();
    for words in [&["stop", "try"][..], &["exec", "try", "--", "sh"], &["set", "try", "/x", "ro"]] {
        let refused = said(&mut world.endow(words));
        let line = format!("endow: not built yet: endow {}\nhint: ", words[0]);
        assert!(refused.fails(2).starts_with(&line), "{}", refused.stderr);
    }
    let unknown = said(&mut world.endow(["stpo"]));
    assert!(unknown.fails(2).contains("unrecognized subcommand"), "{}", unknown.stderr);
}

/// A relative one was left out in silence, and the run was kept elsewhere.
#[test]
fn own_directories_are_named_from_the_root() {
    for variable in ["ENDOW_STATE_DIR", "ENDOW_CACHE_DIR", "ENDOW_CONFIG_DIR"] {
        let world = World::new();
        let told = said(world.endow(["--", "echo", "ran"]).env(variable, "here"));
        let told = told.fails(125);
        assert!(told.contains(&format!("not an absolute path: {variable}")), "{told}");
        assert!(said(world.endow(["--", "echo", "ran"]).env(variable, "")).stdout.contains("ran"));
    }
}

/// The kernel makes no namespace for them, whatever filter is in front.
#[test]
fn user_without_a_number_is_told_so() {
    let world = World::new();
    let mut command = world.command("unshare");
    let told = said(command.arg("--user").arg(crate::harness::endow()).args(["run", "--", "true"]));
    let expected = if rustix::process::geteuid().is_root() { "" } else { "has no number" };
    assert!(told.code != 0 && told.stderr.contains(expected), "{told:?}");
}
