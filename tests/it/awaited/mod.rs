//! State of agents that does not exist yet: what a first session makes is brought to the host.

mod attacks;
mod concurrent;
mod kept;
mod killed;
mod told;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::{Running, Said, World, project, said};

/// A project and a home in which an agent has never run; `claude` there is a script.
struct First {
    world: World,
}

impl First {
    fn new(script: &str) -> Self {
        Self::of("claude", script)
    }

    fn of(name: &str, script: &str) -> Self {
        let first = Self { world: project() };
        first.program(name, script);
        first
    }

    fn program(&self, name: &str, script: &str) {
        let path =
            self.world.write(Path::new("programs").join(name), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn home(&self, path: &str) -> PathBuf {
        self.world.home().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.home(path)).unwrap_or_else(|_| "absent".to_owned())
    }

    /// Returns what is in the home, sorted, but for the project.
    fn names(&self) -> Vec<String> {
        let find = "cd; find . -mindepth 1 -path ./project -prune -o -printf '%P\\n' | sort";
        self.world.bare(find).ok().lines().map(str::to_owned).collect()
    }

    fn command(&self, options: &[&str], name: &str) -> Command {
        let mut endow = self.world.endow(["run"]);
        endow.args(options).args(["--", name]);
        endow.env("PATH", format!("{}/programs:/usr/bin:/bin", self.world.root().display()));
        endow
    }

    fn run(&self, options: &[&str]) -> Said {
        said(&mut self.command(options, "claude"))
    }

    fn start(&self, options: &[&str]) -> Running {
        Running::start(self.command(options, "claude").stdin(Stdio::piped()))
    }

    fn endow(&self, words: &[&str]) -> Said {
        said(&mut self.world.endow(words))
    }
}
