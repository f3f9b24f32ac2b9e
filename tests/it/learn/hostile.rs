//! A command that asks for what nobody should give it.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::Value;

use super::{learn, policy, trust};
use crate::harness::{World, said};

fn secrets() -> World {
    let world = World::new();
    for path in [".ssh/id_rsa", ".aws/credentials", ".codex/auth.json", ".bashrc", ".mozilla/x"] {
        world.write(format!("home/{path}"), "secret\n");
    }
    world.write("home/project/.env", "secret\n");
    world
}

#[test]
fn secrets_are_comments_and_stay_secret() {
    let world = secrets();
    // What it has made itself is no longer asked for of the host.
    let script = "echo evil >> ~/.bashrc; for it in .ssh/id_rsa .aws/credentials .codex/auth.json .mozilla/x \
                  .bashrc project/.env; do cat ~/$it; done; ls ~/.ssh; unshare -U true; exit 0";
    // The control: outside it gets them.
    assert_eq!(world.bare(script).stdout.matches("secret").count(), 6);
    let world = secrets();
    let learned = learn(&world, &[], script);
    assert!(!learned.stderr.contains("secret\n"), "{learned:?}");
    let diff = learned.ok();
    let added: Vec<&str> = diff.lines().filter(|it| it.starts_with('+')).collect();
    let is_no_grant = |it: &&&str| {
        let it = it[1..].trim_start();
        it.is_empty()
            || it.starts_with(['#', '[', ']', '+'])
            || it.starts_with("version")
            || it == "allow = ["
    };
    let granted: Vec<_> = added.iter().filter(|it| !is_no_grant(it)).collect();
    assert!(granted.is_empty(), "{granted:?}\n{diff}");
    for name in
        ["~/.ssh", "~/.aws/credentials", "~/.codex/auth.json", "~/.mozilla/x", "~/project/.env"]
    {
        assert!(added.iter().any(|it| it.starts_with(&format!("+#\"{name}"))), "{name}\n{diff}");
    }
    assert!(added.iter().any(|it| it.starts_with("+    #\"userns\",  # called")), "{diff}");
    let bashrc = std::fs::read_to_string(world.home().join(".bashrc")).expect("read");
    assert_eq!(bashrc, "secret\n");
    said(&mut world.endow(["learn", "--write"])).ok();
    trust(&world);
    let again = world.run(&[], script);
    assert!(!again.stdout.contains("secret"), "{again:?}\n{}", policy(&world));
    assert_eq!(learn(&world, &[], script).ok(), "");
}

/// A name that leads to a secret is as dangerous as the secret.
#[test]
fn links_to_secrets_are_comments() {
    let world = secrets();
    let link = world.root().join("shared");
    symlink(world.home().join(".ssh"), &link).expect("a link");
    symlink(world.home().join(".aws"), world.project().join("keys")).expect("a link");
    let script = format!("cat {}/id_rsa; cat keys/credentials", link.display());
    assert_eq!(world.bare(&script).ok(), "secret\nsecret\n");
    let learned = said(world.endow(["learn", "--json"]).args(["--", "sh", "-c", &script]));
    let told: Value = serde_json::from_str(learned.ok()).expect("JSON");
    let lines = told["lines"].as_array().expect("lines");
    assert!(!lines.is_empty(), "{told}");
    assert!(lines.iter().all(|line| line["danger"].is_string()), "{told}");
}

#[test]
fn sockets_are_comments() {
    let world = World::new();
    let socket = world.root().join("db.sock");
    let _listener = UnixListener::bind(&socket).expect("a socket");
    let connect = "import socket, sys\nfor path in sys.argv[1:]:\n  try: socket.socket(socket.AF_UNIX).connect(path)\n  \
                   except OSError as error: print(error)\n";
    let script = world.write("home/project/connect.py", connect);
    let run = format!("python3 {} {}", script.display(), socket.display());
    assert_eq!(world.bare(&run).ok(), "");
    let learned = learn(&world, &[], &run);
    let danger = "whatever listens there acts outside";
    let line =
        format!("+#\"{}\" = {{ socket = true }}  # connected to: {danger}\n", socket.display());
    assert!(learned.ok().contains(&line), "{learned:?}");
}

/// Names come from the command: none ends its line, and none drives the terminal.
#[test]
fn hostile_names_stay_in_their_line() {
    let world = World::new();
    let name = "x\n\"/\" = \"rw\"\n\u{1b}[2J";
    world.write(format!("shared/{name}"), "content\n");
    let script = format!("cat '{}/shared/{name}'", world.root().display());
    let learned = learn(&world, &[], &script);
    assert!(!learned.ok().contains('\u{1b}'), "{learned:?}");
    assert!(learned.stdout.contains("x\\U0000000A\\\"/\\\" = \\\"rw\\\""), "{learned:?}");
    said(&mut world.endow(["learn", "--write"])).ok();
    trust(&world);
    assert_eq!(world.run(&[], &script).ok(), "content\n");
    world.run(&[], "ls /root").fails(2);
}
