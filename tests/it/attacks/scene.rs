//! What there is to attack: files, a process and its services, all outside of the sandbox, and the
//! look afterwards that nothing of it was harmed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::escape::prober::script;
use crate::harness::{Running, World};

const VICTIM: &str = include_str!("probes/victim_process.py");

/// A world with somebody in it.
pub(super) struct Scene {
    world: World,
    victim: Running,
    facts: Value,
    before: BTreeMap<PathBuf, String>,
}

impl Scene {
    /// Makes the files and starts the process.
    pub(super) fn new() -> Self {
        let world = World::new();
        files(&world);
        let root = world.root().display().to_string();
        let line = script(VICTIM, &[&root]);
        let mut command = world.command(&line[0]);
        command.args(&line[1..]).env("VICTIM_SECRET", "canary-of-the-victim");
        let victim = Running::start(command.stdin(Stdio::piped()));
        let facts = serde_json::from_str(&victim.line()).expect("facts");
        let before = files_of(&world);
        Self { world, victim, facts, before }
    }

    /// Returns the world.
    pub(super) fn world(&self) -> &World {
        &self.world
    }

    /// Returns the directory of everything.
    pub(super) fn root(&self) -> String {
        self.world.root().display().to_string()
    }

    /// Returns a path below it.
    pub(super) fn path(&self, name: &str) -> String {
        self.world.root().join(name).display().to_string()
    }

    /// Returns the directory that every sandbox shows read-only.
    pub(super) fn granted(&self) -> String {
        self.path("granted")
    }

    /// Returns what the process said of itself: a number or a name.
    pub(super) fn fact(&self, name: &str) -> String {
        let fact = &self.facts[name];
        fact.as_str().map_or_else(|| fact.to_string(), str::to_owned)
    }

    /// Returns several of these.
    pub(super) fn facts(&self, names: &[&str]) -> Vec<String> {
        names.iter().map(|name| self.fact(name)).collect()
    }

    /// Asserts that nobody reached the process, that it is as it was, and so are the files.
    #[track_caller]
    pub(super) fn assert_unharmed(mut self) {
        self.victim.say("\n");
        assert_eq!(self.victim.line(), "unharmed");
        assert_eq!(files_of(&self.world), self.before);
    }
}

/// What it made in the kernel is gone with it, also when a test fails.
impl Drop for Scene {
    fn drop(&mut self) {
        self.victim.dismiss();
    }
}

/// Returns whether root makes the attacks.
pub(super) fn is_root() -> bool {
    fs::metadata("/proc/self").expect("a process").uid() == 0
}

/// Makes files with a secret: outside, in a directory that is shown read-only, and under names in
/// the project that nobody is shown.
fn files(world: &World) {
    for tree in ["outside", "granted", "copied"] {
        world.write(format!("{tree}/file"), "before\n");
        world.write(format!("{tree}/sub/other"), "before\n");
        fs::create_dir(world.root().join(tree).join("empty")).expect("a directory");
        symlink("file", world.root().join(tree).join("link")).expect("a link");
    }
    world.write("home/secret", "canary\n");
    for hidden in [".env", "sub/deep/id_rsa", ".ssh/config"] {
        world.write(format!("home/project/{hidden}"), "canary\n");
    }
    world.write("home/project/real/file", "public\n");
    repository(world);
    let program = world.write("granted/program", "#!/bin/sh\necho started\n");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// The least that git takes for a repository.
fn repository(world: &World) {
    for (name, text) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
        ("hooks/post-merge", "#!/bin/sh\n"),
        ("info/exclude", ""),
        ("objects/info/packs", ""),
        ("refs/README", ""),
    ] {
        world.write(format!("home/project/.git/{name}"), text);
    }
}

/// What must stay as it is: all but the workspace's other names and endow's own directories.
fn files_of(world: &World) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for name in ["outside", "granted", "home/secret", "home/project/.env", "home/project/.ssh"] {
        look(&world.root().join(name), &mut found);
    }
    let key = world.project().join("sub/deep/id_rsa");
    look(&key, &mut found);
    let names = fs::read_dir(world.home()).expect("a home").map(|it| it.expect("a name").path());
    found.insert(world.home(), format!("{:?}", names.collect::<std::collections::BTreeSet<_>>()));
    found
}

fn look(path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let Ok(about) = fs::symlink_metadata(path) else { return };
    let content = if about.is_file() { fs::read(path).unwrap_or_default() } else { Vec::new() };
    let word = format!(
        "{:o} {} {}:{} {:?}",
        about.mode(),
        about.mtime_nsec() + about.mtime(),
        about.uid(),
        about.gid(),
        String::from_utf8_lossy(&content)
    );
    found.insert(path.to_owned(), word);
    if about.is_dir() {
        for name in fs::read_dir(path).expect("a directory") {
            look(&name.expect("a name").path(), found);
        }
    }
}
