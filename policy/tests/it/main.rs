//! Tests of the policy crate through its public interface.

mod harness;
mod resolve;
mod timing;
