//! Policies that differ by one kind of grant.

use std::ffi::OsString;

use endow::plan::host::ExecRequest;
use endow::plan::seccomp::Observe;
use endow_policy::{
    FileKind, Flags, HostPath, Policy, PolicyFile, PolicyText, Sources, Vars, compose, parse,
    resolve,
};

/// One policy, and what it is called in golden files.
pub(super) struct Case {
    pub(super) name: &'static str,
    flags: fn(&mut Flags),
}

/// Every kind of grant and rule that a command line can say.
pub(super) const CASES: &[Case] = &[
    Case { name: "default", flags: |_| {} },
    Case { name: "workspace-ro", flags: |flags| flags.workspace = Some("ro".to_owned()) },
    Case {
        name: "workspace-none",
        flags: |flags| {
            flags.workspace = Some("none".to_owned());
            flags.chdir = Some("/tmp".into());
        },
    },
    Case { name: "no-deny", flags: |flags| flags.no_default_deny = true },
    Case { name: "ro", flags: |flags| flags.ro.push("/srv/data".into()) },
    Case { name: "ro-through-a-link", flags: |flags| flags.ro.push("/home/user/docs".into()) },
    Case {
        name: "ro-with-a-new-point",
        flags: |flags| {
            flags.ro.push("/srv/data".into());
            flags.tmp.push("/srv/data/new".into());
        },
    },
    Case { name: "rw", flags: |flags| flags.rw.push("/srv/data".into()) },
    Case {
        name: "rw-with-a-point",
        flags: |flags| {
            flags.rw.push("/srv/data".into());
            flags.tmp.push("/srv/data/sub".into());
        },
    },
    Case {
        name: "ro-through-a-link-in-live",
        flags: |flags| {
            flags.rw.push("/srv/data".into());
            flags.ro.push("/srv/data/in".into());
        },
    },
    Case {
        name: "ro-through-a-link-out-of-live",
        flags: |flags| {
            flags.rw.push("/srv/data".into());
            flags.ro.push("/srv/data/out".into());
        },
    },
    Case { name: "ro-with-sockets", flags: |flags| flags.ro.push("/srv/services".into()) },
    Case { name: "rw-with-sockets", flags: |flags| flags.rw.push("/srv/services".into()) },
    Case {
        name: "socket-in-ro",
        flags: |flags| {
            flags.ro.push("/srv/services".into());
            flags.socket.push("/srv/services/bus".into());
        },
    },
    Case { name: "socket", flags: |flags| flags.socket.push("/run/bus=/srv/services/bus".into()) },
    Case {
        name: "socket-that-is-none",
        flags: |flags| flags.socket.push("/home/user/notes.txt".into()),
    },
    Case { name: "moved", flags: |flags| flags.ro.push("/data=/srv/data".into()) },
    Case { name: "noexec", flags: |flags| flags.rw.push("/srv/data=/srv/data,noexec".into()) },
    Case { name: "file", flags: |flags| flags.rw.push("/home/user/notes.txt".into()) },
    Case { name: "missing", flags: |flags| flags.ro.push("/nonesuch".into()) },
    Case { name: "optional", flags: |flags| flags.ro.push("/nonesuch=/nonesuch,optional".into()) },
    Case {
        name: "new-point-in-live",
        flags: |flags| {
            flags.rw.push("/srv/data".into());
            flags.tmp.push("/srv/data/new".into());
        },
    },
    Case {
        name: "memory",
        flags: |flags| flags.tmp.push("/scratch,size=8M,inodes=100,mode=0700".into()),
    },
    Case { name: "cow", flags: |flags| flags.cow.push("/srv/data".into()) },
    Case { name: "cow-file", flags: |flags| flags.cow.push("/home/user/notes.txt".into()) },
    Case {
        name: "cow-file-alone",
        flags: |flags| flags.cow.push("/srv/one=/home/user/notes.txt".into()),
    },
    Case {
        name: "cow-file-in-live",
        flags: |flags| {
            flags.rw.push("/srv/data".into());
            flags.cow.push("/srv/data/sub/one=/home/user/notes.txt".into());
        },
    },
    Case { name: "cow-discard", flags: |flags| flags.cow.push("/srv/data,sync=discard".into()) },
    Case {
        name: "cow-discard-file",
        flags: |flags| flags.cow.push("/home/user/notes.txt,sync=discard".into()),
    },
    Case {
        name: "cow-discard-alone",
        flags: |flags| {
            flags.workspace = Some("ro".to_owned());
            flags.cow.push("/srv/data,sync=discard".into());
        },
    },
    Case {
        name: "awaited",
        flags: |flags| {
            flags.rw.push("/home/user/.tool,create=directory".into());
            flags.cow.push("/home/user/.tool.json,create=file".into());
            flags.rw.push("/home/user/.local/share/tool,create=directory".into());
        },
    },
    Case {
        name: "awaited-in-a-mount",
        flags: |flags| flags.rw.push("/srv/data/new,create=directory".into()),
    },
    Case {
        name: "awaited-there",
        flags: |flags| flags.rw.push("/srv/data,create=directory".into()),
    },
    Case { name: "git", flags: |flags| flags.git.push("/ref=HEAD".into()) },
    Case {
        name: "git-with-a-point",
        flags: |flags| {
            flags.git.push("/ref=HEAD,noexec".into());
            flags.tmp.push("/ref/out/new".into());
        },
    },
    Case {
        name: "git-sparse",
        flags: |flags| flags.git.push("/ref=HEAD,sparse=src/,sparse=!src/gen/".into()),
    },
    Case { name: "git-cow", flags: |flags| flags.git.push("/ref=HEAD,cow".into()) },
    Case {
        name: "git-cow-branch",
        flags: |flags| flags.git.push("/ref=HEAD,cow,sync=branch:next".into()),
    },
    Case {
        name: "git-cow-branch-checked-out",
        flags: |flags| flags.git.push("/ref=HEAD,cow,sync=branch:main".into()),
    },
    Case { name: "git-cow-no-commit", flags: |flags| flags.git.push("/ref=HEAD:sub,cow".into()) },
    Case { name: "git-absent", flags: |flags| flags.git.push("/ref=nowhere".into()) },
    Case {
        name: "git-absent-optional",
        flags: |flags| flags.git.push("/ref=nowhere,optional".into()),
    },
    Case {
        name: "cas",
        flags: |flags| flags.cas.push(format!("/ref=sha256:{}/7", "0".repeat(64)).into()),
    },
    Case {
        name: "cas-cow",
        flags: |flags| flags.cas.push(format!("/ref=sha256:{}/7,cow", "0".repeat(64)).into()),
    },
    Case { name: "network-host", flags: |flags| flags.net.push("host".to_owned()) },
    Case {
        name: "network-allow",
        flags: |flags| {
            let words =
                ["api.example.com", "*.example.org:443,8443", "10.20.0.5:22", "localhost:8080"];
            flags.net.extend(words.map(str::to_owned));
            flags.net.push("udp:time.example.com:123".to_owned());
        },
    },
    Case {
        name: "network-on-demand",
        flags: |flags| flags.net.extend(["10.20.0.0/16:5432", "example.com:*"].map(str::to_owned)),
    },
    Case {
        name: "network-proxy-and-ports",
        flags: |flags| {
            flags.net.push("example.com".to_owned());
            flags.proxy = Some("3128".to_owned());
            flags.publish.extend(["3000", "0:8000"].map(str::to_owned));
        },
    },
    Case { name: "allow-userns", flags: |flags| flags.allow.push("userns".to_owned()) },
    Case {
        name: "allow-others",
        flags: |flags| {
            flags.allow.extend(["io-uring", "perf"].map(str::to_owned));
        },
    },
    Case {
        name: "limits",
        flags: |flags| {
            flags.timeout = Some("1m".to_owned());
            flags.pids = Some("64".to_owned());
            flags.open_files = Some("100000".to_owned());
            flags.file_size = Some("1M".to_owned());
            flags.cpu_time = Some("10s".to_owned());
        },
    },
    Case { name: "memory-limit", flags: |flags| flags.memory = Some("1G".to_owned()) },
    Case {
        name: "memory-limit-best-effort",
        flags: |flags| {
            flags.memory = Some("1G".to_owned());
            flags.best_effort.push("memory".to_owned());
        },
    },
    Case {
        name: "session-and-name",
        flags: |flags| {
            flags.new_session = true;
            flags.hostname = Some("box".to_owned());
        },
    },
    Case {
        name: "require-namespaces",
        flags: |flags| flags.require = Some("namespaces".to_owned()),
    },
    Case {
        name: "require-landlock",
        flags: |flags| {
            flags.require = Some("landlock".to_owned());
            flags.no_default_deny = true;
            flags.ro.extend(["/srv/data", "/home/user/docs"].map(Into::into));
        },
    },
    Case {
        name: "require-landlock-network-host",
        flags: |flags| {
            flags.require = Some("landlock".to_owned());
            flags.no_default_deny = true;
            flags.net.push("host".to_owned());
        },
    },
    Case {
        name: "require-landlock-beyond",
        flags: |flags| {
            flags.require = Some("landlock".to_owned());
            flags.ro.extend(["/data=/srv/data", "/srv/docs"].map(Into::into));
            flags.rw.push("/srv".into());
            flags.tmp.push("/scratch".into());
            flags.allow.extend(["io-uring", "perf"].map(str::to_owned));
            flags.hostname = Some("box".to_owned());
        },
    },
    Case {
        name: "require-landlock-network-allow",
        flags: |flags| {
            flags.require = Some("landlock".to_owned());
            flags.no_default_deny = true;
            flags.net.extend(["example.com:80,443", "registry:npm"].map(str::to_owned));
            flags.publish.push("3000".to_owned());
            flags.proxy = Some("3128".to_owned());
        },
    },
    Case { name: "network-registry", flags: |flags| flags.net.push("registry:npm".to_owned()) },
    Case {
        name: "network-registry-unknown",
        flags: |flags| flags.net.push("registry:cargo".to_owned()),
    },
    Case { name: "secrets", flags: |_| {} },
    Case { name: "secrets-beside-names", flags: |flags| flags.net.push("example.com".to_owned()) },
    Case {
        name: "secrets-require-landlock",
        flags: |flags| flags.require = Some("landlock".to_owned()),
    },
    Case { name: "ssh-agent", flags: |flags| flags.bridge.push("ssh-agent:work".to_owned()) },
    Case { name: "ssh-agent-of-file", flags: |flags| flags.bridge.push("ssh-agent:*".to_owned()) },
    Case {
        name: "ssh-agent-in-ro",
        flags: |flags| {
            flags.bridge.push("ssh-agent:work".to_owned());
            flags.ro.push("/run/user/1000=/srv/data".into());
        },
    },
    Case {
        name: "ssh-agent-in-rw",
        flags: |flags| {
            flags.bridge.push("ssh-agent:work".to_owned());
            flags.rw.push("/run/user/1000=/srv/data".into());
        },
    },
    Case {
        name: "ssh-agent-in-memory",
        flags: |flags| {
            flags.bridge.push("ssh-agent:work".to_owned());
            flags.tmp.push("/run/user/1000,size=1M".into());
        },
    },
    Case {
        name: "ssh-agent-require-landlock",
        flags: |flags| {
            flags.bridge.extend(["ssh-agent:work", "ssh-agent:SHA256:x"].map(str::to_owned));
            flags.require = Some("landlock".to_owned());
        },
    },
    Case {
        name: "bridges",
        flags: |flags| {
            flags.bridge.extend(["oauth:1455", "clipboard", "notify"].map(str::to_owned));
        },
    },
    Case {
        name: "bridges-in-rw",
        flags: |flags| {
            flags.bridge.push("browser:example.com".to_owned());
            flags.rw.push("/run=/srv/data".into());
        },
    },
    Case {
        name: "bridges-require-landlock",
        flags: |flags| {
            flags.bridge.extend(["browser", "ssh-agent:work"].map(str::to_owned));
            flags.require = Some("landlock".to_owned());
        },
    },
    Case { name: "require-full", flags: |flags| flags.require = Some("full".to_owned()) },
];

