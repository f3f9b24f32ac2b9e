//! `cargo ci check`: what has to hold before a commit, besides the tests.

use std::process::{Command, ExitCode, Stdio};

use anyhow::Result;

use crate::{tidy, workspace};

/// Runs every check and reports all that failed, not just the first.
pub(crate) fn run() -> Result<ExitCode> {
    let mut failed = Vec::new();
    for (name, mut command) in commands() {
        println!("== {name}");
        if !command.status()?.success() {
            failed.push(name);
        }
    }
    println!("== tidy");
    if tidy::run()? != ExitCode::SUCCESS {
        failed.push("tidy");
    }
    if failed.is_empty() {
        println!("\nall checks hold");
        return Ok(ExitCode::SUCCESS);
    }
    println!("\nfailed: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

fn commands() -> [(&'static str, Command); 4] {
    let mut fmt = workspace::cargo();
    fmt.args(["fmt", "--all", "--check"]);
    let mut clippy = workspace::cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--all-features", "--locked"]);
    clippy.args(["--", "-D", "warnings"]);
    let mut doc = workspace::cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--all-features", "--locked"]);
    doc.args(["--document-private-items"]);
    // With the features that clippy took, as for the programs in `test/build.rs`: else dependencies are checked again.
    // Of programs only the one that has no library: the others' pages would take the place of their libraries'.
    doc.args(["--lib", "--bin=endow-ci", "--examples"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    // A dependency of the workspace is one of the fuzz targets too, whose lock is their own.
    let mut lock = workspace::cargo();
    lock.args(["metadata", "--format-version=1", "--locked"]).stdout(Stdio::null());
    lock.args(["--manifest-path", "tests/fuzz/Cargo.toml"]);
    [("fmt", fmt), ("clippy", clippy), ("doc", doc), ("lock of tests/fuzz", lock)]
}
