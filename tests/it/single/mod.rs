//! Single files that are mounted copy-on-write.

mod ended;
mod locks;
mod odd;
mod published;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::harness::{Running, World, project, said};

/// A project and a file of settings in the user's home.
struct Settings {
    world: World,
    file: PathBuf,
    at: String,
}

impl Settings {
    fn new(text: &str) -> Self {
        let world = project();
        let file = world.write("home/.tool.json", text);
        let at = file.display().to_string();
        Self { world, file, at }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap_or_else(|_| "absent".to_owned())
    }

    /// Replaces the file on the host, as an editor does.
    fn replace(&self, text: &str) {
        let new = self.world.write("home/.tool.json.new", text);
        fs::rename(new, &self.file).expect("renamed");
    }

    /// Starts a script with the file; `read go` in it waits for [`Running::say`].
    fn start(&self, options: &[&str], script: &str) -> Running {
        let fixed = ["run", "--cow", &self.at];
        let words = [&fixed, options, &["--", "sh", "-c", script]].concat();
        Running::start(self.world.endow(words).stdin(Stdio::piped()))
    }

    fn run(&self, options: &[&str], script: &str) -> i32 {
        self.start(options, script).end()
    }

    fn endow(&self, words: &[&str]) -> String {
        said(&mut self.world.endow(words)).ok().to_owned()
    }

    fn states(&self) -> Vec<String> {
        self.world.states()
    }
}
