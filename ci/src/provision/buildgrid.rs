//! BuildGrid, a server of the Remote Execution API that is nobody's here.

use std::path::Path;

use anyhow::Result;

use super::Work;
use crate::workspace::must;

/// What is fetched, each with its version; another text fetches anew.
pub(super) const VERSION: &str = include_str!("buildgrid.txt");

/// Installs the packages as `site`.
pub(super) fn fetch(work: &Work, dir: &Path) -> Result<()> {
    std::fs::write(dir.join("packages.txt"), VERSION)?;
    let mut command = work.command("/usr/bin/python3", dir);
    command.args(["-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-deps"]);
    command.args(["--no-compile", "--disable-pip-version-check", "--target", "site"]);
    must(command.args(["--requirement", "packages.txt"]))
}
