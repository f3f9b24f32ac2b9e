//! Arguments, variables, directories and names: byte for byte what the caller gave.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::harness::{World, endow};

/// Prints arguments, each in hexadecimal.
const SHOWS: &str = "import os, sys
for it in sys.argv[1:]: print(os.fsencode(it).hex())";

fn bytes(text: &[u8]) -> OsString {
    OsStr::from_bytes(text).to_owned()
}

/// Runs a command and returns its stdout; it must succeed.
#[track_caller]
fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn arguments_are_exact() {
    let world = World::new();
    let every: Vec<u8> = (1..=255).collect();
    let long = vec![b'x'; 100_000];
    let odd: [&[u8]; 12] = [
        b"",
        b" ",
        b"a b",
        b"\n",
        b"-",
        b"--",
        b"--ro",
        b"$HOME",
        b"*",
        b"\xff\xfe",
        &every,
        &long,
    ];
    let odd = odd.map(bytes);
    let bare = output(world.command("python3").args(["-c", SHOWS]).args(&odd));
    for prefix in [&["--"][..], &["run", "--"], &["-q", "--"]] {
        let mut inside = world.endow(prefix);
        let inside = output(inside.args(["python3", "-c", SHOWS]).args(&odd));
        assert!(inside == bare, "{prefix:?}: {}", String::from_utf8_lossy(&inside));
    }
}

#[test]
fn variables_are_exact() {
    let world = World::new();
    let every: Vec<u8> = (1..=255).collect();
    let shows = "import os; print(os.environb[b'ODD'].hex(), os.environb[b'SET'].hex())";
    for odd in [&b""[..], b"a=b=c", b"\n\n", b"\xff", &every] {
        let mut set = b"SET=".to_vec();
        set.extend_from_slice(odd);
        let mut inside = world.endow(["--env", "ODD", "--env"]);
        inside.arg(bytes(&set)).args(["--", "python3", "-c", shows]).env("ODD", bytes(odd));
        let mut bare = world.command("python3");
        bare.args(["-c", shows]).env("ODD", bytes(odd)).env("SET", bytes(odd));
        assert_eq!(output(&mut inside), output(&mut bare));
    }
}

/// Starts in `cwd`, which must be shown live, and compares what the command sees there.
#[track_caller]
fn check_cwd(world: &World, cwd: &Path) {
    let script =
        "pwd | od -c; /bin/pwd | od -c; echo x >made; ls | od -c; rm made; echo \"$PWD\" | od -c";
    let bare = output(world.command("sh").args(["-c", script]).current_dir(cwd).env("PWD", cwd));
    let mut inside = world.endow(["--", "sh", "-c", script]);
    assert_eq!(output(inside.current_dir(cwd).env("PWD", cwd)), bare, "{}", cwd.display());
}

#[test]
fn current_directory_may_have_any_name() {
    let world = World::new();
    let names: [&[u8]; 12] = [
        b" ",
        b"a b",
        b"a=b",
        b"a,ro",
        b"a:b",
        b"a\nb",
        b"a\\b",
        b"@",
        b"\xff\xfe",
        b"-",
        b"~",
        b"...",
    ];
    for name in names {
        let cwd = world.project().join(OsStr::from_bytes(name));
        fs::create_dir(&cwd).expect("a directory");
        check_cwd(&world, &cwd);
        fs::create_dir(cwd.join("deep")).expect("a directory");
        check_cwd(&world, &cwd.join("deep"));
    }
}

#[test]
fn current_directory_may_be_long() {
    let world = World::new();
    let cwd = (0..12).fold(world.project(), |path, _| path.join("d".repeat(250)));
    fs::create_dir_all(&cwd).expect("directories");
    check_cwd(&world, &cwd);
}

