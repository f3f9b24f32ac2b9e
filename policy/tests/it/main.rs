//! Tests of the policy crate through its public interface.

mod bad_files;
mod flags;
mod harness;
mod layers;
mod parse;
mod resolve;
#[cfg(feature = "schema")]
mod schema;
mod timing;
mod trust;