/// What a file says in cases of this name.
const FILES: &[(&str, &str)] = &[
    (
        "ssh-agent-of-file",
        r#"
version = 1
[ssh_agent]
keys = ["SHA256:x", "home"]
confirm = ["~/bin/ask", "--now"]
agent = "~/.gnupg/S.gpg-agent.ssh"
"#,
    ),
    (
        "secrets",
        r#"
version = 1
[secrets]
API = { from = "env:API_TOKEN", for = "api.example.com/v1", header = "X-Key: {}" }
INNER = { from = "file:/srv/key", for = "inner.example.com:8443", header = "Authorization: Basic {}", address = "10.1.0.0/16", port = 9000, url = "INNER" }
PASS = { from = "cmd:pass show x", fd = 3 }
"#,
    ),
];

/// Returns the policy of a project's file of this text.
pub(super) fn policy_of(text: &str) -> Policy {
    let sources = Sources { explicit: Some(parsed(text)), ..Sources::default() };
    let composed = compose(&sources, &vars()).expect("composes");
    resolve(&composed, &vars()).expect("resolves")
}

impl Case {
    /// Returns the resolved policy.
    pub(super) fn policy(&self) -> Policy {
        let mut flags = Flags::default();
        (self.flags)(&mut flags);
        let vars = vars();
        let layer = flags.layer().expect("good flags");
        let file = FILES.iter().find(|(name, _)| self.name.starts_with(name));
        let sources = Sources {
            explicit: file.map(|(_, text)| parsed(text)),
            flags: Some(layer),
            ..Sources::default()
        };
        let composed = compose(&sources, &vars).expect("composes");
        resolve(&composed, &vars).expect("resolves")
    }
}

