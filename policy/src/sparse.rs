//! Which paths of a git tree are shown: the patterns of git's sparse-checkout, not in its cone mode
//! (git-sparse-checkout(1)). How they match is the business of who reads the tree.

/// The most patterns of one mount.
const MOST: usize = 256;
/// The longest pattern in bytes.
const LONGEST: usize = 1024;

/// Why patterns can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SparseFault {
    /// It names nothing.
    #[error("the pattern names nothing")]
    Empty,
    /// A file of patterns would take it for a comment.
    #[error("the pattern is a comment")]
    Comment,
    /// It has an end of a line or a NUL.
    #[error("control byte in a pattern")]
    Control,
    /// A file of patterns would drop the space.
    #[error("the pattern ends in a space")]
    Space,
    /// It is too long.
    #[error("the pattern has more than {LONGEST} bytes")]
    Long,
    /// There are too many.
    #[error("more than {MOST} patterns")]
    Many,
    /// Every pattern takes paths out.
    #[error("no pattern selects a path")]
    Nothing,
}

impl SparseFault {
    /// Says what to write instead.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::Empty => "`/*` selects everything, `!NAME` takes a name out",
            Self::Comment => "write `\\#` for a name that begins so",
            Self::Control => "one pattern is one line",
            Self::Space => "write `\\ ` where the name ends so",
            Self::Long | Self::Many => "write shorter or fewer ones: `src/` covers all below it",
            Self::Nothing => "put `/*` first, or leave `sparse` out to show everything",
        }
    }
}

/// Checks one pattern: it must mean the same as one line of git's file.
pub(crate) fn check_pattern(text: &str) -> Result<(), SparseFault> {
    let plain = text.strip_prefix('!').unwrap_or(text);
    if plain.is_empty() || plain == "/" {
        return Err(SparseFault::Empty);
    }
    if text.starts_with('#') {
        return Err(SparseFault::Comment);
    }
    if text.contains(['\n', '\r', '\0']) {
        return Err(SparseFault::Control);
    }
    if text.len() > LONGEST {
        return Err(SparseFault::Long);
    }
    if ends_in_space(text) { Err(SparseFault::Space) } else { Ok(()) }
}

/// Checks all of them together.
pub(crate) fn check_patterns(patterns: &[String]) -> Result<(), SparseFault> {
    if patterns.len() > MOST {
        return Err(SparseFault::Many);
    }
    let selects = |pattern: &String| !pattern.starts_with('!');
    if patterns.iter().any(selects) { Ok(()) } else { Err(SparseFault::Nothing) }
}

/// A backslash keeps the space, unless it is one that another backslash keeps.
fn ends_in_space(text: &str) -> bool {
    let Some(before) = text.strip_suffix(' ') else { return false };
    let backslashes = before.bytes().rev().take_while(|byte| *byte == b'\\').count();
    backslashes % 2 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_the_same_as_lines_of_a_file() {
        for good in ["/*", "src/", "!src/gen/", "\\#a", "a b", "a\\ ", "\\!a", "**/x", "[a]"] {
            assert_eq!(check_pattern(good), Ok(()), "{good}");
        }
        let long = "x".repeat(LONGEST + 1);
        for (bad, fault) in [
            ("", SparseFault::Empty),
            ("!", SparseFault::Empty),
            ("!/", SparseFault::Empty),
            ("/", SparseFault::Empty),
            ("# a", SparseFault::Comment),
            ("a\nb", SparseFault::Control),
            ("a\r", SparseFault::Control),
            ("a\0", SparseFault::Control),
            ("a ", SparseFault::Space),
            ("a\\\\ ", SparseFault::Space),
            (&long, SparseFault::Long),
        ] {
            assert_eq!(check_pattern(bad), Err(fault), "{bad:?}");
        }
    }

    #[test]
    fn lists_select_something_and_have_an_end() {
        let list = |text: &str, count| vec![text.to_owned(); count];
        assert_eq!(check_patterns(&list("a", MOST)), Ok(()));
        assert_eq!(check_patterns(&list("a", MOST + 1)), Err(SparseFault::Many));
        assert_eq!(check_patterns(&list("!a", 1)), Err(SparseFault::Nothing));
        assert_eq!(check_patterns(&[]), Err(SparseFault::Nothing));
    }
}
