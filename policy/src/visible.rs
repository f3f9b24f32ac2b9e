//! Which characters of a text can be seen in it.

/// Returns whether a character is a control, or turns, parts or hides the text around it (the Unicode
/// categories Cc, Zl, Zp, and those of Cf that text in a line may have).
pub fn is_invisible(c: char) -> bool {
    let formats = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || formats
}

/// Names may hold escape sequences, and characters that turn or hide what is beside them; none of them
/// reaches the terminal.
pub fn printable(text: &str) -> String {
    let escape = |c: char| {
        if is_invisible(c) && c != '\t' { c.escape_default().to_string() } else { c.to_string() }
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\x1b[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(printable("é ok"), "é ok");
    }

    #[test]
    fn what_turns_or_hides_text_is_escaped() {
        assert_eq!(printable("a\u{202e}b\u{2066}\u{200b}"), "a\\u{202e}b\\u{2066}\\u{200b}");
        assert_eq!(printable("שלום\t日本"), "שלום\t日本");
    }
}
