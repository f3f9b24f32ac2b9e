//! `cargo ci package`: a Debian package of the release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::workspace::{self, must};

/// The packages whose programs are shipped.
const SHIPPED: [&str; 5] =
    ["endow", "endow-broker", "endow-ssh-agent", "endow-bridge", "endow-reapi"];

/// Builds the release and makes a package of it, whose path is printed.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    ensure!(args.is_empty(), "cargo ci package takes no arguments");
    let target = workspace::target_dir()?;
    let programs = release(&target)?;
    let out = target.join("debian");
    fs::create_dir_all(&out)?;
    let script = workspace::root().join("ci/packaging/debian/build");
    // Older releases of Debian can't read the compression that newer ones of Ubuntu choose.
    must(Command::new(script).arg(programs).arg(&out).arg("-Zxz"))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the directory that the programs are built into.
fn release(target: &Path) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release", "--locked", "--message-format=json-render-diagnostics"]);
    cargo.args(SHIPPED.iter().flat_map(|name| ["--package", name]));
    let built = cargo.stderr(std::process::Stdio::inherit()).output()?;
    ensure!(built.status.success(), "the release does not build");
    let said = String::from_utf8(built.stdout)?;
    let messages = said.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs = messages
        .filter_map(|message: serde_json::Value| message["executable"].as_str().map(PathBuf::from));
    let program = programs.next().with_context(|| format!("no program in {}", target.display()))?;
    Ok(program.parent().unwrap_or(target).to_owned())
}