#[test]
fn current_directory_may_be_reached_by_a_link() {
    let world = World::new();
    let real = world.home().join("real");
    fs::create_dir(&real).expect("a directory");
    let link = world.home().join("link");
    symlink(&real, &link).expect("a link");
    let mut inside = world.endow(["--", "sh", "-c", "/bin/pwd; echo x >made"]);
    let shown = output(inside.current_dir(&link).env("PWD", &link));
    assert_eq!(shown, [real.as_os_str().as_bytes(), b"\n"].concat());
    assert!(real.join("made").exists());
}

#[test]
fn current_directory_below_tmp_is_shown() {
    let world = World::new();
    let place =
        tempfile::Builder::new().prefix("endow-cwd-").tempdir_in("/tmp").expect("a directory");
    let other =
        tempfile::Builder::new().prefix("endow-other-").tempdir_in("/tmp").expect("another");
    check_cwd(&world, place.path());
    let listed = output(world.endow(["--", "ls", "/tmp"]).current_dir(place.path()));
    let listed = String::from_utf8_lossy(&listed);
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(
        listed.contains(&name(place.path())) && !listed.contains(&name(other.path())),
        "{listed}"
    );
}

#[test]
fn current_directory_that_is_gone_is_told() {
    let world = World::new();
    let file = world.write("policy.toml", "version = 1\n");
    let check = format!("check {}", file.display());
    let commands = ["-- touch /tmp/started", "check", &check, "doctor", "runs", "profile list"];
    for command in commands {
        let line = format!("mkdir gone && cd gone && rmdir ../gone && \"$E\" {command}");
        let said = crate::harness::said(world.command("sh").args(["-c", &line]).env("E", endow()));
        let told = said.fails(125);
        assert!(told.contains("can't use the current directory"), "{command}: {told}");
        assert!(told.contains("hint: `cd` to a directory that exists"), "{command}: {told}");
        assert_eq!(said.stdout, "", "{command}");
    }
}

#[test]
fn home_may_be_a_link() {
    let world = World::new();
    let link = world.root().join("linked");
    symlink(world.home(), &link).expect("a link");
    world.write("home/.secret", "secret\n");
    let script = "echo $HOME; ls -A ~; echo x >~/file; cat ~/file; pwd";
    let mut inside = world.endow(["--", "sh", "-c", script]);
    let said = crate::harness::said(inside.env("HOME", &link).current_dir(world.project()));
    let text = said.ok();
    assert!(text.starts_with(&format!("{}\n", link.display())), "{text}");
    assert!(text.contains("\nx\n") && !text.contains(".secret"), "{text}");
    assert!(!world.home().join("file").exists());
}

/// As where `/home` is one: what endow keeps for itself is below it then.
#[test]
fn link_may_lead_to_what_endow_keeps() {
    let world = World::new();
    let link = world.root().join("linked");
    symlink(world.home(), &link).expect("a link");
    fs::create_dir(world.home().join("elsewhere")).expect("made");
    fs::create_dir(world.home().join(".local")).expect("made");
    symlink("../elsewhere", world.home().join(".local/state")).expect("a link");
    for (name, value) in [("HOME", link.clone()), ("HOME", world.home()), ("XDG_STATE_HOME", link)]
    {
        let mut run = world.endow(["run", "--workspace", "cow", "--", "sh", "-c", "echo $$ >file"]);
        run.env_remove("ENDOW_STATE_DIR").env_remove("ENDOW_CACHE_DIR").env(name, value);
        let said = crate::harness::said(run.current_dir(world.project()));
        assert!(said.code == 0 && world.project().join("file").exists(), "{}", said.stderr);
        fs::remove_file(world.project().join("file")).expect("removed");
    }
}

#[test]
fn home_may_be_unset() {
    let world = World::new();
    let mut inside =
        world.endow(["--", "sh", "-c", "echo fine; test -d \"$HOME\" && cd && echo there"]);
    let said = crate::harness::said(inside.env_remove("HOME"));
    assert_eq!(said.ok(), "fine\nthere\n");
}

