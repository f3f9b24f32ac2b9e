//! Switches that take one layer away from a plan, so that a test can show what the others hold
//! alone. They exist only in builds with the feature `test-switches`, which release builds refuse.

#[cfg(feature = "test-switches")]
mod layer;
#[cfg(feature = "test-switches")]
mod remove;

#[cfg(feature = "test-switches")]
pub use layer::Layer;
#[cfg(feature = "test-switches")]
pub use remove::remove;

/// Returns whether this build has the switches: no such build protects anybody.
pub const fn active() -> bool {
    cfg!(feature = "test-switches")
}
