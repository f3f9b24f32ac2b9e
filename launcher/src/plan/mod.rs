//! Deciding everything: pure data and pure functions.

pub mod seccomp;
