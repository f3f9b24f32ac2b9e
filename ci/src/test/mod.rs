//! `cargo ci test`: every test, built once and run as each kind of user.
//!
//! A sandbox for ordinary users has to be tested by one. Run by an ordinary user, this task
//! builds and runs in place. Run by root, it copies the sources to a place that everybody can
//! read, builds there (so that paths compiled into the tests can be read too), runs everything
//! as the user `endow-test`, and the end-to-end tests once more as root.

mod build;
mod place;
mod run;
mod summary;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;

pub(crate) use self::build::{Build, TestBinary};
pub(crate) use self::place::{Place, USER, test_user};
pub(crate) use self::summary::Counts;

use self::run::{Batch, Identity, Runner};
use crate::workspace;

/// The tests of the program.
pub(crate) const END_TO_END: &str = "launcher/it";

/// Builds and runs the tests; the last line on stdout sums up.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let pass_on: Vec<String> = args.iter().filter(|arg| *arg != "--").cloned().collect();
    let place = Place::new()?;
    let builds = Builds::of(&place)?;
    let counts = run_all(&place, &builds, &pass_on)?;
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

/// Both builds of everything.
pub(crate) struct Builds {
    /// As released, but for the schema of policies, which only tests ask for.
    pub(crate) plain: Build,
    /// With all features.
    pub(crate) featured: Build,
    /// The tests that only the second has, by its executables.
    pub(crate) only_featured: Vec<BTreeSet<String>>,
}

impl Build {
    /// Builds with all features.
    pub(crate) fn featured(place: &Place) -> Result<Self> {
        build::build(place, "all-features", &["--all-features"])
    }
}

impl Builds {
    /// Builds twice.
    pub(crate) fn of(place: &Place) -> Result<Self> {
        // What both have in common is built once.
        let plain = build::build(place, "plain", &["--features", "endow-policy/schema"])?;
        let featured = Build::featured(place)?;
        let only_featured = new_tests(place, &plain, &featured)?;
        Ok(Self { plain, featured, only_featured })
    }
}

/// Runs both builds as everybody whom tests run as.
pub(crate) fn run_all(place: &Place, builds: &Builds, pass_on: &[String]) -> Result<Counts> {
    let mut counts = Counts::default();
    for identity in place.identities() {
        let runner = Runner { place, identity, pass_on, without: None };
        counts += run_plain(&runner, &builds.plain)?;
        counts += run_featured(&runner, &builds.featured, &builds.only_featured)?;
    }
    Ok(counts)
}

/// Runs end-to-end tests of the build with all features, without one layer: as the first of those whom
/// tests run as, and as the next where nobody failed.
pub(crate) fn run_without(
    place: &Place,
    build: &Build,
    (layer, pass_on): (Option<&str>, &[String]),
) -> Result<Counts> {
    let tests: Vec<_> = build.tests.iter().filter(|test| test.label == END_TO_END).collect();
    let mut counts = Counts::default();
    for identity in place.identities() {
        let runner = Runner { place, identity, pass_on, without: layer };
        for test in &tests {
            counts += runner.run(test, &build.endow, Batch::All)?;
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

/// The tests that exist only in the build with every feature, by executable.
fn new_tests(place: &Place, plain: &Build, featured: &Build) -> Result<Vec<BTreeSet<String>>> {
    let mut known = BTreeSet::new();
    for test in &plain.tests {
        for name in run::list(place, test)? {
            known.insert((test.label.clone(), name));
        }
    }
    let is_new =
        |test: &TestBinary, name: &String| !known.contains(&(test.label.clone(), name.clone()));
    let new_of = |test: &TestBinary| -> Result<BTreeSet<String>> {
        Ok(run::list(place, test)?.into_iter().filter(|name| is_new(test, name)).collect())
    };
    featured.tests.iter().map(new_of).collect()
}

fn run_plain(runner: &Runner<'_>, build: &Build) -> Result<Counts> {
    let mut counts = Counts::default();
    for test in build.tests.iter().filter(|test| runner.identity.runs(test)) {
        counts += runner.run_all(test, &build.endow)?;
    }
    Ok(counts)
}

fn run_featured(runner: &Runner<'_>, build: &Build, new: &[BTreeSet<String>]) -> Result<Counts> {
    let mut counts = Counts::default();
    for (test, names) in build.tests.iter().zip(new) {
        let wanted: Vec<&String> = names.iter().filter(|name| runner.wants(name)).collect();
        if runner.identity.runs(test) && !wanted.is_empty() {
            counts += runner.run(test, &build.endow, Batch::Featured(&wanted))?;
        }
    }
    Ok(counts)
}

impl Identity {
    /// Root runs only what starts sandboxes: unit tests do not depend on who runs them.
    fn runs(&self, test: &TestBinary) -> bool {
        !matches!(self, Self::Root) || test.end_to_end
    }
}
