//! `notify-send`: a title and a text. Everything that would be more than text is dropped.

use super::UsageError;
use crate::Request;

/// Options with a value. What they say of looks and sounds has no place in a bridge.
const WITH_VALUE: &[&str] = &[
    "-u",
    "--urgency",
    "-t",
    "--expire-time",
    "-i",
    "--icon",
    "-c",
    "--category",
    "-a",
    "--app-name",
    "-h",
    "--hint",
    "-r",
    "--replace-id",
];
const ALONE: &[&str] = &["-e", "--transient"];

/// Reads the arguments.
pub(super) fn read(words: &[String]) -> Result<Request, UsageError> {
    let (mut rest, mut texts) = (words.iter(), Vec::new());
    while let Some(word) = rest.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        match word.as_str() {
            "--" => texts.extend(rest.by_ref().cloned()),
            option if WITH_VALUE.contains(&option) => drop(rest.next()),
            option if ALONE.contains(&option) => {}
            option if option.starts_with("--") && WITH_VALUE.contains(&name) => {}
            option if option.starts_with('-') => return Err(UsageError::Option(word.clone())),
            text => texts.push(text.to_owned()),
        }
    }
    let mut texts = texts.into_iter();
    match (texts.next(), texts.next(), texts.next()) {
        (Some(title), body, None) => Ok(Request::Notify { title, body: body.unwrap_or_default() }),
        _ => Err(UsageError::Words("it takes a title and at most one text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &str) -> Option<(String, String)> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        match read(&words).ok()? {
            Request::Notify { title, body } => Some((title, body)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_are_read_and_looks_are_dropped() {
        let both = Some(("a".to_owned(), "b".to_owned()));
        assert_eq!(read_words("a"), Some(("a".to_owned(), String::new())));
        for words in ["a b", "-u critical a b", "--icon=x a -t 100 b", "-e a b", "-- a b"] {
            assert_eq!(read_words(words), both, "{words}");
        }
        for words in ["", "a b c", "--action=x a", "-A x a", "--wait a", "--print-id a"] {
            assert_eq!(read_words(words), None, "{words}");
        }
    }
}
