//! Text that goes to the clipboard or into a notification.

use endow_policy::is_invisible;

/// The most bytes that the clipboard is given.
const COPIED_MAX: usize = 100 << 10;
/// The most characters of a notification's title.
const TITLE_MAX: usize = 100;
/// The most characters of its text.
const BODY_MAX: usize = 1000;

/// Why text is not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CopyFault {
    /// There is none: an empty clipboard would be a loss.
    #[error("there is no text")]
    Empty,
    /// There is too much.
    #[error("the text has more than {COPIED_MAX} bytes")]
    TooLong,
    /// A terminal into which it is pasted would obey it.
    #[error("the text has control characters")]
    Control,
}

/// Checks text for the clipboard: lines and tabs, and nothing else that is not a character. An escape
/// could end the brackets of a paste.
pub(crate) fn check_copied(text: &str) -> Result<(), CopyFault> {
    match text {
        "" => Err(CopyFault::Empty),
        long if long.len() > COPIED_MAX => Err(CopyFault::TooLong),
        text if text.chars().any(|it| it.is_control() && !"\n\r\t".contains(it)) => {
            Err(CopyFault::Control)
        }
        _ => Ok(()),
    }
}

/// Returns a title as it is shown: one line that begins with where it comes from.
pub(crate) fn title(text: &str) -> String {
    let text = text.replace(['\n', '\t'], " ");
    format!("sandbox: {}", shown(&text, TITLE_MAX))
}

/// Returns the text of a notification as it is shown.
pub(crate) fn body(text: &str) -> String {
    shown(text, BODY_MAX)
}

/// Text without control characters, without what turns the direction of writing or isn't seen, and
/// without markup: `<b>` and `&amp;` become characters that look alike and mean nothing.
fn shown(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().filter(|it| is_seen(*it)).take(most).map(plain).collect();
    if text.chars().filter(|it| is_seen(*it)).nth(most).is_some() {
        shown.push('…');
    }
    shown
}

fn plain(character: char) -> char {
    match character {
        '<' => '‹',
        '>' => '›',
        '&' => '＆',
        '\\' => '＼',
        other => other,
    }
}

fn is_seen(character: char) -> bool {
    character == '\n' || !is_invisible(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn copied_text_has_no_controls() {
        assert_eq!(check_copied("a\tb\r\nü🙂"), Ok(()));
        assert_eq!(check_copied(""), Err(CopyFault::Empty));
        assert_eq!(check_copied("a\u{1b}[201~rm"), Err(CopyFault::Control));
        assert_eq!(check_copied("a\0"), Err(CopyFault::Control));
        assert_eq!(check_copied("a\u{9b}201~"), Err(CopyFault::Control));
        assert_eq!(check_copied(&"x".repeat(COPIED_MAX)), Ok(()));
        assert_eq!(check_copied(&"x".repeat(COPIED_MAX + 1)), Err(CopyFault::TooLong));
    }

    #[test]
    fn notifications_are_text() {
        assert_eq!(title("a\nb"), "sandbox: a b");
        assert_eq!(body("<a href='x'>&lt;\u{1b}[0m\\n\u{202e}"), "‹a href='x'›＆lt;[0m＼n");
        assert_eq!(body(&"ä".repeat(BODY_MAX + 1)).chars().count(), BODY_MAX + 1);
    }

    proptest! {
        #[test]
        fn nothing_shown_is_markup(text in "(?s).{0,200}") {
            for shown in [title(&text), body(&text)] {
                let has_meaning = |it: char| it.is_control() && it != '\n' || "<>&\\".contains(it);
                prop_assert!(!shown.contains(has_meaning));
            }
        }
    }
}
