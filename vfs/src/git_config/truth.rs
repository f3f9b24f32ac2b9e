//! Which values mean true. git knows more words than these, as any number, and ends at others: each function
//! answers of them what is safe where it is asked, so that the two differ.

/// Returns whether a value means true; `false` for any that is not known to: a protection may be off.
pub(super) fn is_on(value: &str) -> bool {
    ["true", "yes", "on", "1"].iter().any(|it| value.eq_ignore_ascii_case(it))
}

/// Returns whether a value may mean true, as a key without one does; `true` for any that is not known to mean
/// false: objects may be missing.
pub(crate) fn may_be_on(value: Option<&[u8]>) -> bool {
    value.is_none_or(|value| {
        let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
        !["false", "no", "off", "0", ""].into_iter().any(is)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_word_is_neither_surely_on_nor_surely_off() {
        for (value, is_on_surely, may_be) in [
            ("true", true, true),
            ("1", true, true),
            ("ON", true, true),
            ("No", false, false),
            ("0", false, false),
            ("", false, false),
            ("2", false, true),
            ("00", false, true),
            ("maybe", false, true),
        ] {
            assert_eq!(is_on(value), is_on_surely, "{value}");
            assert_eq!(may_be_on(Some(value.as_bytes())), may_be, "{value}");
        }
        assert!(may_be_on(None));
    }
}
