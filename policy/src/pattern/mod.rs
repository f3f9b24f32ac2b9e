//! Patterns of paths, matched from the root of a mount. One that may match at any depth also counts the
//! names of the directories above that root.
//!
//! `*` `?` `[..]` match within one name (leading dots included), `**` is a whole segment,
//! `{a,b}` is a choice, a pattern without `/` matches at any depth, `x/**` covers `x` itself
//! and a leading `!` re-admits: the last pattern that matches decides. What lies below a hidden
//! directory is hidden, whatever other patterns say. Letters match in either case (ASCII), so
//! that `.ENV` on a case-insensitive file system is not a way around `.env`; nor is a name that
//! such a file system folds to one that a pattern hides.

mod below;
mod compile;
mod fold;
mod last;
mod load;
mod misplaced;
mod name;
mod protect;
mod set;
mod some;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::Origin;

pub(crate) use compile::{check, expand, matches_anywhere, matches_name};
pub use fold::is_name;
pub(crate) use load::{FEWER, Load, Reach};
pub(crate) use misplaced::{Misplaced, misplaced};
pub(crate) use name::{matches_word, matches_word_in_any_case};
pub use protect::ProtectSet;
pub use set::{Decision, PatternSet};

/// One pattern as written, with its origin. A leading `!` re-admits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatternRule {
    /// The text as written.
    pub pattern: String,
    /// Who wrote it.
    pub origin: Origin,
}

/// Why a pattern can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternFault {
    /// Nothing is left of the pattern.
    #[error("pattern is empty")]
    Empty,
    /// `[` has no `]`.
    #[error("pattern has `[` without `]`")]
    OpenClass,
    /// `[` stands for a class of POSIX, which the first `]` would end.
    #[error("a class such as `[:alpha:]` has no meaning here: write its letters, as in `[a-z]`")]
    NamedClass,
    /// A range such as `[z-a]` contains nothing.
    #[error("pattern has a range from high to low")]
    EmptyRange,
    /// `{` has no `}`.
    #[error("pattern has `{{` without `}}`")]
    OpenChoice,
    /// The pattern is longer than any path that is handed to the kernel.
    #[error("pattern has more than 4096 bytes")]
    TooLong,
    /// The choices multiply to more than a thousand patterns.
    #[error("pattern has too many choices")]
    TooManyChoices,
    /// All patterns together stand for more than twenty thousand, or a mebibyte, without choices.
    #[error("patterns up to this one stand for more than 20000, or 1 MiB, in all")]
    TooManyInAll,
    /// `**` stands beside other characters of a name.
    #[error("pattern has `**` that is not a whole name")]
    PartialDoubleStar,
    /// The pattern has a name `.` or `..`, or an empty one.
    #[error("pattern has an empty name, `.` or `..`")]
    DotName,
    /// The pattern ends in `/`.
    #[error("pattern ends in `/`")]
    TrailingSlash,
    /// The pattern ends in a backslash, which escapes nothing.
    #[error("pattern ends in a backslash")]
    OpenEscape,
    /// The pattern has a NUL byte, which no name has.
    #[error("pattern contains a NUL byte")]
    Nul,
}

/// A pattern that can't be used, with its origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {fault}: {pattern}")]
pub struct PatternError {
    /// The text as written.
    pub pattern: String,
    /// Who wrote it.
    pub origin: Origin,
    /// What is wrong with it.
    pub fault: PatternFault,
}
