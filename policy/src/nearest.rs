//! The known word nearest to a mistyped one.

/// Returns the candidate that `word` was probably meant to be.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    let measured = candidates.into_iter().map(|known| (edits(word, known), known));
    measured.filter(|(distance, _)| *distance <= limit).min().map(|(_, known)| known)
}

/// Returns a hint that names the nearest candidate, else all of them.
pub(crate) fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    let nearest = hint(word, candidates.iter().copied());
    nearest.unwrap_or_else(|| format!("known: {}", candidates.join(", ")))
}

/// Returns a hint that names the nearest candidate, if one is near.
pub(crate) fn hint<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, candidates).map(|known| format!("did you mean `{known}`"))
}

/// The number of edits between two words; exchanged letters count as one.
fn edits(a: &str, b: &str) -> usize {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let distance = distance(a, b);
    if sorted(a) == sorted(b) { distance.min(1) } else { distance }
}

/// The number of edits (insert, remove, replace, ignoring case) between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.to_lowercase().chars().enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        for (j, to) in b.iter().enumerate() {
            let above = row[j + 1];
            let cost = (corner + usize::from(from != *to)).min(above + 1).min(left + 1);
            row[j] = left;
            (corner, left) = (above, cost);
        }
        row[b.len()] = left;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("mount", "mounts", 1),
            ("acces", "access", 1),
            ("DENY", "deny", 0),
            ("flaw", "lawn", 2),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn nearest_words() {
        let known = ["access", "host", "size", "mode"];
        assert_eq!(nearest("acess", known), Some("access"));
        assert_eq!(nearest("sise", known), Some("size"));
        assert_eq!(nearest("hots", known), Some("host"));
        assert_eq!(nearest("color", known), None);
        assert_eq!(did_you_mean("hots", &["mode", "hos"]), "did you mean `hos`");
        assert_eq!(did_you_mean("zzzz", &["a", "b"]), "known: a, b");
    }
}
