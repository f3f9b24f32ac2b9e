//! What a launch pays for its policy.

use crate::harness::{policy, vars};
use endow_policy::{Flags, Sources};

/// Prints the time of parse + compose + resolve; run with `--release -- --nocapture timing`.
#[test]
#[allow(clippy::disallowed_methods, reason = "a measurement needs the clock")]
fn timing_of_a_launch() {
    let flags = Flags { ro: vec!["/data".into()], ..Flags::default() };
    let sources = Sources { flags: Some(flags.layer().expect("good")), ..Sources::default() };
    let mut times = Vec::new();
    for _ in 0..500 {
        let start = std::time::Instant::now();
        let resolved = policy(&sources, &vars()).expect("resolves");
        times.push(start.elapsed());
        assert!(resolved.mounts.len() > 60);
    }
    times.sort();
    println!("first {:?} median {:?} p90 {:?}", times[0], times[250], times[450]);
}
