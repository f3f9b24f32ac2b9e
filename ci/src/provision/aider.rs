//! aider, in an environment of its own as tools of Python are installed.

use std::path::Path;

use anyhow::Result;

use super::Work;
use crate::workspace::must;

/// What is fetched; another text fetches anew. It names the version of each package that it needs.
pub(super) const VERSION: &str = "aider-chat 0.86.2";

const PACKAGE: &str = "aider-chat==0.86.2";

/// Installs the package into an environment; the pip of the system does it, no second one is made.
pub(super) fn fetch(work: &Work, dir: &Path) -> Result<()> {
    let python = || work.command("/usr/bin/python3", dir);
    must(python().args(["-m", "venv", "--without-pip", "."]))?;
    let mut pip = python();
    pip.args(["-m", "pip", "--python", "bin/python", "--disable-pip-version-check"]);
    must(pip.args(["install", "--quiet", "--no-cache-dir", PACKAGE]))
}
