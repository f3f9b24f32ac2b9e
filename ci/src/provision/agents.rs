//! Agents as their makers publish them.

use std::path::Path;

use anyhow::Result;

use super::Work;
use crate::workspace::must;

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str = "claude-code 2.1.330, codex 0.169.0";

const PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code@2.1.330", "@openai/codex@0.169.0"];

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
    must(work.command("rm", dir).args(["-rf", ".npm"]))
}
