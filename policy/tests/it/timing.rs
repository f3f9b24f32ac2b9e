//! What a launch pays for its policy.

use std::time::Duration;

use endow_policy::{Flags, PatternSet, Sources, builtin, compose, resolve};

use crate::harness::vars;

/// Returns the median time of many calls.
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement needs the clock"
)]
fn median(mut call: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..300)
        .map(|_| {
            let start = std::time::Instant::now();
            call();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[150]
}

/// Prints the times; they are worth something with
/// `cargo test --release -p endow-policy -- --nocapture timing`.
#[test]
fn timing_of_a_launch() {
    let flags = Flags { ro: vec!["/data".into()], ..Flags::default() };
    let sources = Sources { flags: Some(flags.layer().expect("good")), ..Sources::default() };
    let composed = compose(&sources, &vars()).expect("composes");
    let policy = resolve(&composed, &vars()).expect("resolves");
    println!("base {:?}", median(|| drop(builtin::base())));
    println!("compose with base {:?}", median(|| drop(compose(&sources, &vars()))));
    println!("resolve {:?}", median(|| drop(resolve(&composed, &vars()))));
    println!("compile deny {:?}", median(|| drop(PatternSet::new(&policy.deny))));
    println!("compile protect {:?}", median(|| drop(PatternSet::new(&policy.protect))));
}
