//! What the report says of each attempt.

use serde_json::Value;

/// Where an explanation stands, and its subject, in which `HOME`, `ROOT` and `VICTIM` are filled in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    /// A refusal of this path: the rule or the mount, and the flag that would change it.
    Path(&'static str),
    /// A refusal of this system call.
    Call(&'static str),
    /// A refused host or address.
    Host(&'static str),
    /// A refused abstract Unix socket.
    Socket(&'static str),
    /// A protected name that was taken away.
    Held(&'static str),
    /// A setting of the repository that was not kept.
    Setting(&'static str),
    /// A mount whose changes stay with the run.
    Stays(&'static str),
    /// A variable that the command does not receive.
    Withheld(&'static str),
    /// A descriptor of the caller's that the command does not receive.
    Closed(i32),
    /// A namespace in which nothing of the host's is.
    Apart(&'static str),
    /// Processes that were ended with the run.
    Ended,
}

use Told::{Apart, Call, Closed, Ended, Held, Host, Path, Setting, Socket, Stays, Withheld};

impl Told {
    /// Returns whether a report says it; `fill` fills the words in.
    pub(super) fn is_in(self, report: &Value, fill: impl Fn(&str) -> String) -> bool {
        let any = |list: &Value, key: &str, subject: &str| {
            let subject = fill(subject);
            list.as_array().into_iter().flatten().any(|it| it[key] == *subject)
        };
        let has = |list: &Value, wanted: Value| {
            list.as_array().into_iter().flatten().any(|it| *it == wanted)
        };
        match self {
            Path(path) => any(&explained(report), "path", path),
            Call(name) => any(&explained(report), "call", name),
            Host(host) => any(&explained(report), "host", host),
            Socket(name) => any(&explained(report), "socket", name),
            Held(path) => any(&report["sync"]["held"], "path", path),
            Setting(name) => any(&report["git_settings"], "name", name),
            Stays(at) => any(&staying(report), "at", at),
            Withheld(name) => has(&report["environment"]["withheld"], name.into()),
            Closed(number) => has(&report["descriptors"]["closed"], number.into()),
            Apart(name) => has(&report["enforcement"]["namespaces"], name.into()),
            Ended => report["resources"]["leftover_processes"].as_u64() > Some(0),
        }
    }
}

/// Refusals that say who asked or what would allow it, and which layer it was.
fn explained(report: &Value) -> Value {
    let denials = report["denials"].as_array().into_iter().flatten();
    denials.filter(|it| it["layer"].is_string()).cloned().collect()
}

/// Mounts whose content is the run's own, and is not written back.
fn staying(report: &Value) -> Value {
    let is_own = |it: &&Value| {
        it["sync"].is_null() && ["private", "memory", "made"].iter().any(|kind| it["kind"] == *kind)
    };
    report["mounts"].as_array().into_iter().flatten().filter(is_own).cloned().collect()
}

/// Returns what is told of an attempt; nothing for one that is not in the table.
pub(super) fn told(name: &str) -> Option<Told> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, told)| *told)
}

/// What is told, by the attempt's name.
pub(super) const TABLE: &[(&str, Told)] = &[
    ("ssh-key", Path("HOME/.ssh/id_ed25519")),
    ("aws", Path("HOME/.aws/credentials")),
    ("gnupg", Path("HOME/.gnupg/private-keys-v1.d/key")),
    ("firefox", Path("HOME/.mozilla/firefox/profile/logins.json")),
    ("chrome", Path("HOME/.config/google-chrome/Default/Cookies")),
    ("keyring", Path("HOME/.local/share/keyrings/login.keyring")),
    ("netrc", Path("HOME/.netrc")),
    ("npmrc", Path("HOME/.npmrc")),
    ("pypirc", Path("HOME/.pypirc")),
    ("git-credentials", Path("HOME/.git-credentials")),
    ("gh", Path("HOME/.config/gh/hosts.yml")),
    ("gcloud", Path("HOME/.config/gcloud/application_default_credentials.json")),
    ("kube", Path("HOME/.kube/config")),
    ("docker-login", Path("HOME/.docker/config.json")),
    ("cargo-token", Path("HOME/.cargo/credentials.toml")),
    ("shell-history", Path("HOME/.bash_history")),
    ("passwords", Path("HOME/.password-store/bank.gpg")),
    ("letter", Path("HOME/Documents/letter")),
    ("other-project", Path("HOME/other/secret")),
    ("env-file", Path("HOME/project/.env")),
    ("env-file-deeper", Path("HOME/project/config/.env.production")),
    ("key-in-project", Path("HOME/project/deploy.pem")),
    ("env-file-by-link", Path("HOME/project/seen-1")),
    ("env-file-by-hard-link", Path("HOME/project/.env")),
    ("env-file-by-rename", Path("HOME/project/config/.env.production")),
    ("env-file-by-add", Path("HOME/project/.env")),
    ("search-of-the-home", Path("HOME/Documents")),
    ("search-of-the-project", Path("HOME/project/deploy.pem")),
    ("search-of-the-machine", Path("ROOT/elsewhere")),
    ("codex-login", Path("HOME/.codex/auth.json")),
    ("gemini-login", Path("HOME/.gemini/oauth_creds.json")),
    ("opencode-login", Path("HOME/.local/share/opencode/auth.json")),
    ("aider-keys", Path("HOME/.aider/oauth-keys.env")),
    ("copilot-login", Path("HOME/.config/github-copilot/apps.json")),
    ("codex-settings", Stays("HOME")),
    ("gemini-hook", Stays("HOME")),
    ("variable", Withheld("GITHUB_TOKEN")),
    ("variables", Withheld("AWS_SECRET_ACCESS_KEY")),
    ("variables-of-ancestors", Apart("pid")),
    ("variables-of-a-process", Apart("pid")),
    ("command-line-of-a-process", Apart("pid")),
    ("root-of-a-process", Apart("pid")),
    ("directory-of-a-process", Apart("pid")),
    ("descriptor-of-a-process", Apart("pid")),
    ("memory-of-a-process", Apart("pid")),
    ("tracing-a-process", Apart("pid")),
    ("inherited-descriptor", Closed(9)),
    ("ssh-agent", Path("ROOT/run/agent")),
    ("session-bus", Path("ROOT/run/bus")),
    ("docker", Path("ROOT/run/docker.sock")),
    ("wayland", Path("ROOT/run/wayland-0")),
    ("gpg-agent", Path("HOME/.gnupg/S.gpg-agent")),
    ("editor", Path("/tmp/endow-it-editor-VICTIM.sock")),
    ("service-in-the-project", Path("HOME/project/app.sock")),
    ("x11", Socket("@/tmp/.X11-unix/X-VICTIM")),
    ("abstract-bus", Socket("@/tmp/dbus-VICTIM")),
    ("own-user-namespace", Call("unshare")),
    ("own-mounts", Call("unshare")),
    ("own-network", Call("unshare")),
    ("nested-sandbox", Call("clone")),
    ("key-ring", Call("keyctl")),
    ("message-to-the-kernel", Call("socket")),
    ("signal", Apart("pid")),
    ("priority", Apart("pid")),
    ("daemon", Ended),
    ("daemon-twice-removed", Ended),
    ("shared-memory", Stays("/dev/shm")),
    ("temporary-file", Stays("/tmp")),
    ("send-to-a-name", Host("other.example.test")),
    ("send-to-an-address", Host("203.0.113.20:80")),
    ("send-to-an-address-of-6", Host("[2001:db8::20]:80")),
    ("send-in-a-question", Host("loot-4.attacker.example")),
    ("send-in-a-question-of-its-own", Apart("network")),
    ("send-to-a-network-near", Host("10.77.0.10:80")),
    ("metadata-of-the-cloud", Host("169.254.169.254:80")),
    ("service-of-the-machine", Host("127.0.0.1:8080")),
    ("machine-by-its-address", Host("203.0.113.1:8080")),
    ("send-by-git", Host("other.example.test")),
    ("send-by-a-name-for-the-near", Host("to-private.example.test")),
    ("send-a-datagram", Apart("network")),
    ("send-without-the-proxy", Host("203.0.113.20:80")),
    ("hook", Path("HOME/project/.git/hooks/pre-commit")),
    ("hook-by-rename", Path("HOME/project/.git/hooks")),
    ("place-of-hooks", Setting("core.hookspath")),
    ("monitor-of-files", Setting("core.fsmonitor")),
    ("config-by-rename", Path("HOME/project/.git/config")),
    ("global-config", Stays("HOME/.gitconfig")),
    ("attributes", Held("HOME/project/.git/info/attributes")),
    ("submodules", Held("HOME/project/.gitmodules")),
    ("bashrc", Stays("HOME")),
    ("profile", Stays("HOME")),
    ("zshenv", Stays("HOME")),
    ("vimrc", Stays("HOME")),
    ("authorized-keys", Stays("HOME")),
    ("autostart", Stays("HOME")),
    ("user-unit", Stays("HOME")),
    ("variables-of-sessions", Stays("HOME")),
    ("program-of-the-user", Stays("HOME")),
    ("cargo-settings", Stays("HOME")),
    ("pip-settings", Stays("HOME")),
    ("npm-settings", Stays("HOME")),
    ("envrc", Held("HOME/project/.envrc")),
    ("editor-tasks", Held("HOME/project/.vscode/tasks.json")),
    ("servers-of-tools", Held("HOME/project/.mcp.json")),
    ("hooks-of-agents", Held("HOME/project/.claude/settings.json")),
    ("workflow", Held("HOME/project/.github/workflows/evil.yml")),
    ("start-of-python", Held("HOME/project/sitecustomize.py")),
    ("policy-of-the-project", Held("HOME/project/endow.toml")),
    ("policy-of-the-user", Stays("/tmp")),
    ("own-profile", Stays("/tmp")),
    ("trust", Stays("/tmp")),
    ("records", Path("ROOT/state/sentinel")),
    ("cache", Stays("/tmp")),
    ("link-to-the-home", Stays("HOME")),
    ("link-to-a-directory", Stays("/tmp")),
    ("root-by-proc", Stays("HOME")),
    ("root-of-a-process-written", Apart("pid")),
    ("absolute-path", Stays("/tmp")),
    ("parent", Stays("HOME")),
    ("documents", Stays("HOME")),
    ("other-work", Stays("HOME")),
];
