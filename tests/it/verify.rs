//! `endow verify`: what it says of each rule is what the kernel does.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Said, World, project, said};

/// What came of one call.
pub(crate) struct Verified {
    pub(crate) said: Said,
    told: Value,
}

impl Verified {
    pub(crate) fn of(world: &World, options: &[&str]) -> Self {
        let words = ["verify", "--json"].iter().chain(options);
        let said = said(&mut world.endow(words));
        let told = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
        Self { said, told }
    }

    fn rules(&self) -> &Vec<Value> {
        self.told["rules"].as_array().expect("rules")
    }

    pub(crate) fn broken(&self) -> Vec<&str> {
        let broken = self.rules().iter().filter(|rule| rule["holds"] == false);
        broken.map(|rule| rule["rule"].as_str().expect("a rule")).collect()
    }

    /// Returns the rule that begins so.
    #[track_caller]
    fn rule(&self, start: &str) -> &Value {
        let begins = |rule: &&Value| rule["rule"].as_str().is_some_and(|it| it.starts_with(start));
        self.rules().iter().find(begins).unwrap_or_else(|| panic!("{start}: {}", self.told))
    }

    /// Asserts that everything holds, and that much was tried.
    #[track_caller]
    fn is_fine(&self) {
        assert_eq!(self.broken(), Vec::<&str>::new(), "{:?}", self.said);
        assert_eq!((self.said.code, &self.told["holds"]), (0, &Value::Bool(true)));
        let tried = self.rules().iter().filter(|rule| rule["holds"] == true).count();
        assert!(tried > 20, "{tried}");
    }
}

fn policy(world: &World, text: &str) -> PathBuf {
    world.write("policy.toml", &format!("version = 1\n{text}"))
}

#[test]
fn each_builtin_profile_holds() {
    let world = project();
    let list = said(&mut world.endow(["profile", "list", "--json"]));
    let list: Value = serde_json::from_str(list.ok()).expect("JSON");
    let profiles = list["profiles"].as_array().expect("profiles");
    assert!(profiles.len() > 5, "{list}");
    for profile in profiles {
        let name = profile["name"].as_str().expect("a name");
        Verified::of(&world, &["--profile", name]).is_fine();
    }
    world.assert_no_run_left();
}

