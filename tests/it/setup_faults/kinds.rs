//! The kinds of run whose set-up is swept, and the world in which each takes place.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::sync::OnceLock;

use crate::harness::{World, said};
use crate::runners::named;

const PROBE: &str = include_str!("probe.py");
/// What is read and written inside, below the world's root.
const PATHS: &[&str] = &[
    "home/project",
    "home/project/file",
    "home/project/.env",
    "home/project/sub",
    "home/project/sub/secret-key",
    "home/project/.git/config",
    "home/project/.git/hooks",
    "home/.ssh/id",
    "granted",
    "granted/file",
    "granted/.env",
    "home/project/unshown",
    "config/policy.toml",
    "state",
    "/ref",
    "/ref/a/b",
    "/ref/a/b/5",
    "/ref/run",
    "/build",
    "/build/file",
    "/build/sub",
    "/build/sub/other",
    "/build/sub/secret-key",
];

/// A kind of run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    options: &'static [&'static str],
    /// Files besides those of every world.
    files: &'static [(&'static str, &'static str)],
    with: With,
}

/// What else a kind of run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Nothing,
    /// A host of which only the first port that listens is reached.
    AllowedPort,
    /// A commit, which is made in the cache.
    Tree,
    /// A tree of the content-addressed store, which is made in the cache, too.
    Stored,
    /// A tree that is the root, with programs of the host.
    Root,
    /// An action of `endow build` with such a root and its tools, and its result.
    Action,
    /// The command line of Bazel's `linux-sandbox`.
    LinuxSandbox,
}

pub(super) const DEFAULT: Kind =
    Kind { name: "default", options: &[], files: &[], with: With::Nothing };
pub(super) const HIDDEN: Kind = Kind {
    name: "live workspace with hidden names",
    options: &["--workspace", "rw", "--deny", "secret*", "--ro", "ROOT/granted"],
    files: &[],
    with: With::Nothing,
};
pub(super) const DISCARDED: Kind = Kind {
    name: "copy-on-write, dropped",
    options: &["--workspace", "cow", "--sync", "discard", "--deny", "secret*"],
    files: &[],
    with: With::Nothing,
};
pub(super) const ALLOWED: Kind = Kind {
    name: "allowed hosts",
    options: &["--workspace", "ro"],
    files: &[],
    with: With::AllowedPort,
};
pub(super) const LIMITED: Kind = Kind {
    name: "limits",
    options: &[
        "--timeout",
        "1m",
        "--open-files",
        "64",
        "--file-size",
        "1M",
        "--cpu-time",
        "1m",
        "--memory",
        "1G",
        "--best-effort",
        "memory",
        "--new-session",
    ],
    files: &[],
    with: With::Nothing,
};
pub(super) const POLICED: Kind = Kind {
    name: "policy files",
    options: &["--profile", "narrow", "--workspace", "ro"],
    files: POLICIES,
    with: With::Nothing,
};
pub(super) const TREE: Kind = Kind {
    name: "git tree",
    options: &["--workspace", "ro", "--git", "/ref=ROOT/repository@HEAD"],
    files: &[],
    with: With::Tree,
};
pub(super) const CHANGED_TREE: Kind = Kind {
    name: "git tree, copy-on-write, dropped",
    options: &["--workspace", "ro", "--git", "/ref=ROOT/repository@HEAD,cow", "--sync", "discard"],
    files: &[],
    with: With::Tree,
};
pub(super) const STORED: Kind =
    Kind { name: "stored tree", options: &["--workspace", "ro"], files: &[], with: With::Stored };
