//! A real agent that speaks with the user's editor over the bridge.

use std::time::Duration;

use super::{link, provisioned};
use crate::harness::{Pty, World, within};
use crate::run_ide::{Editor, own};

/// What a user has answered before.
const ANSWERED: &str = r#"{"hasCompletedOnboarding":true,"theme":"dark","projects":{"PROJECT":{"hasTrustDialogAccepted":true}}}"#;

#[test]
fn claude_connects_to_the_editor_of_its_directory() {
    let Some(npm) = provisioned("npm") else { return };
    let world = World::new();
    link(&npm, &world.root().join("npm"));
    let project = world.project();
    let answered = ANSWERED.replace("PROJECT", project.to_str().expect("text"));
    world.write("home/.claude.json", &answered);
    let other = Editor::start(&world, "other", (&world.root().join("elsewhere"), own()));
    let editor = Editor::start(&world, "mine", (&project, own()));
    let mut endow = world.endow(["--bridge", "ide", "--", "claude"]);
    endow.env("PATH", format!("{}/npm/bin:/usr/bin:/bin", world.root().display()));
    endow.env("ANTHROPIC_AUTH_TOKEN", "none").env("TERM", "xterm");
    let mut pty = Pty::start(&endow);
    pty.expect("Claude Code");
    let is_connected = || editor.heard().to_lowercase().contains("authorization: token of mine");
    within(Duration::from_mins(1), "a connection to the editor", is_connected);
    assert_eq!(other.heard(), "");
    pty.close();
    pty.end();
}
