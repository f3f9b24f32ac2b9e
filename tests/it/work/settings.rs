//! Sessions of a real agent that write one file of settings at once.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::model::Model;
use super::{link, provisioned, wire};
use crate::harness::{Running, World, said, within};

/// What of the sessions' commands is awaited for: on a busy machine an agent takes its time.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(2);

/// Sessions inside, and one outside.
const INSIDE: [&str; 3] = ["a", "b", "killed"];
const OUTSIDE: &str = "outside";

/// Agents of one home, each in a directory of its own.
struct Sessions {
    world: World,
    model: Model,
}

impl Sessions {
    fn command(&self, name: &str, mut command: Command) -> Command {
        let home = self.world.home();
        let directory = home.join(name);
        fs::create_dir_all(&directory).expect("a directory");
        command.current_dir(directory).args(["--allowedTools", "Bash", "-p", "set it"]);
        for (name, value) in [
            ("PATH", format!("{}/npm/bin:/usr/bin:/bin", self.world.root().display())),
            ("ANTHROPIC_API_KEY", "sk-none".to_owned()),
            ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", self.model.port)),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
        ] {
            command.env(name, value);
        }
        command
    }

    fn bare(&self, name: &str) -> Command {
        self.command(name, self.world.command("claude"))
    }

    fn inside(&self, name: &str) -> Command {
        let model = format!("localhost:{}", self.model.port);
        self.command(name, self.world.endow(["--net", &model, "--", "claude"]))
    }

    /// Lets a session go on.
    fn tell(&self, name: &str) {
        self.world.write(format!("home/{name}/go"), "");
    }

    fn settings(&self) -> Value {
        let text = fs::read(self.world.home().join(".claude.json")).expect("settings");
        serde_json::from_slice(&text).expect("whole at any moment")
    }

    /// Returns whether the settings have what a session entered.
    fn has(&self, name: &str, entry: &str) -> bool {
        let project = self.world.home().join(name).canonicalize().expect("a path");
        let project = project.display().to_string();
        self.settings()["projects"][project]["mcpServers"][entry].is_object()
    }

    fn wait_for(&self, name: &str, entry: &str) {
        within(PATIENCE, &format!("{entry} of {name}"), || self.has(name, entry));
    }
}

#[test]
fn every_session_finds_its_entry_in_the_settings() {
    let Some(npm) = provisioned("npm") else { return };
    let sessions = Sessions { world: World::new(), model: Model::start(wire::settings) };
    link(&npm, &sessions.world.root().join("npm"));
    // What an agent enters when it starts for the first time is its own each time.
    sessions.tell("first");
    said(&mut sessions.bare("first")).ok();
    let mut inside = INSIDE.map(|name| Running::start(&mut sessions.inside(name)));
    let mut outside = Running::start(&mut sessions.bare(OUTSIDE));
    for name in INSIDE.iter().chain([&OUTSIDE]) {
        sessions.wait_for(name, "one");
    }
    inside[2].signal(9);
    assert_eq!(inside[2].end(), 137);
    for name in INSIDE.iter().chain([&OUTSIDE]) {
        sessions.tell(name);
    }
    for (name, running) in INSIDE.iter().zip(&mut inside).take(2).chain([(&OUTSIDE, &mut outside)])
    {
        sessions.wait_for(name, "two");
        assert_eq!(running.end(), 0, "{name}");
    }
    for name in INSIDE.iter().chain([&OUTSIDE, &"first"]) {
        assert!(sessions.has(name, "one"), "{name}");
        assert_eq!(sessions.has(name, "two"), *name != "killed", "{name}");
    }
}
