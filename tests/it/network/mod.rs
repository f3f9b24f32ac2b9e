//! The network of a sandbox, in a world that has servers and names of its own.

mod clients;
mod escape;
mod streams;
mod world;

/// How many of the modes there are so far.
const MODES: usize = 1;

/// What a test gives to `--net`: everything, which is its control, and only what it needs.
fn modes(rule: &str) -> impl Iterator<Item = &str> {
    ["host", rule].into_iter().take(MODES)
}
