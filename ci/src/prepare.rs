//! `cargo ci prepare`: what `cargo ci test` needs, fetched and built at the same time.

use std::process::ExitCode;

use anyhow::{Result, anyhow};

use crate::arch::Arch;
use crate::provision;
use crate::test::{Build, Place};

/// Provisions, as `cargo ci provision` with the same words, and builds the tests meanwhile: one waits for the network,
/// the other for processors.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    provision::check(args)?;
    // It makes the user that both need, too.
    let place = Place::new()?;
    std::thread::scope(|scope| {
        let building = scope.spawn(|| Build::of(&place, Arch::HERE).map(drop));
        let provisioned = provision::run(args);
        if let Err(error) = &provisioned {
            eprintln!("ci: {error:#}");
        }
        building.join().map_err(|_| anyhow!("the build ended by a panic"))??;
        provisioned
    })
}
