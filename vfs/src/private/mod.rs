//! Private directories: what is copied into them before the start.

mod seed;
mod seeded;

pub use seed::seed;
pub use seeded::{Seed, SeedError, SeedLimits, Seeded, SkipReason, Skipped};
