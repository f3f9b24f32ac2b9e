//! Words for registries: their hosts come from the user's own configuration of a tool, or from the
//! tool. Packages are installed from the registries that this machine's own tools know.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{Said, World, debian_program, said, skip};
use crate::work::provisioned;

/// What each script says when a package is there.
const INSTALLED: &str = "installed\n";

const NPM: &str = "mkdir /tmp/p; cd /tmp/p && \
    npm install --no-audit --no-fund --fetch-retries=0 left-pad >&2 && \
    test -s node_modules/left-pad/package.json && echo installed";

const PIP: &str = "pip3 install --no-cache-dir --retries 0 --target /tmp/packages six >&2 && \
    PYTHONPATH=/tmp/packages python3 -c 'import six; print(\"installed\")'";

/// A package of our own with one dependency, which is built.
const CARGO: &str = "mkdir -p /tmp/p/src; cd /tmp/p && export CARGO_HOME=/tmp/cargo && \
    printf '[package]\\nname = \"p\"\\nedition = \"2021\"\\n[dependencies]\\ncfg-if = \"1\"\\n' >Cargo.toml && \
    echo 'cfg_if::cfg_if! { if #[cfg(unix)] { pub fn f() {} } }' >src/lib.rs && \
    cargo --config net.retry=0 build >&2 && echo installed";

/// The certificates that this machine's tools believe, where it says so by variables.
const CERTIFICATES: [&str; 4] =
    ["NODE_EXTRA_CA_CERTS", "PIP_CERT", "SSL_CERT_FILE", "CARGO_HTTP_CAINFO"];

#[test]
fn npm_installs_with_its_word_alone() {
    if debian_program("npm").is_some() {
        installs(&Tools::usual(), NPM, ["registry:npm", "registry:pip"]);
    }
}

#[test]
fn pip_installs_with_its_word_alone() {
    if debian_program("pip3").is_some() {
        installs(&Tools::usual(), PIP, ["registry:pip", "registry:npm"]);
    }
}

#[test]
fn cargo_installs_with_its_word_alone() {
    let Some(rust) = provisioned("rust") else { return };
    let mut toolchains = std::fs::read_dir(rust.join("home/.rustup/toolchains")).expect("a home");
    let toolchain = toolchains.next().expect("a toolchain").expect("a name").path();
    installs(&Tools::with(&toolchain), CARGO, ["registry:cargo", "registry:npm"]);
}

/// A world whose tools reach their registries as this machine's do.
struct Tools {
    world: World,
    /// A directory of tools that the usual ones don't have.
    more: Option<PathBuf>,
}

impl Tools {
    fn usual() -> Self {
        Self { world: World::new(), more: None }
    }

    fn with(more: &Path) -> Self {
        Self { world: World::new(), more: Some(more.to_owned()) }
    }

    fn run(&self, options: &[&str], script: &str) -> Said {
        let mut arguments: Vec<String> = options.iter().map(ToString::to_string).collect();
        for name in CERTIFICATES.iter().filter(|name| std::env::var_os(name).is_some()) {
            arguments.extend(["--env".to_owned(), name.to_string()]);
        }
        arguments.extend(self.more.iter().map(|more| format!("--ro={}", more.display())));
        arguments.extend(["--", "sh", "-c", script].map(str::to_owned));
        said(&mut self.prepared(self.world.endow(arguments)))
    }

    fn bare(&self, script: &str) -> Said {
        let mut command = self.world.command("sh");
        command.args(["-c", script]);
        said(&mut self.prepared(command))
    }

