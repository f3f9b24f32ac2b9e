//! Names that a file system with case folding takes for others.
//!
//! ext4, f2fs and tmpfs compare names of a directory with `+F` by Unicode: full case folding, canonical
//! decomposition, code points that are ignored by default left out (`utf8data` of the kernel). What
//! patterns and known names are made of is ASCII, so only what becomes ASCII counts here. Names without such
//! a character are told apart by their bytes and the case of their letters, as ever.

use std::borrow::Cow;

/// What is no letter of ASCII and becomes ASCII.
const LETTERS: &[(char, &str)] = &[
    ('\u{df}', "ss"),
    ('\u{17f}', "s"),
    ('\u{37e}', ";"),
    ('\u{1e9e}', "ss"),
    ('\u{1fef}', "`"),
    ('\u{212a}', "k"),
    ('\u{fb00}', "ff"),
    ('\u{fb01}', "fi"),
    ('\u{fb02}', "fl"),
    ('\u{fb03}', "ffi"),
    ('\u{fb04}', "ffl"),
    ('\u{fb05}', "st"),
    ('\u{fb06}', "st"),
];

/// What counts as not there (`Default_Ignorable_Code_Point`).
const IGNORED: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Returns whether a name is a known one of ASCII, or may be taken for it: letters in either case, and
/// what a file system folds to these.
#[must_use]
pub fn is_name(name: &[u8], known: &str) -> bool {
    folded(name).eq_ignore_ascii_case(known.as_bytes())
}

/// Returns a name, or a path, as a folding file system may take it; the case of letters stays. What
/// is no UTF-8 is not folded, by the kernel neither.
pub(super) fn folded(name: &[u8]) -> Cow<'_, [u8]> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let Ok(text) = std::str::from_utf8(name) else { return Cow::Borrowed(name) };
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars().filter(|letter| !is_ignored(*letter)) {
        match LETTERS.iter().find(|(known, _)| *known == letter) {
            Some((_, ascii)) => folded.push_str(ascii),
            None => folded.push(letter),
        }
    }
    Cow::Owned(folded.into_bytes())
}

fn is_ignored(letter: char) -> bool {
    IGNORED.iter().any(|(first, last)| (*first..=*last).contains(&letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_folding_directory_are_known() {
        for (name, known) in [
            (".git", ".git"),
            (".GIT", ".git"),
            (".g\u{200c}it", ".git"),
            (".git\u{feff}", ".git"),
            ("hoo\u{212a}s", "hooks"),
            ("HOO\u{212a}\u{17f}", "hooks"),
            ("con\u{fb01}g", "config"),
            ("con\u{fb01}g.wor\u{212a}tree", "config.worktree"),
            ("a\u{df}et\u{17f}", "assets"),
        ] {
            assert!(is_name(name.as_bytes(), known), "{name:?}");
        }
        for name in [".g\u{131}t", "\u{ff0e}git", ".gi\u{301}t", "git", ".git2"] {
            assert!(!is_name(name.as_bytes(), ".git"), "{name:?}");
        }
        let bytes = b".g\xe2\x80it";
        assert!(!is_name(bytes, ".git"), "no UTF-8");
    }
}
