//! Where the repository is, where cargo builds, and who we are.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// cargo, as it started us.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The directory that cargo builds into.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let output = cargo()
        .args(["metadata", "--format-version=1", "--no-deps"])
        .output()
        .context("cargo metadata does not start")?;
    ensure!(output.status.success(), "cargo metadata failed");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let dir = value["target_directory"].as_str().context("cargo metadata names no target")?;
    Ok(PathBuf::from(dir))
}

/// The directory that holds other people's work for tests to do.
pub(crate) fn work_dir() -> PathBuf {
    let named = std::env::var_os("ENDOW_TEST_WORK").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from("/var/tmp/endow-work"))
}

/// Names the commit that is checked out, and whether there is more than it; `written` may differ.
pub(crate) fn commit(written: &str) -> Result<String> {
    let name = git(&["rev-parse", "--short=10", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--", ".", &format!(":!{written}")])?;
    Ok(format!("{name}{}", if changed.is_empty() { "" } else { "-dirty" }))
}

fn git(arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    let output = git.args(arguments).current_dir(root()).output().context("git does not start")?;
    ensure!(output.status.success(), "git can't name the commit");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Whether this process is root.
pub(crate) fn is_root() -> Result<bool> {
    let own = std::fs::metadata("/proc/self").context("no /proc")?;
    Ok(own.uid() == 0)
}

/// Runs a command to its end with inherited output; an exit other than 0 is an error.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("{name} does not start"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}
