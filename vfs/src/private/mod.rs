//! Private directories: what is copied into them before the start.

mod seed;

pub use seed::{Seed, SeedError, SeedLimits, Seeded, SkipReason, Skipped, seed};
