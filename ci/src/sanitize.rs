//! `cargo ci sanitize`: the unit tests with AddressSanitizer, which sees a use of memory that is not
//! its owner's in endow's unsafe code, and in that of its dependencies.

use std::process::ExitCode;

use anyhow::Result;

use crate::workspace;

/// The option is not stable. The executables can't be static: the sanitizer stands before the C library.
const FLAGS: &str = "-Zsanitizer=address";

/// Tests that can't be run so: each bounds its memory, and the sanitizer needs terabytes of addresses.
const BOUNDED: [&str; 2] = ["confined::tests::", "names_are_not_held_in_memory"];

/// Builds and runs; the first finding ends a test executable.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--workspace", "--lib", "--locked", "--no-fail-fast"]);
    cargo.args(["--target", "host-tuple", "--target-dir"]);
    cargo.arg(workspace::target_dir()?.join("sanitize"));
    // The pinned compiler is stable; nothing that is shipped is built so.
    cargo.env("RUSTFLAGS", FLAGS).env("RUSTC_BOOTSTRAP", "1");
    cargo.arg("--").args(args.iter().filter(|arg| *arg != "--"));
    cargo.args(BOUNDED.iter().flat_map(|name| ["--skip", name]));
    let succeeds = cargo.status()?.success();
    Ok(if succeeds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
