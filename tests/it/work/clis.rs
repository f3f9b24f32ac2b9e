//! The command lines of agents as they are published, with what stands in a home before they start.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{link, provisioned};
use crate::harness::World;

/// One agent.
pub(super) struct Cli {
    /// The command, without the prompt.
    pub(super) command: &'static [&'static str],
    /// Words that its profile makes needless: that a sandbox of its own stands down.
    pub(super) without_profile: &'static [&'static str],
    /// Its state: directories below the home.
    pub(super) state: &'static [&'static str],
    /// What it needs besides grants when it has no profile.
    pub(super) options: &'static [&'static str],
    /// What stands in the home before the first run.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Its variables. In them and in settings `HOME` and `PORT` are filled in.
    pub(super) variables: &'static [(&'static str, &'static str)],
}

pub(super) const CLAUDE: Cli = Cli {
    command: &["claude", "--dangerously-skip-permissions", "-p"],
    without_profile: &[],
    state: &[".claude"],
    options: &[],
    settings: &[(".claude/.claude.json", include_str!("fixtures/claude.json"))],
    variables: &[
        ("ANTHROPIC_API_KEY", "sk-none"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:PORT"),
        ("CLAUDE_CONFIG_DIR", "HOME/.claude"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ],
};

pub(super) const CODEX: Cli = Cli {
    command: &["codex", "exec"],
    without_profile: &["--sandbox", "danger-full-access"],
    state: &[".codex"],
    options: &[],
    settings: &[(".codex/config.toml", include_str!("fixtures/codex.toml"))],
    variables: &[("OPENAI_API_KEY", "sk-none")],
};

/// A model is named: to choose one, gemini asks another.
pub(super) const GEMINI: Cli = Cli {
    command: &["gemini", "--model", "gemini-3.1-pro-preview", "--approval-mode", "yolo", "-p"],
    without_profile: &[],
    state: &[".gemini"],
    options: &[],
    settings: &[(".gemini/settings.json", include_str!("fixtures/gemini.json"))],
    variables: &[
        ("GEMINI_API_KEY", "none"),
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:PORT"),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ],
};

/// Without a network npm fetches no plugin package for its settings.
pub(super) const OPENCODE: Cli = Cli {
    command: &["opencode", "run"],
    without_profile: &[],
    state: &[".config/opencode", ".local/share/opencode", ".local/state/opencode"],
    // It keeps snapshots as a repository with settings that git would obey.
    options: &["--unprotect", "**/snapshot/**"],
    settings: &[(".config/opencode/opencode.json", include_str!("fixtures/opencode.json"))],
    variables: &[
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("npm_config_offline", "true"),
    ],
};

/// It asks the network for prices of models and for versions unless it is told not to.
pub(super) const AIDER: Cli = Cli {
    command: &[
        "aider",
        "--model=openai/scripted",
        "--edit-format=diff",
        "--yes-always",
        "--auto-test",
        "--test-cmd=sh greet.sh; id; pwd; umask; git config user.name; sh greet.sh | grep 'good day'",
        "--file=greet.sh",
        "--message",
    ],
    without_profile: &[],
    state: &[".aider"],
    options: &[],
    settings: &[(
        ".aider/caches/model_prices_and_context_window.json",
        include_str!("fixtures/aider.json"),
    )],
    variables: &[
        ("OPENAI_API_KEY", "none"),
        ("OPENAI_API_BASE", "http://127.0.0.1:PORT/v1"),
        ("AIDER_ANALYTICS", "false"),
        ("AIDER_CHECK_UPDATE", "false"),
        ("AIDER_SHOW_RELEASE_NOTES", "false"),
        ("AIDER_SHOW_MODEL_WARNINGS", "false"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    ],
};

/// Where the environment of a tool of Python lies, below the home.
const AIDER_PLACE: &str = ".local/share/uv/tools/aider-chat";

impl Cli {
    /// Puts what was provisioned where a user's installation has it.
    pub(super) fn install(&self, world: &World) -> Option<()> {
        if self.command[0] == "aider" {
            return install_aider(world, &provisioned("aider")?);
        }
        link(&provisioned("npm")?, &world.home().join(".npm"));
        Some(())
    }

    /// Makes its state anew.
    pub(super) fn settle(&self, world: &World, port: u16) {
        for place in self.places(world) {
            if place.exists() {
                fs::remove_dir_all(&place).expect("what was there goes");
            }
            fs::create_dir_all(place).expect("a directory");
        }
        for (name, content) in self.settings {
            world.write(format!("home/{name}"), &filled(content, world, port));
        }
    }

    /// The directories of its state.
    pub(super) fn places(&self, world: &World) -> Vec<PathBuf> {
        self.state.iter().map(|name| world.home().join(name)).collect()
    }

    /// Gives a command, outside or inside, the words and variables of the agent.
    pub(super) fn complete(&self, command: &mut Command, world: &World, port: u16) {
        for (name, value) in self.variables {
            command.env(name, filled(value, world, port));
        }
        // A login sets it, and endow always does.
        command.env("SHELL", "/bin/bash");
        let home = world.home().display().to_string();
        command.env("PATH", format!("{home}/.npm/bin:{home}/.local/bin:/usr/bin:/bin"));
        command.args(&self.command[1..]);
    }
}

fn filled(text: &str, world: &World, port: u16) -> String {
    text.replace("PORT", &port.to_string()).replace("HOME", &world.home().to_string_lossy())
}

/// An installer writes the place of the environment into the program's first line.
fn install_aider(world: &World, made: &std::path::Path) -> Option<()> {
    let place = world.home().join(AIDER_PLACE);
    fs::create_dir_all(place.parent()?).expect("a directory");
    link(made, &place);
    let program = place.join("bin/aider");
    let text = fs::read_to_string(&program).expect("a program");
    let (_, rest) = text.split_once('\n')?;
    let permissions = fs::metadata(&program).expect("a program").permissions();
    fs::remove_file(&program).expect("the link goes");
    fs::write(&program, format!("#!{}/bin/python\n{rest}", place.display())).expect("written");
    fs::set_permissions(&program, permissions).expect("executable");
    fs::create_dir_all(world.home().join(".local/bin")).expect("a directory");
    std::os::unix::fs::symlink(&program, world.home().join(".local/bin/aider")).expect("a link");
    Some(())
}