pub(super) const ROOT: Kind = Kind {
    name: "tree as the root",
    options: &["--workspace", "none", "--chdir", "/", "--ro", "/usr", "--no-default-deny"],
    files: &[],
    with: With::Root,
};
pub(super) const ACTION: Kind = Kind {
    name: "action of a build",
    options: &["-j1", "--input", "file", "--input", "sub/*"],
    files: &[("home/project/sub/other", "other\n")],
    with: With::Action,
};
pub(super) const LINUX_SANDBOX: Kind = Kind {
    name: "command line of linux-sandbox",
    options: &[
        "-W",
        "ROOT/home/project",
        "-N",
        "-H",
        "-D",
        "-w",
        "ROOT/granted",
        "-e",
        "ROOT/streams",
    ],
    files: &[],
    with: With::LinuxSandbox,
};
pub(super) const IN_PLACE: Kind = Kind {
    name: "level landlock",
    options: &[
        "--require",
        "landlock",
        "--workspace",
        "ro",
        "--ro",
        "ROOT/granted",
        "--no-default-deny",
    ],
    files: &[],
    with: With::Nothing,
};

/// Files of a policy, each of which takes something away.
const POLICIES: &[(&str, &str)] = &[
    ("config/policy.toml", "version = 1\n[deny]\npatterns = [\"secret*\"]\n"),
    ("config/profiles/narrow.toml", "version = 1\n[limits]\nopen_files = 64\n"),
    ("home/project/endow.toml", "version = 1\n[deny]\npatterns = [\"unshown\"]\n"),
    ("home/project/unshown", "hidden\n"),
];

/// Makes a repository with one commit, whose id is always the same.
const REPOSITORY: &str = "
    export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
    git init -q ../../repository && cd ../../repository && mkdir -p a/b empty
    for name in 1 2 3 4 5; do echo $name >a/$name; ln -s ../$name a/b/$name; done
    echo x >run; chmod 755 run; git add .
    git -c user.name=n -c user.email=m commit -q -m c";

/// Makes a tree whose programs are those of `/usr`.
const ROOT_TREE: &str = "
    mkdir -p ../../repository/ref/a/b && cd ../../repository && echo own >ref/own
    for name in bin lib lib64 sbin; do ln -s usr/$name $name; done";

/// Ports of the host at which somebody listens.
#[derive(Debug)]
pub(super) struct Listening {
    ports: [u16; 2],
}

impl Listening {
    pub(super) fn start() -> Self {
        let ports = [(); 2].map(|()| {
            let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a listener");
            let port = listener.local_addr().expect("an address").port();
            std::thread::spawn(move || listener.incoming().for_each(drop));
            port
        });
        Self { ports }
    }
}

/// Makes a world with something to hide and something to show.
pub(super) fn world(kind: Kind) -> World {
    let world = World::new();
    let files = [
        ("home/project/file", "file\n"),
        ("home/project/.env", "hidden\n"),
        ("home/project/sub/secret-key", "hidden\n"),
        ("home/project/.git/HEAD", "ref: refs/heads/main\n"),
        ("home/project/.git/config", "[core]\n\tbare = false\n"),
        ("home/project/.git/hooks/sample", "#!/bin/sh\n"),
        ("home/project/.git/objects/none", ""),
        ("home/project/.git/refs/heads/none", ""),
        ("home/.ssh/id", "secret\n"),
        ("granted/file", "granted\n"),
        ("granted/.env", "hidden\n"),
        ("tmp/none", ""),
        ("runtime/none", ""),
        ("streams/none", ""),
    ];
    for (path, content) in files.iter().chain(kind.files) {
        world.write(path, content);
    }
    if matches!(kind.with, With::Tree | With::Stored) {
        world.bare(REPOSITORY).ok();
    }
    let tree = world.root().join("repository");
    match kind.with {
        With::Stored => fs::remove_dir_all(tree.join(".git")).expect("only the tree is stored"),
        With::Root | With::Action => drop(world.bare(ROOT_TREE).ok().to_owned()),
        _ => return world,
    }
    let put = said(world.endow(["cas", "put"]).arg(tree));
    world.write("digest", put.ok().split_whitespace().next().expect("a digest"));
    world
}

