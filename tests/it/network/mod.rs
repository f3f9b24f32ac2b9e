//! The network of a sandbox, in a world that has servers and names of its own.

mod clients;
mod endings;
mod escape;
mod names;
mod nearby;
mod proxy;
mod published;
mod registries;
mod rules;
mod secrets;
mod streams;
mod told;
pub(crate) mod world;

/// What a test gives to `--net`: everything, which is its control, and only what it needs.
fn modes(rule: &str) -> [&str; 2] {
    ["host", rule]
}