    fn prepared(&self, mut command: Command) -> Command {
        for name in CERTIFICATES {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        if let Some(more) = &self.more {
            command.env("PATH", format!("{}/bin:/usr/local/bin:/usr/bin:/bin", more.display()));
        }
        command
    }
}

/// Checks that a script installs a package with its own word, and with nothing less: neither without
/// a network, nor with the hosts of another registry.
fn installs(tools: &Tools, script: &str, [own, other]: [&str; 2]) {
    // Where the user has used the tool once, with a cache and a home of its own.
    let home = tools.world.home();
    let outside = script.replace("/tmp/cargo", "\"$HOME\"/.cargo");
    let outside = outside.replace("/tmp/", &format!("{}/", home.join("outside").display()));
    let outside = format!("mkdir -p {}; {outside}", home.join("outside").display());
    let control = tools.bare(&outside);
    if control.stdout != INSTALLED {
        return skip(&format!("no registry is reached: {}", control.stderr));
    }
    let without = tools.run(&["--net", "none"], script);
    assert!(without.code != 0 && without.stdout.is_empty(), "without: {without:?}");
    let beside = tools.run(&["--net", other], script);
    assert!(beside.code != 0 && beside.stdout.is_empty(), "with {other}: {beside:?}");
    assert_ne!(beside.code, 125, "{beside:?}");
    let report = tools.world.root().join("report.json");
    let options = ["--net", own, "--report", report.to_str().expect("a name")];
    assert_eq!(tools.run(&options, script).ok(), INSTALLED);
    let report: Value = serde_json::from_slice(&fs::read(report).expect("a report")).expect("json");
    let list = report["connections"]["list"].as_array().expect("connections");
    let connected = list.iter().filter(|it| it["decision"] == "connected");
    let origins: BTreeSet<&str> = connected.filter_map(|it| it["origin"].as_str()).collect();
    assert_eq!(origins, BTreeSet::from([format!("--net {own}").as_str()]));
}

/// Returns what a plan allows, a line each.
fn allowed(command: &mut Command) -> Vec<String> {
    let plan = said(command);
    let lines = plan.ok().lines().filter_map(|line| line.strip_prefix("allow "));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// Checks what a plan allows for a word, and that nothing more is needed than a configuration: no
/// tool is on the path.
#[track_caller]
fn plans(world: &World, word: &str, expected: &[&str]) {
    let mut command = world.endow(["plan", "--net", word, "--", "/bin/true"]);
    command.env("PATH", world.root());
    let expected: Vec<String> =
        expected.iter().map(|host| format!("{host} (--net {word})")).collect();
    assert_eq!(allowed(&mut command), expected, "{word}");
}

#[test]
fn mirror_stands_for_a_registry() {
    let world = World::new();
    world.write("home/.npmrc", "registry=https://user:secret@npm.example.com:8443/a/\n");
    plans(&world, "registry:npm", &["npm.example.com:8443"]);
    let text = "[global]\nindex-url = http://pip.example.com/simple\n";
    world.write("home/.config/pip/pip.conf", text);
    plans(&world, "registry:pip", &["pip.example.com:80"]);
    world.write(
        "home/.cargo/config.toml",
        "[source.crates-io]\nreplace-with = 'mirror'\n\
         [source.mirror]\nregistry = 'sparse+https://cargo.example.com/index/'\n",
    );
    plans(&world, "registry:cargo", &["cargo.example.com:443"]);
    world.write(
        "home/.cargo/registry/index/cargo.example.com-0123456789abcdef/config.json",
        r#"{"dl": "https://files.example.com/dl", "api": "https://cargo.example.com"}"#,
    );
    plans(&world, "registry:cargo", &["cargo.example.com:443", "files.example.com:443"]);
}

/// What is changed in the caches of the profile is dropped: no command can have written them.
#[test]
fn registry_is_read_below_a_cache_that_is_dropped() {
    let world = World::new();
    world.write(
        "home/.cargo/registry/index/cargo.example.com-0123456789abcdef/config.json",
        r#"{"dl": "https://files.example.com/dl", "api": "https://cargo.example.com"}"#,
    );
    world.write(
        "home/.cargo/config.toml",
        "[source.crates-io]\nreplace-with = 'mirror'\n\
         [source.mirror]\nregistry = 'sparse+https://cargo.example.com/index/'\n",
    );
    let plan = |options: &[&str]| {
        let word = ["plan", "--net", "registry:cargo"];
        let mut command = world.endow(word.iter().chain(options).chain(&["--", "/bin/true"]));
        said(command.env("PATH", world.root()))
    };
    let dropped = plan(&["--profile", "rust"]);
    assert!(dropped.ok().contains("allow   files.example.com:443"), "{dropped:?}");
    let control = plan(&["--cow", "../.cargo/registry"]);
    assert!(control.fails(125).contains("a command of this policy may write it"), "{control:?}");
}

#[test]
fn go_reports_its_proxies() {
    let world = World::new();
    let answer = r#"{"GOPROXY": "https://go.example.com,direct", "GOSUMDB": "sum.example.com"}"#;
    program(&world, "bin/go", &format!("printf '%s' '{answer}'"));
    let mut command = world.endow(["plan", "--net", "registry:go", "--", "/bin/true"]);
    command.env("PATH", world.root().join("bin"));
    let hosts = ["go.example.com:443", "sum.example.com:443"];
    assert_eq!(allowed(&mut command), hosts.map(|host| format!("{host} (--net registry:go)")));
}

#[test]
fn policy_file_names_a_registry() {
    let world = World::new();
    world.write("home/.npmrc", "registry=https://npm.example.com/\n");
    let text = "version = 1\n[network]\nallow = [\"api.example.com\", \"registry:npm\"]\n";
    let file = world.write("policy.toml", text);
    let file = file.to_str().expect("a name");
    let lines = allowed(&mut world.endow(["plan", "-p", file, "--", "/bin/true"]));
    let [api, npm] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(api.starts_with("api.example.com:443 ("), "{api}");
    assert!(npm.starts_with("npm.example.com:443 (registry:npm, "), "{npm}");
    let why = said(&mut world.endow(["why", "npm.example.com:443", "-p", file]));
    assert!(why.ok().contains("npm.example.com:443 (registry:npm, "), "{}", why.stdout);
    let other = said(&mut world.endow(["why", "npm.example.com:80", "-p", file]));
    assert_eq!(other.code, 1, "{other:?}");
}

#[test]
fn why_names_the_word() {
    let world = World::new();
    world.write("home/.npmrc", "registry=https://npm.example.com/\n");
    let why = |place: &str| said(&mut world.endow(["why", place, "--net", "registry:npm"]));
    let allowed = why("npm.example.com:443");
    assert!(allowed.ok().contains("--net registry:npm"), "{}", allowed.stdout);
    assert_eq!(why("other.example.com:443").code, 1);
}

/// A project can't widen what its user has configured.
#[test]
fn configuration_of_a_project_has_no_say() {
    let world = World::new();
    world.write("home/.npmrc", "registry=https://npm.example.com/\n");
    world.write("home/project/.npmrc", "registry=https://evil.example.com/\n");
    plans(&world, "registry:npm", &["npm.example.com:443"]);
    let named = world.project().join(".npmrc");
    let mut command = world.endow(["plan", "--net", "registry:npm", "--", "/bin/true"]);
    command.env("NPM_CONFIG_USERCONFIG", &named);
    let said = said(&mut command);
    assert!(said.fails(125).contains("a command of this policy may write it"), "{}", said.stderr);
    assert!(!said.stderr.contains("evil"), "{}", said.stderr);
}

/// A tool that an earlier run may have planted is not started; outside of the project it is.
#[test]
fn tool_of_a_project_is_not_started() {
    let world = World::new();
    let script = "echo started >\"$HOME/started\"; echo https://evil.example.com/";
    program(&world, "home/project/bin/npm", script);
    let plan = |directory: &str| {
        let mut command = world.endow(["plan", "--net", "registry:npm", "--", "/bin/true"]);
        said(command.env("PATH", world.root().join(directory)))
    };
    let refused = plan("home/project/bin");
    assert!(refused.fails(125).contains("a command of this policy may write it"), "{refused:?}");
    assert!(!world.home().join("started").exists());
    program(&world, "bin/npm", script);
    assert!(plan("bin").ok().contains("evil.example.com:443"));
    assert!(world.home().join("started").exists());
}

#[test]
fn unknown_registry_ends_the_run_with_what_to_do() {
    let world = World::new();
    let refused = |word: &str| {
        let mut command = world.endow(["run", "--net", word, "--", "/bin/true"]);
        said(command.env("PATH", world.root())).fails(125).to_owned()
    };
    for (word, cause, hint) in [
        ("registry:npm", "npm is not installed", "hint: install npm"),
        ("registry:go", "go is not installed", "hint: install go"),
        ("registry:cargo", "cargo has not been used", "hint: use cargo once"),
    ] {
        let stderr = refused(word);
        for text in [cause, hint, "--net HOST", word] {
            assert!(stderr.contains(text), "{word}: {text}: {stderr}");
        }
    }
    world.assert_no_run_left();
}

/// Writes a program of the shell.
fn program(world: &World, path: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = world.write(path, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}
