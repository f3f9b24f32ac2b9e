//! What a filter's tree ends in.

use std::fmt;

use serde::{Serialize, Serializer};

use super::action::Action;
use super::check::Check;

/// What a filter does once it knows the call's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Leaf {
    /// One action, whatever the arguments.
    Do(Action),
    /// By the arguments.
    Check(Check),
    /// By the arguments, and the supervisor gives the error.
    Announced(Check),
}

impl Leaf {
    /// Lets the call through whatever its arguments.
    pub const ALLOW: Self = Self::Do(Action::Allow);

    /// Decides about a call with these arguments.
    pub fn decide(self, args: [u64; 6]) -> Action {
        match self {
            Self::Do(action) => action,
            Self::Check(check) => check.decision().decide(args),
            Self::Announced(check) => check.decision().decide(args).announced(),
        }
    }

    /// Returns the same with the supervisor giving the errors.
    pub(super) fn announced(self) -> Self {
        match self {
            Self::Do(action) => Self::Do(action.announced()),
            Self::Check(check) | Self::Announced(check) => Self::Announced(check),
        }
    }

    /// Returns whether the supervisor sees any of the calls.
    pub(super) fn notifies(self) -> bool {
        match self {
            Self::Do(action) => action == Action::Notify,
            Self::Check(check) => check.decision().notifies(),
            Self::Announced(_) => true,
        }
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Do(action) => action.fmt(f),
            Self::Check(check) | Self::Announced(check) => f.write_str(check.summary()),
        }
    }
}

impl Serialize for Leaf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
