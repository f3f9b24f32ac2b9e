//! Secrets that the command reads from a descriptor, and where their values come from.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::harness::{Said, World, project, said};

/// What must be seen at the descriptor alone.
const CANARY: &str = "canary-5f3a";

/// Runs a script with secrets, `KEY` being the canary.
fn run(world: &World, secrets: &str, options: &[&str], script: &str) -> Said {
    let policy = world.write("policy.toml", &format!("version = 1\n{secrets}\n"));
    let mut endow = world.endow(["run", "-p"]);
    endow.arg(policy).args(options).args(["--", "bash", "-c", script]).env("KEY", CANARY);
    said(&mut endow)
}

const ENV_5: &str = "[secrets]\nT = { from = \"env:KEY\", fd = 5 }";

#[test]
fn command_reads_it_from_its_descriptor_once() {
    let world = project();
    let script = "cat <&5; echo; cat <&5 | wc -c; echo $KEY; \
                  for n in {0..300}; do (exec 2>/dev/null; true <&$n) && printf '%s ' $n; done; true";
    let expected = format!("{CANARY}\n0\n\n0 1 2 5 ");
    for options in [&[][..], &["--require", "landlock"]] {
        assert_eq!(run(&world, ENV_5, options, script).ok(), expected, "{options:?}");
    }
}

#[test]
fn many_have_descriptors_of_their_own() {
    let world = project();
    let line =
        |number: u16| format!("S{number} = {{ from = \"cmd:echo {number}\", fd = {number} }}\n");
    let numbers = (3..=20).chain([100, 255]);
    let policy = format!("[secrets]\n{}", numbers.clone().map(line).collect::<String>());
    let script = "for n in {3..20} 100 255; do cat <&$n; done";
    let expected: String = numbers.map(|number| format!("{number}\n")).collect();
    let script = script.replace("cat <&$n", "cat <&$n; echo");
    assert_eq!(run(&world, &policy, &[], &script).ok(), expected);
}

#[test]
fn value_comes_from_a_file_or_a_command() {
    let world = project();
    world.write("elsewhere/token", &format!("{CANARY}\n\n"));
    let file = world.root().join("elsewhere/token");
    let sources = [
        format!("file:{}", file.display()),
        format!("cmd:cat {}", file.display()),
        "cmd:printf '%s' $KEY".to_owned(),
    ];
    for source in sources {
        let policy = format!("[secrets]\nT = {{ from = \"{source}\", fd = 3 }}");
        assert_eq!(run(&world, &policy, &[], "cat <&3").ok(), CANARY, "{source}");
    }
}

#[test]
fn command_of_a_secret_finds_nothing_of_the_project() {
    let world = project();
    // Python and others look for what they load where they are.
    world.write("home/project/helper", "echo planted");
    let policy =
        "[secrets]\nT = { from = \"cmd:pwd; test -e helper && . ./helper; true\", fd = 3 }";
    assert_eq!(run(&world, policy, &[], "cat <&3").ok(), "/");
}

#[test]
fn command_of_a_secret_leaves_what_is_piped_in_to_the_command() {
    let world = project();
    let text = "version = 1\n[secrets]\nT = { from = \"cmd:cat; echo value\", fd = 3 }\n";
    let policy = world.write("policy.toml", text);
    let piped = world.write("elsewhere/piped", "of the caller\n");
    let mut endow = world.endow(["run", "-p"]);
    endow.arg(policy).args(["--", "bash", "-c", "cat <&3; echo; cat"]);
    let said = said(endow.stdin(File::open(piped).expect("open")));
    assert_eq!(said.ok(), "value\nof the caller\n");
}

/// Runs with a secret that a command writes, and the project's `bin` first in PATH, as direnv and others
/// have it.
fn by_command(world: &World, line: &str, options: &[&str], path: &str) -> Said {
    let text = format!("version = 1\n[secrets]\nT = {{ from = \"cmd:{line}\", fd = 3 }}\n");
    let policy = world.write("policy.toml", &text);
    let mut endow = world.endow(["run", "-p"]);
    endow.arg(policy).args(options).args(["--", "bash", "-c", "cat <&3"]);
    let path = format!("{}:{path}:/usr/bin:/bin", world.project().join("bin").display());
    said(endow.env("PATH", path))
}