#[test]
fn home_may_be_missing_on_the_host() {
    let world = World::new();
    for home in ["/nonexistent", "", "/"] {
        let mut inside = world.endow(["--", "sh", "-c", "echo fine"]);
        let said = crate::harness::said(inside.env("HOME", home));
        assert_eq!(said.ok(), "fine\n", "HOME={home}");
    }
}

#[test]
fn home_that_is_said_with_dots_has_the_same_policy() {
    let world = World::new();
    world.write("home/.config/endow/policy.toml", "version = 1\n[deny]\npatterns = [\"a\"]\n");
    world.write("home/project/a", "a\n");
    let home = world.home();
    let mut inside = world.endow(["--", "sh", "-c", "echo $HOME; ls"]);
    inside.env_remove("ENDOW_CONFIG_DIR").env("HOME", home.join("project/.."));
    let said = crate::harness::said(inside.current_dir(world.project()));
    assert_eq!(said.ok(), format!("{}\n", home.display()));
}

#[test]
fn home_that_names_no_place_is_a_mistake() {
    let world = World::new();
    let said = crate::harness::said(world.endow(["--", "true"]).env("HOME", "relative"));
    let told = said.fails(125);
    assert!(told.contains("not an absolute path: HOME"), "{told}");
    assert!(told.contains("hint: set HOME to the path"), "{told}");
}

#[test]
fn what_a_user_without_a_home_lacks_is_told() {
    let world = World::new();
    let without = |dirs: &[&str]| {
        let mut inside = world.endow(["--workspace", "ro", "--", "true"]);
        for name in dirs {
            inside.env_remove(name);
        }
        let said = crate::harness::said(inside.env("HOME", "/nonexistent"));
        said.ok();
        said.stderr
    };
    let told = without(&["ENDOW_CONFIG_DIR"]);
    assert!(told.contains("there is no home") && told.contains("hint: set HOME, or"), "{told}");
    assert_eq!(without(&[]), "");
    let mut build = world.endow(["build", "--", "true"]);
    let build = build.env_remove("ENDOW_CONFIG_DIR").env("HOME", "/nonexistent");
    let told = crate::harness::said(build);
    told.ok();
    assert!(told.stderr.contains("there is no home: policies, results and"), "{told:?}");
}

/// endow itself opens more at a time than the caller allowed.
#[test]
fn too_few_descriptors_are_told_as_such() {
    let world = World::new();
    let mut shell = world.command("sh");
    let line = "ulimit -n 12; \"$E\" run -- true";
    let told = crate::harness::said(shell.args(["-c", line]).env("E", crate::harness::endow()));
    assert!(told.stderr.contains("hint: raise the limit of open files, `ulimit -n`\n"), "{told:?}");
}

#[test]
fn state_that_can_not_be_written_is_told_with_the_way_out() {
    let world = World::new();
    let closed = world.root().join("closed");
    fs::create_dir(&closed).expect("made");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("closed");
    // No bits keep root out, and nobody makes a directory in /proc.
    let is_root = rustix::process::geteuid().is_root();
    let place = if is_root { Path::new("/proc") } else { &closed };
    let mut run = world.endow(["run", "--workspace", "none", "--chdir", "/", "--", "true"]);
    let said = crate::harness::said(run.env("ENDOW_STATE_DIR", place.join("endow")));
    let told = said.fails(125);
    assert!(told.contains("hint: ENDOW_STATE_DIR names another directory"), "{told}");
}

