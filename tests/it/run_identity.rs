//! Who the command is, inside as outside.

use std::process::Command;

use crate::harness::{World, endow, said};
use crate::runners::named;

#[test]
fn account_keeps_its_shell_whatever_the_environment_says() {
    let world = World::new();
    let script = "grep \":$(id -u):\" /etc/passwd | cut -d: -f7; echo $SHELL";
    let bare = said(world.command("sh").args(["-c", script]).env("SHELL", "/bin/other"));
    let endow = ["run", "--", "sh", "-c", script];
    let inside = said(world.endow(endow).env("SHELL", "/bin/other"));
    assert_eq!(inside, bare);
    assert!(inside.ok().ends_with("/bin/other\n"), "{inside:?}");
}

/// Starts a program where every read of the account database fails.
const UNREADABLE: &str = "mount --bind /proc/$$/mem /etc/passwd && exec \"$0\" \"$@\"";

fn without_accounts(world: &World, home: Option<&str>) -> Command {
    let mut command = world.command("unshare");
    command.args(["-Urm", "sh", "-c", UNREADABLE, "env", "-u", "HOME"]);
    command.args(home.map(|home| format!("HOME={home}")));
    command
}

/// A user whose home is not known has other policies and other hidden names than one without a home.
#[test]
fn account_that_can_not_be_read_is_none_without_a_home() {
    let world = World::new();
    let run =
        |home| said(without_accounts(&world, home).arg(endow()).args(["run", "--", "echo", "hi"]));
    let told = run(None);
    let error = told.fails(125);
    assert!(error.contains("can't read where the home is: /etc/passwd"), "{error}");
    assert!(error.contains("Input/output error") && error.contains("set HOME"), "{error}");
    let home = world.root().join("home");
    assert_eq!(run(home.to_str()).ok(), "hi\n", "control: the home is named");
    // It never takes a home from the environment, which is its command's.
    let sandbox = |command: &mut Command| {
        said(command.arg(named(&world, "linux-sandbox")).args(["--", "echo", "hi"]))
    };
    let told = sandbox(&mut without_accounts(&world, home.to_str()));
    assert!(told.stderr.contains("can't read where the home is"), "{told:?}");
    assert_eq!((told.code != 0, told.stdout.as_str()), (true, ""), "{told:?}");
    assert_eq!(sandbox(&mut world.command("env")).ok(), "hi\n", "control: it is read");
}

/// What nothing covers below `/proc` then, permissions keep from everybody else.
#[test]
fn root_gets_no_nested_namespaces() {
    let world = World::new();
    let write = "exec 3<>/proc/sys/kernel/core_pattern && echo opened";
    for command in ["run", "plan"] {
        let words = [command, "--allow", "userns", "--", "bash", "-c", write];
        let as_root = |starts: &str| {
            let told = said(world.command("unshare").arg(starts).arg(endow()).args(words));
            let error = told.fails(122);
            assert!(error.contains("as root, `--allow userns` would"), "{error}");
            assert!(error.contains("hint: run endow as an ordinary user"), "{error}");
            assert_eq!(told.stdout, "");
        };
        as_root("-Ur");
        if rustix::process::geteuid().is_root() {
            as_root("--");
        } else if command == "run" {
            let told = said(&mut world.endow(words));
            assert!(told.fails(1).contains("Permission denied"), "{told:?}");
        }
    }
    let control = said(&mut world.endow(["run", "--", "bash", "-c", write]));
    assert!(control.fails(1).contains("core_pattern"), "{control:?}");
}
