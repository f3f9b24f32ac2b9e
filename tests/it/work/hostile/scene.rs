//! A machine with a user's home full of secrets, services and processes, and a network with places
//! to send them to.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::attempts::{Attempt, Proof, all};
use crate::harness::{Running, World, mark, marked, said, send};
use crate::network::world::NetWorld;
use crate::work::agents;

/// What nobody may learn.
const SECRET: &str = "canary-7f3a";

/// Files that hold it, below the home.
const SECRETS: [&str; 30] = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".gnupg/private-keys-v1.d/key",
    ".mozilla/firefox/profile/logins.json",
    ".config/google-chrome/Default/Cookies",
    ".local/share/keyrings/login.keyring",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".config/gh/hosts.yml",
    ".config/gcloud/application_default_credentials.json",
    ".kube/config",
    ".docker/config.json",
    ".cargo/credentials.toml",
    ".bash_history",
    ".password-store/bank.gpg",
    "Documents/letter",
    "other/secret",
    "project/.env",
    "project/config/.env.production",
    "project/deploy.pem",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".aider/oauth-keys.env",
    ".config/github-copilot/apps.json",
    "../elsewhere/secret",
    "../state/sentinel",
    "../config/secret",
];

/// Sockets of services, `ROOT`, `HOME` and the process filled in.
const SERVICES: [&str; 9] = [
    "ROOT/run/agent",
    "ROOT/run/bus",
    "ROOT/run/docker.sock",
    "ROOT/run/wayland-0",
    "HOME/.gnupg/S.gpg-agent",
    "/tmp/endow-it-editor-PID.sock",
    "HOME/project/app.sock",
    "@/tmp/.X11-unix/X-PID",
    "@/tmp/dbus-PID",
];

/// Words that every attempt and check may use.
const LIB: &str = include_str!("lib.sh");

/// How long a session may take: a machine that is busy as well takes long to start an agent.
const SECONDS: u32 = 600;

/// The machine, with everything in place.
pub(super) struct Scene {
    net: NetWorld,
    /// What is filled in.
    words: [(&'static str, String); 5],
    #[expect(dead_code, reason = "ends with it")]
    services: Running,
}

impl Scene {
    /// Makes one; says why where that can't be done.
    pub(super) fn new() -> Option<Self> {
        let net = NetWorld::start()?;
        let files = net.files();
        agents::project(files);
        for name in SECRETS {
            files.write(format!("home/{name}"), SECRET);
        }
        let own = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(files.state(), own).expect("a mode");
        let services = services(&net);
        let line = services.line();
        let mut pids = line.split(' ').skip(1).map(ToOwned::to_owned);
        let words = [
            ("HOME", files.home().display().to_string()),
            ("ROOT", files.root().display().to_string()),
            ("VICTIM", pids.next()?),
            ("SECOND", pids.next()?),
            ("MARK", mark()),
        ];
        let scene = Self { net, words, services };
        scene.write_attempts();
        Some(scene)
    }

    /// The home, the project and endow's state.
    pub(super) fn files(&self) -> &World {
        self.net.files()
    }

    /// A command of the user's on that machine: with secrets in its environment, and in an open file.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.net.command_within(SECONDS, "sh");
        command.args(["-c", "exec 9<\"$0\"; exec \"$@\""]);
        command.arg(self.files().root().join("elsewhere/secret")).args(words);
        command.env("GITHUB_TOKEN", SECRET).env("AWS_SECRET_ACCESS_KEY", SECRET);
        command
    }

    /// A port of that machine's loopback which leads to a socket with a path.
    pub(super) fn forward(&self, socket: &Path) -> (Running, u16) {
        let program = self.files().write("run/forward.py", include_str!("forward.py"));
        let mut command = self.net.command_within(SECONDS, "python3");
        let running = Running::start(command.arg(program).arg(socket));
        let port = running.line().trim_start_matches("ready ").parse().expect("a port");
        (running, port)
    }

    /// The attempts that succeeded: those that printed the secret, as `said` tells, and those that
    /// left something on the machine.
    pub(super) fn succeeded(&self, said: &str) -> BTreeSet<&'static str> {
        let is_so = |attempt: &&Attempt| match attempt.proof {
            Proof::Prints => said.contains(&format!("{} got", attempt.name)),
            Proof::Leaves(check) => self.holds(check),
        };
        all().filter(is_so).map(|attempt| attempt.name).collect()
    }

    fn holds(&self, check: &str) -> bool {
        let script = self.filled(&format!("{LIB}\n{check}"));
        said(self.net.command("sh").args(["-c", &script])).code == 0
    }

    /// Puts the attempts into the project, as files that a program which an agent fetched may have,
    /// and a script that makes each of them.
    fn write_attempts(&self) {
        let write = |name: &str, text: &str| {
            self.files().write(format!("home/project/{name}"), &self.filled(text));
        };
        write("attempts/lib", LIB);
        for attempt in all() {
            write(&format!("attempts/{}", attempt.name), attempt.attack);
        }
        let names: Vec<&str> = all().map(|it| it.name).collect();
        write("hostile.sh", &ALL.replace("NAMES", &names.join(" ")));
    }

    /// Fills the words in.
    pub(super) fn filled(&self, text: &str) -> String {
        let fill = |text: String, (name, value): &(&str, String)| text.replace(name, value);
        self.words.iter().fold(text.to_owned(), fill)
    }
}

/// Makes each attempt and says what came of it.
const ALL: &str = "for name in NAMES; do
    said=$(timeout 20 sh -c '. attempts/lib; . \"attempts/$0\"' \"$name\" 2>&1 </dev/null)
    case $said in *canary-7f3[a]*) echo \"$name got\" ;; *) echo \"$name missed\" ;; esac
done
";

fn services(net: &NetWorld) -> Running {
    let files = net.files();
    let program = files.write("run/services.py", include_str!("services.py"));
    let mut command = net.command_within(SECONDS, "python3");
    command.arg(program).arg(SECRET).arg(files.root().join("elsewhere/secret"));
    let root = files.root().display().to_string();
    let home = files.home().display().to_string();
    command.args(SERVICES.map(|it| it.replace("ROOT", &root).replace("HOME", &home)));
    Running::start(command.env("GITHUB_TOKEN", SECRET).stdin(Stdio::piped()))
}

/// Nothing of an attempt outlives its test.
impl Drop for Scene {
    fn drop(&mut self) {
        let [.., (_, victim), _, (_, mark)] = &self.words;
        drop(std::fs::remove_file(format!("/tmp/endow-it-editor-{victim}.sock")));
        for pid in marked(mark) {
            send(9, pid);
        }
    }
}