#[test]
fn every_kind_of_rule_is_tried() {
    let world = project();
    world.write("home/project/.env", "secret");
    world.write("home/project/.git/hooks/pre-commit", "#!/bin/sh\n");
    world.write("home/project/.git/HEAD", "ref: refs/heads/main\n");
    world.write("live/file", "content");
    world.write("only/file", "content");
    let (live, only) = (world.root().join("live"), world.root().join("only"));
    let file = policy(
        &world,
        &format!(
            "[workspace]\naccess = \"rw\"\n[mounts]\n\"{}\" = \"rw\"\n\"{}\" = \"ro\"\n\"/gone\" = {{ host = \"/no/such\", optional = true }}\n
            [process]\nallow = [\"perf\"]\n[[expect]]\nread = \"~/.ssh/id_rsa\"\nis = \"absent\"\n",
            live.display(),
            only.display()
        ),
    );
    let file = file.display().to_string();
    let names = |path: &Path| fs::read_dir(path).expect("listed").count();
    let before = [names(&live), names(&world.project())];
    let verified = Verified::of(&world, &["-p", &file]);
    verified.is_fine();
    let errors = |start: &str| {
        let tried = verified.rule(start)["tried"].as_array().expect("a list").clone();
        tried
            .iter()
            .map(|it| it["errno"].as_str().unwrap_or("works").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(errors(&format!("mount {} rw", live.display())), ["works", "works"]);
    assert_eq!(errors(&format!("mount {} ro", only.display())), ["works", "EROFS"]);
    assert_eq!(errors("deny .env "), ["EACCES"]);
    assert!(errors("protect **/.git/hooks/**").iter().all(|it| it == "EROFS"));
    assert_eq!(errors("network = none"), ["ECONNREFUSED"]);
    assert_eq!(errors("calls bpf"), ["EPERM"]);
    assert_eq!(errors("expect read ~/.ssh/id_rsa is absent"), ["ENOENT"]);
    assert_eq!(verified.rule("calls perf")["untried"], "--allow perf");
    assert_eq!(verified.rule("mount /gone")["holds"], Value::Null);
    // Nothing of it is left on the host.
    assert_eq!([names(&live), names(&world.project())], before);
}

/// What is held in other ways than by a cover, or not at all.
#[test]
fn repositories_and_links_are_no_false_alarm() {
    let world = project();
    let script = "git init -q . && git init -q vendor/inner && git config user.name me
        mkdir -p pkg/.github/workflows shared && touch pkg/.github/workflows/ci.yml
        ln -s shared .github && ln -s .envrc.local .envrc && mkfifo pipe && touch pipe.txt";
    world.bare(script).ok();
    let pipe = world.project().join("pipe").display().to_string();
    let server = world.write("run/server.sock", "");
    fs::remove_file(&server).expect("removed");
    let _listener = UnixListener::bind(&server).expect("bound");
    let server = server.display().to_string();
    let verified = Verified::of(&world, &["--workspace", "rw", "--ro", &pipe, "--socket", &server]);
    verified.is_fine();
    assert!(verified.rule("protect **/.git/hooks/**")["holds"] == true);
    assert!(verified.rule("protect **/.github/workflows/**")["holds"] == true);
    assert_eq!(verified.rule(&format!("mount {pipe}"))["holds"], Value::Null);
    assert!(!world.project().join(".envrc.local").exists());
    assert_eq!(fs::read_dir(world.project().join("shared")).expect("listed").count(), 0);
    // Nor where the view's own layers are not there.
    Verified::of(&world, &["--workspace", "rw", "--require", "landlock"]).is_fine();
    if !rustix::process::geteuid().is_root() {
        let accepted = ["--best-effort", "deny", "--best-effort", "protect"];
        let live = ["--workspace", "rw", "--allow", "userns"];
        Verified::of(&world, &[&live[..], &accepted].concat()).is_fine();
    }
}

#[test]
fn broken_expectation_is_named_and_no_other() {
    let world = project();
    let key = world.write("home/.ssh/id_rsa", "key");
    let file = policy(
        &world,
        "[[expect]]\nread = \"~/.ssh/id_rsa\"\nis = \"absent\"\n[[expect]]\nwrite = \"/usr\"\nis = \"denied\"\n",
    );
    let file = file.display().to_string();
    Verified::of(&world, &["-p", &file]).is_fine();
    let key = key.display().to_string();
    let verified = Verified::of(&world, &["-p", &file, "--ro", &key]);
    let rule = format!("expect read ~/.ssh/id_rsa is absent ({file}:3)");
    assert_eq!((verified.broken(), verified.said.code), (vec![rule.as_str()], 1));
    let text = said(&mut world.endow(["verify", "--quiet", "-p", &file, "--ro", &key]));
    text.fails(1);
    let lines: Vec<_> = text.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{text:?}");
    assert_eq!(lines[0], format!("broken  {rule}: read {key} works, and shall be absent"));
    assert!(lines[1].contains("1 broken"), "{text:?}");
}

/// Each of the three verdicts is red where the kernel does something else.
#[test]
fn each_verdict_can_be_broken() {
    let world = project();
    let wrong = [
        ("read", "/no/such", "allowed"),
        ("read", "/usr", "absent"),
        ("read", "/usr", "denied"),
        ("write", "/usr", "absent"),
        ("write", "/usr", "allowed"),
        ("execute", "/usr/bin/env", "denied"),
        ("execute", "/etc/passwd", "allowed"),
        ("connect", "192.0.2.1:80", "allowed"),
        ("connect", "name.invalid:80", "allowed"),
    ];
    let tables: Vec<_> = wrong
        .iter()
        .map(|(probe, object, is)| format!("[[expect]]\n{probe} = \"{object}\"\nis = \"{is}\"\n"))
        .collect();
    let file = policy(&world, &tables.concat()).display().to_string();
    let verified = Verified::of(&world, &["-p", &file]);
    let expected: Vec<_> = wrong
        .iter()
        .enumerate()
        .map(|(number, (probe, object, is))| {
            format!("expect {probe} {object} is {is} ({file}:{})", 3 * number + 3)
        })
        .collect();
    assert_eq!(verified.broken(), expected);
}

#[test]
fn connections_are_made_where_they_are_expected() {
    let world = project();
    let open = TcpListener::bind("127.0.0.1:0").expect("bound");
    let other = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    let (open, other) = (port(&open), port(&other));
    let file = policy(
        &world,
        &format!(
            "[[expect]]\nconnect = \"localhost:{open}\"\nis = \"allowed\"
[[expect]]\nconnect = \"127.0.0.1:{other}\"\nis = \"denied\"
[[expect]]\nconnect = \"name.invalid:80\"\nis = \"denied\"\n"
        ),
    );
    let file = file.display().to_string();
    let net = format!("localhost:{open}");
    let verified = Verified::of(&world, &["-p", &file, "--net", &net]);
    verified.is_fine();
    // The rule itself contacts nobody.
    assert_eq!(verified.rule("network allow")["holds"], Value::Null);
    // The control: without the grant it is refused, and with the host's network both work.
    assert_eq!(Verified::of(&world, &["-p", &file]).broken().len(), 1);
    let verified = Verified::of(&world, &["-p", &file, "--net", "host"]);
    assert_eq!(verified.broken().len(), 1, "{}", verified.told);
    assert!(verified.broken()[0].contains(&other.to_string()));
}

#[test]
fn each_level_tries_what_it_promises() {
    let world = project();
    for level in ["landlock", "namespaces", "full"] {
        let verified = Verified::of(&world, &["--workspace", "rw", "--require", level]);
        verified.is_fine();
        let reached = verified.told["level"].as_str().expect("a level");
        assert!(verified.rule(&format!("level {reached}"))["holds"] == true);
    }
    let verified = Verified::of(&world, &["--workspace", "rw", "--require", "landlock"]);
    assert_eq!(verified.told["level"], "landlock");
}

#[test]
fn what_is_no_server_is_told_where_it_stands() {
    let world = project();
    let file = policy(&world, "[[expect]]\nconnect = \"example.com\"\nis = \"denied\"\n");
    let said = said(&mut world.endow(["verify", "-p", &file.display().to_string()]));
    let error = said.fails(120);
    assert!(error.contains(":3:11: "), "{error}");
    assert!(error.contains("connect = \"HOST:PORT\""), "{error}");
}

/// The policy of the command that would run, and the command is not started.
#[test]
fn command_chooses_the_profile_and_is_not_started() {
    let world = project();
    let said = said(&mut world.endow(["verify", "--workspace", "rw", "--", "touch", "started"]));
    assert!(said.ok().contains("none is broken"), "{said:?}");
    assert!(!world.project().join("started").exists());
    let lines: Vec<_> = said.stdout.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("holds   mount /usr ro (profile base): ")));
}
