//! Programs of all kinds reach an allowed name as they are, and with no proxy variable.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;

use super::modes;
use super::world::places::is_web;
use super::world::{NetWorld, authority};
use crate::harness::{World, debian_program, said};

/// A program, what it must be allowed, what it runs as, and a word that it then prints.
struct Client {
    program: &'static str,
    rule: &'static str,
    script: &'static str,
    prints: &'static str,
}

const CLIENTS: [Client; 8] = [
    Client {
        program: "curl",
        rule: "web.example.test",
        script: "curl -sS https://web.example.test/",
        prints: "hello from ",
    },
    Client {
        program: "curl",
        rule: "web.example.test:80,8443",
        script: "curl -sS http://web.example.test/ && curl -sSI https://web.example.test:8443/",
        prints: "hello from ",
    },
    Client {
        program: "node",
        rule: "web.example.test",
        script: r#"node -e "
            require('https').get('https://web.example.test/', it => it.pipe(process.stdout))""#,
        prints: "hello from ",
    },
    Client {
        program: "python3",
        rule: "web.example.test:443",
        script: "python3 -c \"
import urllib.request as it
print(it.urlopen('https://web.example.test/').read())\"",
        prints: "hello from ",
    },
    Client {
        program: "git",
        rule: "web.example.test",
        script: "git ls-remote https://web.example.test/git/made.git",
        prints: "refs/heads/main",
    },
    Client {
        program: "getent",
        rule: "web.example.test",
        script: "getent ahosts web.example.test",
        prints: "STREAM web.example.test",
    },
    Client {
        program: "bash",
        rule: "web.example.test:7",
        script: "bash -c 'exec 3<>/dev/tcp/web.example.test/7; echo hello >&3; head -n 1 <&3'",
        prints: "hello",
    },
    Client {
        program: "openssl",
        rule: "web.example.test",
        script: r"printf 'GET / HTTP/1.0\r\n\r\n' | openssl s_client -quiet -verify_return_error \
            -connect web.example.test:443 -servername web.example.test | grep hello",
        prints: "hello from ",
    },
];

#[test]
fn client_reaches_an_allowed_name() {
    let Some(world) = NetWorld::start() else { return };
    make_repository(&world);
    for client in &CLIENTS {
        if debian_program(client.program).is_none() {
            continue;
        }
        for net in modes(client.rule) {
            let printed = said(world.endow(shell(&world, net)).arg(client.script));
            assert!(printed.ok().contains(client.prints), "{net}: {}: {printed:?}", client.script);
        }
    }
    let reached = world.reached();
    assert!(reached.iter().all(|place| is_web(place)), "{reached:?}");
}

