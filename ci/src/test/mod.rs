//! `cargo ci test`: every test, built once and run as each kind of user.
//!
//! A sandbox for ordinary users has to be tested by one. Run by an ordinary user, this task
//! builds and runs in place. Run by root, it copies the sources to a place that everybody can
//! read, builds there (so that paths compiled into the tests can be read too), runs everything
//! as the user `endow-test`, and the end-to-end tests once more as root.

mod build;
mod filters;
mod place;
mod run;
mod summary;

use std::process::ExitCode;

use anyhow::Result;

pub(crate) use self::build::{Build, LAYERS, TestBinary};
pub(crate) use self::filters::{Filters, has};
pub(crate) use self::place::{Place, USER, test_user};
pub(crate) use self::summary::Counts;

use self::run::{Identity, Runner};
use crate::arch::Arch;
use crate::workspace;

/// The tests of the program.
pub(crate) const END_TO_END: &str = "launcher/it";

/// Builds and runs the tests; the last line on stdout sums up.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let filters = Filters::of(args);
    let place = Place::new()?;
    let build = Build::of(&place, Arch::HERE)?;
    let counts = run_all(&place, &build, &filters)?;
    if !workspace::is_root()? {
        println!("\nnot run: the end-to-end tests as root (run this as root to add them)");
    }
    println!("\n{}{counts}", counts.said());
    let complete = counts.skipped == counts.elsewhere || !everything_required();
    if !complete {
        println!("ENDOW_TEST_REQUIRE=all: a skipped test is a failure");
    }
    Ok(if counts.failed == 0 && complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs everything as everybody whom tests run as.
pub(crate) fn run_all(place: &Place, build: &Build, filters: &Filters) -> Result<Counts> {
    let mut counts = Counts::default();
    for identity in place.identities() {
        let runner = Runner { place, identity, filters, without: None };
        for test in build.tests.iter().filter(|test| identity.runs(test)) {
            counts += runner.run_all(test, build)?;
        }
    }
    Ok(counts)
}

/// Runs end-to-end tests with the switches, without one layer: as the first of those whom
/// tests run as, and as the next where nobody failed.
pub(crate) fn run_without(
    place: &Place,
    build: &Build,
    (layer, filters): (Option<&str>, &Filters),
) -> Result<Counts> {
    let tests: Vec<_> = build.tests.iter().filter(|test| test.label == END_TO_END).collect();
    let mut counts = Counts::default();
    for identity in place.identities() {
        let runner = Runner { place, identity, filters, without: layer };
        for test in &tests {
            counts += runner.run_together(test, &build.switched)?;
        }
        if counts.failed > 0 {
            break;
        }
    }
    Ok(counts)
}

fn everything_required() -> bool {
    std::env::var_os("ENDOW_TEST_REQUIRE").is_some_and(|value| value == "all")
}

impl Identity {
    /// Root runs only what starts sandboxes: unit tests do not depend on who runs them.
    fn runs(&self, test: &TestBinary) -> bool {
        !matches!(self, Self::Root) || test.end_to_end
    }
}
