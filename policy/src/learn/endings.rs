//! How the lines of a file end. A reader of TOML takes each end for the same, and writes its own.

/// What some editors put before a text.
const BYTE_ORDER_MARK: char = '\u{feff}';
const LONG: &str = "\r\n";

/// Returns a text without the mark before it.
pub(super) fn unmarked(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns a text whose lines end as those of the old one did: a new line as the one above it.
pub(super) fn as_before(old: &str, new: &str) -> String {
    let mark = old.starts_with(BYTE_ORDER_MARK).then_some(BYTE_ORDER_MARK);
    mark.into_iter().chain(ended(unmarked(old), new).chars()).collect()
}

fn ended(old: &str, new: &str) -> String {
    if !old.contains(LONG) {
        return new.to_owned();
    }
    let mut before: &[&str] = &old.split_inclusive('\n').collect::<Vec<_>>();
    let mut is_long = before.first().is_some_and(|line| line.ends_with(LONG));
    let mut text = String::new();
    for line in new.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\r', '\n']);
        let same = before.iter().position(|it| it.trim_end_matches(['\r', '\n']) == bare);
        if let Some((line, rest)) = same.and_then(|at| before.get(at..)?.split_first()) {
            (is_long, before) = (line.ends_with(LONG), rest);
        }
        text.push_str(bare);
        text.push_str(match line.ends_with('\n') {
            true if is_long => LONG,
            true => "\n",
            false => "",
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expected: &str) {
        assert_eq!(as_before(old, new), expected);
    }

    #[test]
    fn lines_end_as_before() {
        check("a\nb\n", "a\nx\nb\n", "a\nx\nb\n");
        check("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n");
        check("a\r\nb\r\n", "a\r\nx\nb\r\n", "a\r\nx\r\nb\r\n");
        check("a\r\nb\nc\r\n", "a\nx\nb\ny\nc\n", "a\r\nx\r\nb\ny\nc\r\n");
        check("a\r\nb", "a\nb\nx\n", "a\r\nb\nx\n");
        check("\u{feff}a\n", "a\nx\n", "\u{feff}a\nx\n");
        check("\u{feff}a\r\n", "a\nx\n", "\u{feff}a\r\nx\r\n");
    }
}
