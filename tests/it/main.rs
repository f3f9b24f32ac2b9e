//! End-to-end tests of the built program. One file a subject; each is declared here.

mod escape;
mod harness;
#[cfg(feature = "test-switches")]
mod layers;
mod run_basic;