/// A program that an earlier run has planted would be a way out.
#[test]
fn program_that_a_command_may_have_written_writes_no_secret() {
    let world = project();
    let program = |path: &str, text: &str| {
        let file = world.write(path, &format!("#!/bin/sh\necho {text}\n"));
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("executable");
        file.display().to_string()
    };
    let planted = program("home/project/bin/pass", "planted");
    let own = program("own/pass", "own");
    let safe = world.root().join("own").display().to_string();
    fs::create_dir(world.root().join("linked")).expect("a directory");
    let linked = world.root().join("linked/pass");
    symlink(&planted, &linked).expect("a link");
    let directory = world.root().join("linked").display().to_string();
    let relative = planted.trim_start_matches('/').to_owned();
    for access in ["rw", "cow", "ro"] {
        let options = ["--workspace", access];
        // The one in the project is passed over.
        assert_eq!(by_command(&world, "pass show x", &options, &safe).ok(), "own", "{access}");
        assert_eq!(by_command(&world, &own, &options, "/none").ok(), "own", "{access}");
        let linked = linked.display().to_string();
        let up = format!("/usr/..{planted}");
        let behind = format!("2>/dev/null env -u A timeout 5 {planted}");
        let source = format!(". {planted}");
        for line in [
            &planted,
            &linked,
            &relative,
            &up,
            &behind,
            &source,
            &format!("true; exec {planted} x"),
            "pass x",
            "~/project/bin/pass",
            "$HOME/project/bin/pass",
            "cd ~/project && ./bin/pass",
            "PATH=$HOME/project/bin:/usr/bin pass",
            "sh -c 'exec $HOME/project/bin/pass'",
        ] {
            let told = by_command(&world, line, &options, "/none").fails(125).to_owned();
            assert!(told.contains("a command could change what writes secret T"), "{line}: {told}");
        }
        let told = by_command(&world, "pass show x", &options, &directory).fails(125).to_owned();
        assert!(told.contains("could change what writes"), "{access}: {told}");
    }
    // The control: a file of the project may be named, and what is no program is no matter.
    let line = format!("test -f {planted} && echo fine");
    assert_eq!(by_command(&world, &line, &[], "/none").ok(), "fine");
}

#[test]
fn variable_that_holds_it_is_not_passed() {
    let world = project();
    let policy = format!("[env]\npass = [\"KEY\"]\n{ENV_5}");
    assert_eq!(run(&world, &policy, &[], "echo $KEY").ok(), "\n");
    assert_eq!(run(&world, &policy, &["--env-all"], "echo $KEY").ok(), "\n");
    assert_eq!(run(&world, &policy, &["--env", "KEY=dummy"], "echo $KEY").ok(), "dummy\n");
    // The control: the same file without the secret passes it.
    assert_eq!(
        run(&world, "[env]\npass = [\"KEY\"]", &[], "echo $KEY").ok(),
        format!("{CANARY}\n")
    );
}

#[test]
fn value_that_cannot_be_had_ends_the_run_before_it_starts() {
    let world = project();
    world.write("elsewhere/empty", "\n");
    world.write("elsewhere/long", &CANARY.repeat(4000));
    let at = |name: &str| format!("file:{}", world.root().join("elsewhere").join(name).display());
    let cases = [
        ("env:NOT_THERE".to_owned(), "variable is not set: NOT_THERE"),
        (at("none"), "No such file or directory"),
        (at("empty"), "it is empty"),
        (at("long"), "it has more than 32768 bytes"),
        (at(""), "Is a directory"),
        (format!("cmd:echo {CANARY}; exit 3"), "its command failed: exit status: 3"),
        ("cmd:true".to_owned(), "it is empty"),
    ];
    for (source, expected) in cases {
        let policy = format!("[secrets]\nT = {{ from = \"{source}\", fd = 3 }}");
        let said = run(&world, &policy, &[], "echo started");
        let told = said.fails(125);
        assert!(told.contains("can't read secret T") && told.contains(expected), "{told}");
        assert!(said.stdout.is_empty() && !told.contains(CANARY), "{told}");
    }
    world.assert_no_run_left();
}

