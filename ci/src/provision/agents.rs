//! Agents as their makers publish them.

use std::path::Path;

use anyhow::Result;

use super::Work;
use crate::workspace::must;

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str =
    "claude-code 2.1.330, codex 0.169.0, gemini-cli 0.61.0, opencode-ai 1.18.33";

const PACKAGES: [&str; 4] = [
    "@anthropic-ai/claude-code@2.1.330",
    "@openai/codex@0.169.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
];

/// The programs of opencode for all processors; the one that fits has a second name where it is run.
const UNUSED: &str = "lib/node_modules/opencode-ai/node_modules";

/// Installs the packages below the prefix `npm`, as `npm install --global` does for a user whose
/// prefix lies in the home.
pub(super) fn fetch(work: &Work, dir: &Path) -> Result<()> {
    let mut command = work.command("npm", dir);
    command.args([
        "install",
        "--global",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "--prefix",
    ]);
    must(command.arg(dir).args(PACKAGES))?;
    // The archives it unpacked are not needed again.
    must(work.command("rm", dir).args(["-rf", ".npm", UNUSED]))
}
