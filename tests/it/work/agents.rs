//! Real agents with a model that follows a script: each reads, edits, runs a command and commits,
//! and asks the model inside exactly what it asks outside.

use std::fs;
use std::process::Command;

use super::model::{Model, Request};
use super::normal::{assert_same, normal};
use super::script::{self, Answer, PROMPT};
use super::{link, provisioned};
use crate::harness::{World, said};

/// One kind of agent.
struct Agent {
    answer: Answer,
    /// The command, without the prompt.
    command: &'static [&'static str],
    /// Its state, below the home.
    state: &'static str,
    /// What stands in its state before the first run, by name.
    settings: &'static [(&'static str, &'static str)],
    /// Its variables; `HOME` and `PORT` are filled in.
    variables: &'static [(&'static str, &'static str)],
}

/// What a session left.
#[derive(Debug, PartialEq, Eq)]
struct Session {
    requests: Vec<Request>,
    said: String,
    /// The commits with author, tree and time: equal ids mean equal content.
    log: String,
    greeting: String,
}

const CLAUDE: Agent = Agent {
    answer: script::messages,
    command: &["claude", "--dangerously-skip-permissions", "-p"],
    state: ".claude",
    settings: &[],
    variables: &[
        ("ANTHROPIC_API_KEY", "sk-none"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:PORT"),
        ("CLAUDE_CONFIG_DIR", "HOME/.claude"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ],
};

const CODEX: Agent = Agent {
    answer: script::responses,
    command: &["codex", "exec", "--sandbox", "danger-full-access"],
    state: ".codex",
    settings: &[("config.toml", include_str!("codex.toml"))],
    variables: &[("OPENAI_API_KEY", "sk-none")],
};

impl Agent {
    /// Runs one session in a fresh project with fresh state.
    fn session(&self, world: &World, inside: Inside) -> Session {
        let model = Model::start(self.answer);
        self.prepare(world, model.port);
        let said = said(self.command(world, inside, model.port).arg(PROMPT));
        let said = said.ok().to_owned();
        let port = model.port;
        let log = world.bare("git log --format='%H %T %an <%ae> %ad %s'").ok().to_owned();
        let greeting = world.bare("git status --porcelain; sh greet.sh").ok().to_owned();
        Session { requests: normal(model.stop(), port), said, log, greeting }
    }

    fn prepare(&self, world: &World, port: u16) {
        for place in [world.project(), world.home().join(self.state)] {
            if place.exists() {
                fs::remove_dir_all(&place).expect("what was there goes");
            }
            fs::create_dir(place).expect("a directory");
        }
        for (name, content) in self.settings {
            let content = content.replace("PORT", &port.to_string());
            world.write(format!("home/{}/{name}", self.state), &content);
        }
        world.write(
            "home/.gitconfig",
            "[user]\n\tname = A Tester\n\temail = tester@example.invalid\n",
        );
        world.write("home/project/greet.sh", "echo hello\n");
        let made = "git init -q -b main && git add -A && git commit -q -m first";
        said(dated(world.command("sh").args(["-c", made]))).ok();
    }

    fn command(&self, world: &World, inside: Inside, port: u16) -> Command {
        let (program, arguments) = self.command.split_first().expect("a command");
        let mut command = match inside {
            Inside::No => world.command(program),
            Inside::ByName => {
                let model = format!("localhost:{port}");
                world.endow(["--net", &model, "--", program])
            }
            Inside::Yes => {
                let state =
                    format!("~/{}", self.state).replace('~', &world.home().to_string_lossy());
                let mut endow = world.endow(["--profile", "none", "--workspace", "rw"]);
                endow.args(["--net", "host", "--rw", &state]);
                endow.args(self.variables.iter().flat_map(|(name, _)| ["--env", name]));
                endow.args(["--", program]);
                endow
            }
        };
        let home = world.home().display().to_string();
        for (name, value) in self.variables {
            command.env(name, value.replace("PORT", &port.to_string()).replace("HOME", &home));
        }
        // A login sets it, and endow always does.
        command.env("SHELL", "/bin/bash");
        dated(command.args(arguments).env("PATH", format!("{home}/.npm/bin:/usr/bin:/bin")));
        command
    }

    fn check(&self) {
        let Some(npm) = provisioned("npm") else { return };
        let world = World::new();
        link(&npm, &world.home().join(".npm"));
        let bare = self.session(&world, Inside::No);
        let inside = self.session(&world, Inside::Yes);
        world.assert_no_run_left();
        same(&bare, &inside);
        same(&bare, &self.session(&world, Inside::ByName));
        // What it did to the live workspace was recorded, and can be taken back.
        assert_eq!(world.states(), ["applied"]);
        said(&mut world.endow(["undo"])).ok();
        assert_eq!(world.bare("sh greet.sh").ok(), "hello\n");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    No,
    /// With what is granted by flags.
    Yes,
    /// With what the profile of its name grants, and the model.
    ByName,
}

/// Asserts that two sessions asked for the same and left the same.
fn same(bare: &Session, inside: &Session) {
    assert_eq!(bare.greeting, "good day\n");
    assert_eq!(bare.log.lines().count(), 2, "{}", bare.log);
    assert!(bare.requests.len() >= 5, "{} requests", bare.requests.len());
    for (outside, inside) in bare.requests.iter().zip(&inside.requests) {
        assert_same(outside, inside);
    }
    assert_eq!(bare, inside);
}

/// Commits get the same ids when they are made at the same time.
fn dated(command: &mut Command) -> &mut Command {
    let date = "2026-01-02T03:04:05Z";
    command.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date)
}

#[test]
fn claude_asks_the_model_what_it_asks_outside() {
    CLAUDE.check();
}

#[test]
fn codex_asks_the_model_what_it_asks_outside() {
    CODEX.check();
}
