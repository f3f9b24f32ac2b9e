//! Real agents with a model that follows a script: each reads, edits, runs a command, commits and
//! uses a server of the project's own, and asks the model inside exactly what it asks outside.

use std::fs;
use std::process::Command;

use super::clis::{AIDER, CLAUDE, CODEX, Cli, GEMINI, OPENCODE};
use super::model::{Answer, Model, Request};
use super::normal::{assert_same, normal};
use super::script::{POLITE, PROMPT};
use super::wire;
use crate::harness::{World, said};

/// What a session left.
#[derive(Debug, PartialEq, Eq)]
struct Session {
    requests: Vec<Request>,
    said: String,
    /// The commits with author, tree and time: equal ids mean equal content.
    log: String,
    greeting: String,
}

/// Runs one session in a fresh project with fresh state.
fn session(cli: &Cli, answer: Answer, world: &World, inside: Inside) -> Session {
    let model = Model::start(answer);
    cli.settle(world, model.port);
    project(world);
    let said = said(command(cli, world, inside, model.port).arg(PROMPT));
    let port = model.port;
    let requests = normal(model.stop(), port);
    assert_eq!(said.code, 0, "{said:?}\nafter {requests:?}");
    let log = world.bare("git log --format='%H %T %an <%ae> %ad %s'").ok().to_owned();
    let greeting = world.bare("git status --porcelain; sh greet.sh").ok().to_owned();
    Session { requests, said: said.stdout, log, greeting }
}

/// A repository with the server that settings name.
pub(super) fn project(world: &World) {
    if world.project().exists() {
        fs::remove_dir_all(world.project()).expect("the old project goes");
    }
    world.write("home/.gitconfig", "[user]\n\tname = A Tester\n\temail = tester@example.invalid\n");
    world.write("home/project/greet.sh", "echo hello\n");
    world.write("home/project/greetings.py", include_str!("fixtures/greetings.py"));
    world.write("home/project/.gitignore", ".aider*\n");
    let made = "git init -q -b main && git add -A && git commit -q -m first";
    said(dated(world.command("sh").args(["-c", made]))).ok();
}

fn command(cli: &Cli, world: &World, inside: Inside, port: u16) -> Command {
    let program = cli.command[0];
    let mut command = match inside {
        Inside::No => world.command(program),
        Inside::ByName => world.endow(["--net", &format!("localhost:{port}"), "--", program]),
        Inside::Yes => {
            let mut endow = world.endow(["--profile", "none", "--workspace", "rw"]);
            endow.args(["--net", "host"]).args(cli.options);
            for place in cli.places(world) {
                endow.arg("--rw").arg(place);
            }
            endow.args(cli.variables.iter().flat_map(|(name, _)| ["--env", name]));
            endow.args(["--", program]);
            endow
        }
    };
    cli.complete(&mut command, world, port);
    if inside != Inside::ByName {
        command.args(cli.without_profile);
    }
    dated(&mut command);
    command
}

/// What the model must have been told: results of the tools.
struct Told(&'static [&'static str]);

fn check(cli: &Cli, answer: Answer, told: &Told) {
    let world = World::new();
    let Some(()) = cli.install(&world) else { return };
    let session = |inside| session(cli, answer, &world, inside);
    let bare = session(Inside::No);
    let last = bare.requests.last().expect("a request").body.to_string();
    told.0.iter().for_each(|word| assert!(last.contains(word), "{word} is not in {last}"));
    let inside = session(Inside::Yes);
    world.assert_no_run_left();
    same(&bare, &inside);
    same(&bare, &session(Inside::ByName));
    // What it did to the live workspace was recorded, and can be taken back.
    assert_eq!(world.states(), ["applied"]);
    said(&mut world.endow(["undo"])).ok();
    assert_eq!(world.bare("sh greet.sh").ok(), "hello\n");
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
    assert!(bare.log.lines().count() >= 2, "{}", bare.log);
    assert!(bare.requests.len() >= 4, "{} requests", bare.requests.len());
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

const TOOLS: Told = Told(&["uid=", "A Tester changed", POLITE]);

#[test]
fn claude_asks_the_model_what_it_asks_outside() {
    check(&CLAUDE, wire::claude, &TOOLS);
}

const SANDBOXED: [(&str, &str); 2] =
    [CLAUDE.settings[0], (".claude/settings.json", "{\"sandbox\":{\"enabled\":true}}")];

/// Its own sandbox, switched on by the user, stands down: inside it could not make one.
#[test]
fn claude_with_a_sandbox_of_its_own_asks_what_it_asks_without() {
    let world = World::new();
    let Some(()) = CLAUDE.install(&world) else { return };
    let bare = session(&CLAUDE, wire::claude, &world, Inside::No);
    let with_sandbox = Cli { settings: &SANDBOXED, ..CLAUDE };
    same(&bare, &session(&with_sandbox, wire::claude, &world, Inside::ByName));
}

#[test]
fn codex_asks_the_model_what_it_asks_outside() {
    check(&CODEX, wire::codex, &TOOLS);
}

#[test]
fn gemini_asks_the_model_what_it_asks_outside() {
    check(&GEMINI, wire::gemini, &TOOLS);
}

#[test]
fn opencode_asks_the_model_what_it_asks_outside() {
    check(&OPENCODE, wire::opencode, &TOOLS);
}

/// It knows no servers of tools.
#[test]
fn aider_asks_the_model_what_it_asks_outside() {
    check(&AIDER, wire::aider, &Told(&["uid=", "good evening"]));
}
