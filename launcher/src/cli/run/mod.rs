//! One run: what it begins with, its sandbox from start to end, how it ended, and what the state remembers of it.

pub(crate) mod bridges;
pub(crate) mod denial;
pub(crate) mod descriptors;
pub(crate) mod earlier;
pub(crate) mod failure_hints;
pub(crate) mod guard;
pub(crate) mod names;
pub(crate) mod not_done;
pub(crate) mod not_found;
pub(crate) mod opening;
pub(crate) mod outcome;
pub(crate) mod record;
pub(crate) mod sandbox;
mod services;
pub(crate) mod told;
pub(crate) mod unseen_git;