#[test]
fn file_that_the_command_would_see_is_refused() {
    let world = project();
    world.write("home/project/token", CANARY);
    let policy = "[secrets]\nT = { from = \"file:~/project/token\", fd = 3 }";
    let said = run(&world, policy, &[], "cat <&3");
    let told = said.fails(125);
    assert!(told.contains("the command would see secret T"), "{told}");
    let hidden = format!("[deny]\npatterns = [\"token\"]\n{policy}");
    assert_eq!(run(&world, &hidden, &[], "cat <&3; ls token 2>/dev/null").stdout, CANARY);
    let seeded = "[mounts]\n\"~/x\" = { private = true, seed = [\"~/x/token\"] }\n[secrets]\nT = { from = \"file:~/x/token\", fd = 3 }";
    world.write("home/x/token", CANARY);
    let told = run(&world, seeded, &["--workspace", "none", "--chdir", "/"], "true");
    assert!(told.fails(125).contains("the command would see secret T"), "{told:?}");
}

#[test]
fn file_that_the_command_would_see_by_another_name_is_refused() {
    let world = project();
    let token = world.write("elsewhere/token", CANARY);
    std::fs::hard_link(&token, world.home().join("other")).expect("a name");
    let policy = format!("[secrets]\nT = {{ from = \"file:{}\", fd = 3 }}", token.display());
    assert_eq!(run(&world, &policy, &[], "cat <&3").ok(), CANARY);
    let other = world.home().join("other").display().to_string();
    let told = run(&world, &policy, &["--ro", &other], "cat <&3");
    assert!(told.fails(125).contains("the command would see secret T"), "{told:?}");
}

#[test]
fn file_behind_a_link_of_the_project_is_refused() {
    let world = project();
    world.write("home/.ssh/id", CANARY);
    std::os::unix::fs::symlink("../.ssh/id", world.project().join("token")).expect("a link");
    let through = "[secrets]\nT = { from = \"file:~/project/token\", fd = 3 }";
    for access in ["ro", "rw", "cow"] {
        let told = run(&world, through, &["--workspace", access], "cat <&3");
        let said = told.fails(125);
        assert!(said.contains("named by a link that may be planted"), "{access}: {told:?}");
        assert!(said.contains("name the file itself") && told.stdout.is_empty(), "{told:?}");
    }
    // A link of the user's own is followed.
    std::os::unix::fs::symlink(".ssh/id", world.home().join("token")).expect("a link");
    let own = through.replace("project/", "");
    assert_eq!(run(&world, &own, &[], "cat <&3").ok(), CANARY);
}

#[test]
fn descriptor_that_the_caller_passes_is_refused() {
    let world = project();
    let script = format!(
        "printf 'version = 1\\n{}\\n' >../p.toml; exec {} run -p ../p.toml --keep-fd 5 -- true 5</dev/null",
        ENV_5.replace('\n', "\\n"),
        crate::harness::endow().display()
    );
    let told = world.bare(&script);
    assert!(told.fails(125).contains("descriptor is passed already: 5"), "{told:?}");
}

#[test]
fn plan_and_report_name_it_without_its_value() {
    let world = project();
    let policy = world.write("policy.toml", &format!("version = 1\n{ENV_5}\n"));
    let plan = |format: &[&str]| {
        let mut endow = world.endow(["plan", "-p"]);
        said(endow.arg(&policy).args(format).args(["--", "true"]).env("KEY", CANARY))
            .ok()
            .to_owned()
    };
    let (text, json) = (plan(&[]), plan(&["--json"]));
    assert!(text.contains("T env:KEY: descriptor 5"), "{text}");
    assert!(json.contains("\"env:KEY\""), "{json}");
    let report = world.root().join("report.json");
    let report_option = report.display().to_string();
    run(&world, ENV_5, &["--report", &report_option], "true").ok();
    let report = std::fs::read_to_string(&report).expect("a report");
    assert!([text, json, report].iter().all(|it| !it.contains(CANARY)));
}

/// A certificate shows whose it is by a name.
#[test]
fn address_is_no_server_of_a_secret() {
    let world = World::new();
    for host in
        ["192.0.2.2", "192.0.2.2:8443", "192.0.2.2/path", "[2001:db8::1]:443", "2001:db8::1", "::1"]
    {
        let secret = format!(
            "[secrets]\nT = {{ from = \"env:KEY\", for = \"{host}\", header = \"A: {{}}\" }}"
        );
        let refused = run(&world, &secret, &[], "true");
        let told =
            "a secret is for a host by its name, which its certificate shows, not for an address";
        assert!(refused.fails(120).contains(told), "{host}: {}", refused.stderr);
    }
    let secret = "[secrets]\nT = { from = \"env:KEY\", for = \"127.1\", header = \"A: {}\" }";
    let refused = run(&world, secret, &[], "true");
    assert!(refused.fails(120).contains("not for an address"), "{}", refused.stderr);
}
