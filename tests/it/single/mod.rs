//! Single files that are mounted copy-on-write.

mod odd;
mod published;

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

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
        let runs = fs::read_dir(self.world.state().join("runs")).into_iter().flatten();
        let records = runs.filter_map(|run| fs::read(run.ok()?.path().join("record.json")).ok());
        let state = |text: Vec<u8>| {
            let record: Value = serde_json::from_slice(&text).expect("json");
            record["state"].as_str().expect("a state").to_owned()
        };
        records.map(state).collect()
    }
}
