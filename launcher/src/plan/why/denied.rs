//! Flags about patterns, as a shell takes them: the words are those of a project's file, or names of its
//! files.

use std::path::Path;

use super::tell::shell_word;

/// Returns the flag that shows again what a pattern hides.
pub fn undeny(pattern: &str) -> String {
    format!("--deny {}", shell_word(&format!("!{pattern}")))
}

/// Returns the flag that hides one path below a mount, and no other; `None` for one that no pattern spells.
pub(super) fn deny(below: &Path) -> Option<String> {
    let mut pattern = String::from("/");
    for letter in below.to_str()?.chars() {
        if "*?[]{},\\".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    Some(format!("--deny {}", shell_word(&pattern)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use endow_policy::{Origin, PatternRule, PatternSet};

    use super::*;

    #[test]
    fn patterns_of_strangers_stay_one_word() {
        assert_eq!(undeny(".env"), "--deny '!.env'");
        let hostile = "{a,x'; touch pwned; echo '}";
        assert_eq!(undeny(hostile), r"--deny '!{a,x'\''; touch pwned; echo '\''}'");
    }

    #[test]
    fn names_are_denied_by_themselves() {
        for (name, expected) in [
            ("vendor/.env", "--deny /vendor/.env"),
            ("!x", "--deny '/!x'"),
            ("a*b", r"--deny '/a\*b'"),
            ("it's", r"--deny '/it'\''s'"),
        ] {
            assert_eq!(deny(Path::new(name)).as_deref(), Some(expected));
        }
        assert_eq!(deny(Path::new(OsStr::from_bytes(b"\xff"))), None);
    }

    #[test]
    fn name_is_the_one_that_its_pattern_hides() {
        for name in ["a*b", "[x]", "{a,b}", "a\\b", "?", "**", "x,y", "]", "!a"] {
            let flag = deny(Path::new(name)).expect("UTF-8");
            let word = flag.strip_prefix("--deny ").expect("the flag");
            let pattern = word.trim_matches('\'').to_owned();
            let set = PatternSet::new(&[PatternRule { pattern, origin: Origin::Default }]);
            let set = set.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(set.hides(Path::new(name)), "{name}");
            assert!(!set.hides(Path::new("axb")) && !set.hides(Path::new("a")), "{name}");
        }
    }
}