impl Kind {
    /// Whether a run makes something that later runs take for whole.
    pub(super) fn makes_tree(self) -> bool {
        matches!(self.with, With::Tree | With::Stored | With::Root | With::Action)
    }

    /// Whether one of its processes may be killed while endow goes on.
    pub(super) fn has_workers(self) -> bool {
        self.with == With::Action
    }

    /// Returns endow's own exit codes for a command that did not start.
    pub(super) fn refusals(self) -> &'static [i32] {
        match self.with {
            // Bazel's program has one for all.
            With::LinuxSandbox => &[1],
            // Of an action, and of the build.
            With::Action => &[1, 120, 122, 125],
            _ => &[120, 122, 125, 126, 127],
        }
    }

    /// Whether that may be made in one form or another.
    pub(super) fn has_forms(self) -> bool {
        self.with == With::Stored
    }

    /// Returns the program that is started, with the words before its options.
    fn program(self, world: &World) -> Command {
        match self.with {
            With::Action => world.endow(["build", "--verbose"]),
            With::LinuxSandbox => world.command(named(world, "linux-sandbox")),
            _ => world.endow(["run", "--verbose"]),
        }
    }

    /// Returns the run of the probe.
    pub(super) fn command(self, world: &World, listening: &Listening, more: &[&str]) -> Command {
        let root = world.root().display().to_string();
        let mut command = self.program(world);
        command.args(self.options.iter().map(|word| word.replace("ROOT", &root)));
        command.args(more);
        let [first, second] = listening.ports;
        if self.with == With::AllowedPort {
            command.args(["--net", &format!("localhost:{first}")]);
        }
        let digest = || fs::read_to_string(world.root().join("digest")).expect("a digest");
        match self.with {
            With::Stored => drop(command.args(["--cas", &format!("/ref={}", digest())])),
            With::Root => drop(command.args(["--cas", &format!("/={}", digest())])),
            With::Action => {
                command.args(["--root", &digest()]);
                command.args(interpreter().iter().flat_map(|path| ["--tool", path]));
            }
            _ => {}
        }
        let ports = format!("{first} {second}");
        if self.with == With::LinuxSandbox {
            command.env("PROBE_PORTS", ports);
        } else {
            command.args(["--env", &format!("PROBE_PORTS={ports}")]);
        }
        command.env("TMPDIR", world.root().join("tmp"));
        command.env("XDG_RUNTIME_DIR", world.root().join("runtime"));
        command.args(["--", "/usr/bin/python3", "-I", "-S", "-c", PROBE, &root, &namespaces()]);
        command.args(PATHS.iter().map(|path| world.root().join(path)));
        command
    }
}

/// What the probe's interpreter is: few files, so that most calls are of set-up.
fn interpreter() -> &'static [String] {
    static FOUND: OnceLock<Vec<String>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let script = "import glob, os, subprocess, sys, sysconfig
program, library = os.path.realpath(sys.executable), sysconfig.get_path('stdlib')
needed = subprocess.run(['ldd', program, *glob.glob(library + '/lib-dynload/_ctypes.*')], stdout=-1, text=True).stdout
needed = [it for it in needed.split() if it.startswith('/') and not it.endswith(':')]
needed = {os.path.join(os.path.realpath(os.path.dirname(it)), os.path.basename(it)) for it in needed}
print('\\n'.join(sorted({'/usr/bin/python3', program, library} | needed)))";
        let said = said(Command::new("/usr/bin/python3").args(["-c", script]));
        said.ok().lines().map(str::to_owned).collect()
    })
}

/// The namespaces of the host, as names of links.
fn namespaces() -> String {
    let links = fs::read_dir("/proc/self/ns").expect("namespaces").flatten();
    let links = links.filter_map(|link| fs::read_link(link.path()).ok());
    let links: BTreeSet<_> = links.map(|link| link.display().to_string()).collect();
    links.into_iter().collect::<Vec<_>>().join(",")
}
