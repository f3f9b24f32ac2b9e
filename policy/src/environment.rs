//! Which environment variables the command receives.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::Serialize;

use crate::Origin;

/// The rules of `interface.md` section 2, strongest first: `set`, exact names in `pass`,
/// `drop`, patterns in `pass`, then the base list (which is part of `pass`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EnvironmentRules {
    /// Variables given with their value.
    #[serde(skip)]
    pub set: BTreeMap<OsString, (OsString, Origin)>,
    /// Names that pass, exactly spelled: also secret-looking ones.
    pub pass_exact: Vec<(String, Origin)>,
    /// Patterns of names that pass unless dropped (`*` and `?`).
    pub pass_pattern: Vec<(String, Origin)>,
    /// Patterns of names that never pass by pattern.
    pub drop: Vec<(String, Origin)>,
    /// Everything passes but what `drop` names (`--env-all`).
    pub pass_all: bool,
    /// Everything passes, and nothing is added: for command lines of other sandboxes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_all: bool,
}

/// Returns whether a variable's name matches a pattern of `pass` or `drop` (`*` and `?`).
pub fn name_matches(pattern: &str, name: &str) -> bool {
    crate::pattern::matches_word(pattern.as_bytes(), name.as_bytes())
}