/// Returns what comes before a script: everything that a user would give, and nothing else.
fn shell(world: &NetWorld, net: &str) -> Vec<String> {
    let authority = authority(world.files()).display().to_string();
    let variables = ["CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];
    let mut line = ["run", "--workspace", "rw", "--net", net].map(ToOwned::to_owned).to_vec();
    line.extend(["--ro".to_owned(), authority.clone()]);
    for name in variables {
        line.extend(["--env".to_owned(), format!("{name}={authority}")]);
    }
    line.extend(["--", "sh", "-c"].map(ToOwned::to_owned));
    line
}

/// Makes `made.git` with one commit, where the servers look for it.
fn make_repository(world: &NetWorld) {
    let files = world.files();
    let script =
        "git init -q --bare -b main made.git && git -C made.git config http.receivepack true
        tree=$(git -C made.git mktree < /dev/null)
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        git -C made.git update-ref refs/heads/main $(git -C made.git commit-tree -m one $tree)";
    std::fs::create_dir_all(files.root().join("git")).expect("a directory");
    let mut command = files.command("sh");
    said(command.current_dir(files.root().join("git")).args(["-c", script])).ok();
}

const CLONE_AND_PUSH: &str =
    "git clone -q https://web.example.test/git/made.git clone && cd clone &&
    head -c 3000000 /dev/urandom > large && git add large &&
    git -c user.name=a -c user.email=a@b commit -qm two &&
    git -c http.postBuffer=8m push -q origin main && git rev-parse HEAD";

#[test]
fn client_git_clones_and_pushes() {
    for net in modes("web.example.test") {
        let Some(world) = NetWorld::start() else { return };
        make_repository(&world);
        let pushed = said(world.endow(shell(&world, net)).arg(CLONE_AND_PUSH));
        let mut inspect = world.files().command("git");
        inspect.current_dir(world.files().root().join("git/made.git"));
        let there = said(inspect.args(["rev-parse", "main"]));
        assert_eq!(pushed.ok(), there.ok(), "{net}");
    }
}

#[test]
fn client_ssh_runs_a_command() {
    let needed = ["ssh", "ssh-keygen", "sshd"].map(debian_program);
    if needed.iter().any(Option::is_none) {
        return;
    }
    let Some(world) = NetWorld::start() else { return };
    make_ssh(world.files());
    let keys = world.files().root().join("ssh/client").display().to_string();
    for net in modes("web.example.test:2222") {
        let mut command = world.endow(["run", "--workspace", "rw", "--net", net, "--ro", &keys]);
        command.args(["--", "ssh", "-F", "none", "-p", "2222", "-i"]).arg(format!("{keys}/login"));
        command.arg("-o").arg(format!("UserKnownHostsFile={keys}/hosts"));
        let echoed = said(command.args(["web.example.test", "cat; echo there >&2"]));
        assert_eq!((echoed.ok(), echoed.stderr.contains("there")), ("", true), "{net}: {echoed:?}");
    }
}

/// Makes `ssh/sshd_config` and what it names, and in `ssh/client` a login and the known hosts.
fn make_ssh(files: &World) {
    let root = files.root().join("ssh");
    let path = |name: &str| root.join(name).display().to_string();
    std::fs::create_dir_all(root.join("client")).expect("a directory");
    for name in ["host", "client/login"] {
        let mut command = files.command("ssh-keygen");
        said(command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(root.join(name))).ok();
    }
    let key = std::fs::read_to_string(root.join("host.pub")).expect("a key");
    files.write("ssh/client/hosts", &format!("[web.example.test]:2222 {key}"));
    let lines = [
        format!("HostKey {}", path("host")),
        format!("AuthorizedKeysFile {}", path("client/login.pub")),
        "StrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\n".to_owned(),
    ];
    files.write("ssh/sshd_config", &lines.join("\n"));
}

/// Programs find their way by names and addresses alone.
#[test]
fn client_is_told_of_no_proxy() {
    let Some(world) = NetWorld::start() else { return };
    let script = "env | grep -i -e proxy -e socks || echo none";
    assert_eq!(said(world.endow(shell(&world, "web.example.test")).arg(script)).ok(), "none\n");
}

/// Names the address that a copy of these tests is to connect to, as a guest.
const GUEST: &str = "ENDOW_TEST_CONNECTS_TO";

/// With [`GUEST`] set, the client of the test below; without, nothing.
#[test]
fn client_of_the_standard_library() {
    let Ok(place) = std::env::var(GUEST) else { return };
    let mut stream = TcpStream::connect(place).expect("connected");
    stream.write_all(b"hello\n").expect("sent");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    assert_eq!(line, "hello\n");
}

#[test]
fn client_in_rust_reaches_an_allowed_name() {
    let Some(world) = NetWorld::start() else { return };
    let tests = std::env::current_exe().expect("this executable");
    let name = concat!(module_path!(), "::client_of_the_standard_library");
    let (_, name) = name.split_once("::").expect("the name of the crate");
    for net in modes("web.example.test:7") {
        let place = format!("{GUEST}=web.example.test:7");
        let mut command = world.endow(["run", "--workspace", "rw", "--net", net, "--env", &place]);
        command.arg("--ro").arg(grant(&tests)).args(["--", "/tests", "--exact", name]);
        let passed = said(&mut command);
        assert!(passed.ok().contains("1 passed"), "{net}: {passed:?}");
    }
    assert!(!world.reached().is_empty());
}

fn grant(tests: &Path) -> String {
    format!("/tests={}", tests.display())
}