fn parsed(text: &str) -> PolicyFile {
    let text = text.as_bytes();
    let directory = HostPath::new("/home/user/src/app").ok();
    parse(PolicyText { name: "policy.toml", kind: FileKind::Explicit, directory, text })
        .expect("a good file")
}

/// Returns the user and the place of every case.
pub(super) fn vars() -> Vars {
    let host = |path: &str| HostPath::new(path).expect("a path");
    Vars {
        home: Some(host("/home/user")),
        home_resolved: None,
        cwd: host("/home/user/src/app/sub"),
        git_root: Some(host("/home/user/src/app")),
        git_dirs: Vec::new(),
        user: "user".to_owned(),
        group: "user".to_owned(),
        shell: None,
        uid: 1000,
        gid: 1000,
        runtime_dir: None,
    }
}

/// Returns a request to run `tool --flag`.
pub(super) fn request() -> ExecRequest {
    let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    ExecRequest {
        argv: vec!["tool".into(), "--flag".into()],
        run: "run".to_owned(),
        identity: vec![("HOME", OsString::from("/home/user"))],
        environment: vec![
            pair("PATH", "/usr/bin:/bin:/nonesuch:/home/user/.local/bin"),
            pair("LANG", "C"),
            pair("API_TOKEN", "canary"),
            pair("npm_config__authToken", "canary"),
            pair("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
            pair("UNKNOWN", "canary"),
        ],
        projects: Vec::new(),
        keep: Vec::new(),
        captured: false,
        die_with_parent: false,
        directory: HostPath::new("/home/user/.local/state/endow/runs/run").ok(),
        earlier: None,
        is_repeatable: false,
        observe: Observe::Nothing,
    }
}
