//! A project that is built.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::Value;

use super::{Said, World, said};

/// What a user's first build keeps of the host's directories. Listing them takes as long as two builds, and each
/// project here is another user's first.
static LISTINGS: LazyLock<Vec<(OsString, Vec<u8>)>> = LazyLock::new(|| {
    let world = World::new();
    let build = ["build", "--input", "in", "--output", "out", "--", "cp", "in", "out"];
    world.write("home/project/in", "");
    drop(said(&mut world.endow(build)));
    let kept = fs::read_dir(world.root().join("cache/inputs")).into_iter().flatten().flatten();
    let listings = kept.filter(|it| it.file_name().as_encoded_bytes().starts_with(b"names-"));
    listings.map(|it| (it.file_name(), fs::read(it.path()).expect("read"))).collect()
});

/// A project with its actions.
pub(crate) struct Project {
    pub(crate) world: World,
}

impl Project {
    pub(crate) fn new(actions: &str) -> Self {
        let project = Self { world: World::new() };
        project.policy(actions);
        let inputs = project.world.root().join("cache/inputs");
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700).create(&inputs).expect("a directory");
        for (name, bytes) in LISTINGS.iter() {
            fs::write(inputs.join(name), bytes).expect("written");
        }
        project
    }

    pub(crate) fn policy(&self, actions: &str) {
        self.write("endow.toml", &format!("version = 1\n{actions}"));
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.world.write(format!("home/project/{path}"), text);
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.world.project().join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("an output")
    }

    pub(crate) fn build(&self, arguments: &[&str]) -> Said {
        said(&mut self.world.endow([&["build"], arguments].concat()))
    }

    /// Builds without what is known: the host is not looked through, and nothing is kept but outputs.
    pub(crate) fn build_anew(&self, arguments: &[&str]) -> Said {
        self.build(&[&["--no-cache"], arguments].concat())
    }

    /// Builds; returns what became of each action, `name state`.
    #[track_caller]
    pub(crate) fn states(&self, arguments: &[&str]) -> Vec<String> {
        let said = self.build(&[&["--json"], arguments].concat());
        let told: Value = serde_json::from_str(&said.stdout)
            .unwrap_or_else(|_| panic!("{}{}", said.stdout, said.stderr));
        let actions = told["actions"].as_array().expect("actions").iter();
        let word = |it: &Value, key: &str| it[key].as_str().expect("a word").to_owned();
        actions.map(|it| format!("{} {}", word(it, "name"), word(it, "state"))).collect()
    }
}
