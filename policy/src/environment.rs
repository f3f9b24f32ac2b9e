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

/// Returns whether a rule of `drop` takes a variable: secrets go by names in either case (`npm_config__authToken`),
/// and so do patterns. A whole name is that one.
pub fn name_is_dropped(rule: &str, name: &str) -> bool {
    let (is_pattern, name) = (rule.contains(['*', '?']), name.as_bytes());
    if is_pattern {
        crate::pattern::matches_word_in_any_case(rule.as_bytes(), name)
    } else {
        rule.as_bytes() == name
    }
}

/// Returns whether a variable's name matches a pattern of `pass` (`*` and `?`).
pub fn name_matches(pattern: &str, name: &str) -> bool {
    crate::pattern::matches_word(pattern.as_bytes(), name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_drop_names_in_either_case_and_names_themselves() {
        for (rule, name, is_dropped) in [
            ("*TOKEN*", "npm_config__authToken", true),
            ("*TOKEN*", "GITHUB_TOKEN", true),
            ("*_Auth", "npm_config__AUTH", true),
            ("GIT_?", "git_x", true),
            ("*TOKEN*", "TOKE", false),
            ("TMUX", "TMUX", true),
            ("TMUX", "tmux", false),
        ] {
            assert_eq!(name_is_dropped(rule, name), is_dropped, "{rule} {name}");
        }
    }
}
