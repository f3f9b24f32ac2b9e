//! The project's tasks: `cargo ci <task>`.
//!
//! Every check that guards the repository is a task here, so that a developer, a fresh machine
//! and the continuous integration run the very same thing.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tasks talk to a terminal")]

mod arch;
mod bench;
mod check;
mod fuzz;
mod kernels;
mod mutations;
mod package;
mod prepare;
mod provision;
mod sanitize;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match args.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("", &[][..]),
    };
    let result = match task {
        "test" => test::run(rest),
        "check" => check::run(),
        "provision" => provision::run(rest),
        "prepare" => prepare::run(rest),
        "tidy" => tidy::run(),
        "bench" => bench::run(rest),
        "kernels" => kernels::run(rest),
        "mutations" => mutations::run(rest),
        "package" => package::run(rest),
        "sanitize" => sanitize::run(rest),
        "fuzz" => fuzz::run(rest),
        // The other end of what `bench network` measures, started by it.
        "peer" => bench::peer::run(rest).map(|()| ExitCode::SUCCESS),
        "help" | "--help" | "-h" => {
            println!("{}", usage());
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{}", usage());
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("ci: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns what `cargo ci` can be told to do.
fn usage() -> String {
    let benchmarks = bench::ALL.join(" ");
    format!(
        "\
usage: cargo ci <task>

  test [FILTER...] [-- TEST-OPTION...]   build and run every test, as an ordinary user and as root
  provision [kernels] [aarch64]          fetch other people's work that tests do (network)
  prepare [kernels] [aarch64]            the same, and build the tests meanwhile
  check                                  formatting, lints, documentation, tidy
  tidy                                   the project's own rules about its text
  bench [WHAT...] [--rounds N] [--peer NAME] [--core LIST] [--json]
                                         what a sandbox costs, beside the floor and bubblewrap: all, or of
        {benchmarks}
  kernels [6.1] [6.12] [6.12-aarch64] [running] [--smoke|--reduced|--whole] [--write] [-- FILTER...]
                                         run the tests on kernels of Debian, in qemu, and on this one
  mutations [LAYER...] [--write]         run the attacks without each layer: which tests notice
  package                                build the release and make a Debian package of it
  sanitize [FILTER...]                   run the unit tests with AddressSanitizer
  fuzz [TARGET] [--seconds N] [--keep]   hostile input for what reads it; --keep adds to the corpus"
    )
}