#[test]
fn script_without_an_interpreter_line_runs_in_the_shell() {
    let world = World::new();
    let script = world.write("home/project/script", "echo \"$0\" \"$@\"; exit 3\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
    let arguments = ["-q", "--", "./script", "a b", ""];
    let said = crate::harness::said(&mut world.endow(arguments));
    assert_eq!((said.code, said.stdout.as_str()), (3, "./script a b \n"), "{}", said.stderr);
}

#[test]
fn command_may_be_named_by_a_relative_path() {
    let world = World::new();
    let script = world.write("home/project/sub/script", "#!/bin/sh\necho \"$0\"\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
    for (directory, name) in
        [("", "sub/script"), ("", "./sub/script"), ("sub", "./script"), ("sub", "../sub/script")]
    {
        let mut inside = world.endow(["--", name]);
        inside.current_dir(world.project().join(directory));
        assert_eq!(crate::harness::said(&mut inside).ok(), format!("{name}\n"));
    }
}

/// Runs endow with a command that can't be started, and returns what it said.
#[track_caller]
fn refused(world: &World, code: i32, command: &str) -> String {
    let said = crate::harness::said(&mut world.endow(["--", command, "argument"]));
    assert_eq!(said.stdout, "");
    let stderr = said.fails(code).to_owned();
    assert!(stderr.starts_with("endow: ") && stderr.contains(command), "{stderr}");
    world.assert_no_run_left();
    stderr
}

#[test]
fn command_that_does_not_exist_is_127() {
    let world = World::new();
    refused(&world, 127, "no-such-command");
    refused(&world, 127, "./no-such-command");
    refused(&world, 127, "/no/such/command");
    refused(&world, 127, "/usr/bin/no-such-command");
}

#[test]
fn command_that_is_not_executable_is_126() {
    let world = World::new();
    world.write("home/project/data", "text\n");
    fs::create_dir(world.project().join("directory")).expect("a directory");
    refused(&world, 126, "./data");
    refused(&world, 126, "./directory");
    refused(&world, 126, "/usr");
}

#[test]
fn interpreter_that_does_not_exist_is_told() {
    let world = World::new();
    let script = world.write("home/project/script", "#!/no/such/interpreter\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
    let stderr = refused(&world, 127, "./script");
    assert!(stderr.contains("needs the interpreter /no/such/interpreter: "), "{stderr}");
}

#[test]
fn path_that_does_not_lead_to_the_command_is_told() {
    let world = World::new();
    let tool = world.write("home/project/nb/tool", "#!/bin/sh\necho tool\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("executable");
    let elsewhere = crate::harness::said(&mut world.endow(["--env", "PATH=/zz", "--", "ls"]));
    let told = elsewhere.fails(127);
    assert!(told.contains("no directory of PATH inside has it"), "{told}");
    assert!(told.contains("hint: name it by its path: /usr/bin/ls"), "{told}");
    for path in ["nb:/usr/bin:/bin", "/usr/bin::/bin"] {
        let name = if path.starts_with("nb") { "tool" } else { "other" };
        let other = world.write("home/project/other", "#!/bin/sh\n");
        fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("executable");
        let relative = crate::harness::said(world.endow(["--", name]).env("PATH", path));
        let told = relative.fails(127);
        assert!(told.contains("a relative directory of PATH has it"), "{path}: {told}");
        assert!(told.contains(&format!("/{name}\n")), "{path}: {told}");
    }
    // An empty PATH would name the current directory, to every shell.
    for (path, inside) in [("/zz", "/zz"), ("/zz:.", "/zz"), (".", "none"), ("", "none")] {
        let option = format!("PATH={path}");
        let script = ["--env", &option, "--", "/bin/sh", "-c", "env; other"];
        let told = crate::harness::said(&mut world.endow(script));
        assert!(!told.stdout.contains("PATH=\n"), "{path}: {told:?}");
        let set = told.stdout.contains("PATH=").then(|| format!("PATH={inside}\n"));
        assert!(set.is_none_or(|it| told.stdout.contains(&it)), "{path}: {told:?}");
    }
    let mut unset = world.endow(["--", "ls", "nb"]);
    assert_eq!(crate::harness::said(unset.env_remove("PATH")).ok(), "tool\n");
}

#[test]
fn name_of_the_command_is_what_was_typed() {
    let world = World::new();
    let said = crate::harness::said(&mut world.endow([
        "--",
        "sh",
        "-c",
        "echo $0; tr '\\0' ' ' </proc/$$/cmdline",
    ]));
    assert!(said.ok().starts_with("sh\nsh -c echo"), "{}", said.stdout);
}
