//! A login at a real sshd, which is started for one connection by ssh itself.

use crate::harness::World;

const SSHD: &str = "/usr/sbin/sshd";

/// A user, and a server that knows the keys of the world.
fn world(keys: &[&str]) -> (World, String) {
    assert!(std::path::Path::new(SSHD).exists(), "openssh-server is installed");
    let world = World::with(keys);
    world.make_key("host");
    let read = |name: &str| std::fs::read_to_string(world.path(name)).expect("read");
    let known: Vec<String> = keys.iter().map(|key| read(&format!("{key}.pub"))).collect();
    world.write("authorized", &known.concat());
    world.write("hosts", &format!("server {}", read("host.pub")));
    let config = [
        format!("HostKey {}", world.path("host").display()),
        format!("AuthorizedKeysFile {}", world.path("authorized").display()),
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\n".to_owned(),
    ];
    world.write("config", &config.join("\n"));
    // As root, sshd wants a directory that a boot would have made.
    let server = format!(
        "exec 2>>log; test $(id -u) != 0 && exec {SSHD} -i -e -f config; \
         exec unshare -m sh -c 'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && \
         exec {SSHD} -i -e -f config'"
    );
    world.write("server", &server);
    let user = world.ok("agent", &["id", "-un"]);
    (world, user.trim().to_owned())
}

/// Logs in through the agent at a socket; whether it worked.
fn logs_in(world: &World, user: &str, socket: &str) -> bool {
    let options = "BatchMode=yes UserKnownHostsFile=hosts GlobalKnownHostsFile=none \
                   StrictHostKeyChecking=yes PreferredAuthentications=publickey \
                   IdentityFile=none";
    let mut command = world.command("ssh", socket);
    command.args(["-F", "none", "-o", "ProxyCommand=sh server", "-l", user]);
    command.args(options.split_whitespace().flat_map(|option| ["-o", option]));
    let output = command.args(["server", "echo", "logged in"]).output().expect("started");
    output.stdout == b"logged in\n"
}

fn told(world: &World) -> String {
    std::fs::read_to_string(world.path("log")).unwrap_or_default()
}

#[test]
fn login_works_with_a_chosen_key() {
    let (world, user) = world(&["work"]);
    let _filter = world.filter(&["work"]);
    assert!(logs_in(&world, &user, "sandbox"), "{}", told(&world));
}

#[test]
fn login_fails_with_another_key() {
    let (world, user) = world(&["work"]);
    world.make_key("other");
    world.ok("agent", &["ssh-add", "-q", "other"]);
    let _filter = world.filter(&["other"]);
    assert!(!logs_in(&world, &user, "sandbox"));
    assert!(logs_in(&world, &user, "agent"), "{}", told(&world));
}

#[test]
fn login_works_with_a_key_for_one_destination() {
    let (world, user) = world(&["work"]);
    let add = ["ssh-add", "-q", "-H", "hosts", "-h", "server", "work"];
    world.ok("agent", &["ssh-add", "-q", "-D"]);
    world.ok("agent", &add);
    let filter = world.filter(&["work"]);
    assert!(logs_in(&world, &user, "sandbox"), "{}", told(&world));
    drop(filter);
    std::fs::remove_file(world.path("sandbox")).expect("removed");

    // The same key for another host, of which the agent learns by the session that is bound.
    world.make_key("elsewhere");
    let key = std::fs::read_to_string(world.path("elsewhere.pub")).expect("read");
    world.write("others", &format!("elsewhere {key}"));
    world.ok("agent", &["ssh-add", "-q", "-D"]);
    world.ok("agent", &["ssh-add", "-q", "-H", "others", "-h", "elsewhere", "work"]);
    let _filter = world.filter(&["work"]);
    assert!(!logs_in(&world, &user, "sandbox"));
}

#[test]
fn login_is_asked_about_with_its_user_and_host() {
    let (world, user) = world(&["work"]);
    let expected = world.path("expected");
    let script = format!("test \"$1\" = \"$(cat {})\"", expected.display());
    let _filter = world.asking_filter(&["work"], &script);
    let (key, host) = (world.fingerprint("work"), world.fingerprint("host"));
    world.write(
        "expected",
        &format!(
            "Allow \"ssh\" to sign with work ({key})? In a sandbox, a login as \"{user}\" for \
             \"ssh-connection\" at the host {host}\n"
        ),
    );
    assert!(logs_in(&world, &user, "sandbox"), "{}", told(&world));
}
