//! `wl-copy`, `xclip`, `xsel` and `pbcopy`, as far as they write text. Reading is refused by name.

use std::fs::File;
use std::io::{Read, stdin};

use super::UsageError;
use crate::Request;
use crate::request::MESSAGE_MAX;

/// Where the text comes from.
#[derive(Debug, PartialEq, Eq)]
enum From {
    Arguments(String),
    File(String),
    Input,
}

/// Reads the arguments, and what is to be copied.
pub(super) fn read(name: &str, words: &[String]) -> Result<Request, UsageError> {
    let text = match from(name, words)? {
        From::Arguments(text) => text,
        From::File(path) => {
            let file = File::open(&path);
            whole(file.map_err(|source| UsageError::Read { what: path.clone(), source })?, &path)?
        }
        From::Input => whole(stdin(), "standard input")?,
    };
    Ok(Request::Copy(text))
}

fn whole(from: impl Read, what: &str) -> Result<String, UsageError> {
    let failed = |source| UsageError::Read { what: what.to_owned(), source };
    let mut text = Vec::new();
    // What is longer is refused for its length when it is asked for.
    from.take(MESSAGE_MAX as u64).read_to_end(&mut text).map_err(failed)?;
    String::from_utf8(text).map_err(|_| UsageError::Words("only text can be copied"))
}

fn from(name: &str, words: &[String]) -> Result<From, UsageError> {
    match name {
        "wl-copy" => wl_copy(words),
        "xclip" => xclip(words),
        "xsel" => xsel(words),
        _ if words.is_empty() => Ok(From::Input),
        _ => Err(UsageError::Words("it takes no argument")),
    }
}

/// Options that say for how long or how it is done are the same to a bridge.
fn wl_copy(words: &[String]) -> Result<From, UsageError> {
    let mut rest = words.iter();
    let mut text: Vec<&str> = Vec::new();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--" => text.extend(rest.by_ref().map(String::as_str)),
            "-n" | "--trim-newline" | "-f" | "--foreground" | "-o" | "--paste-once" => {}
            "-t" | "--type" => must_be_text(rest.next())?,
            option if option.starts_with('-') => return Err(UsageError::Option(word.clone())),
            argument => text.push(argument),
        }
    }
    Ok(if text.is_empty() { From::Input } else { From::Arguments(text.join(" ")) })
}

/// `xclip` takes any part of an option's name that is clear.
fn xclip(words: &[String]) -> Result<From, UsageError> {
    let (mut rest, mut file) = (words.iter(), None);
    while let Some(word) = rest.next() {
        let is = |option: &str| word.len() > 1 && option.starts_with(word.as_str());
        if is("-in")
            || is("-filter")
            || is("-silent")
            || is("-quiet")
            || is("-verbose")
            || is("-rmlastnl")
        {
        } else if is("-selection") || is("-loops") || is("-display") {
            rest.next();
        } else if is("-target") {
            must_be_text(rest.next())?;
        } else if word.starts_with('-') {
            return Err(UsageError::Option(word.clone()));
        } else {
            file = Some(word.clone());
        }
    }
    Ok(file.map_or(From::Input, From::File))
}

fn xsel(words: &[String]) -> Result<From, UsageError> {
    let long = ["--input", "--clipboard", "--primary", "--secondary", "--nodetach", "--trim"];
    for word in words {
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let is_short = short.is_some_and(|it| it.chars().all(|letter| "ibpsn".contains(letter)));
        if !is_short && !long.contains(&word.as_str()) {
            return Err(UsageError::Option(word.clone()));
        }
    }
    Ok(From::Input)
}

fn must_be_text(kind: Option<&String>) -> Result<(), UsageError> {
    let texts = ["text", "UTF8_STRING", "STRING", "TEXT"];
    match kind {
        Some(kind) if kind.starts_with("text/plain") || texts.contains(&kind.as_str()) => Ok(()),
        _ => Err(UsageError::Words("only text can be copied")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_from(words: &str) -> Option<From> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        from(&words[0], &words[1..]).ok()
    }

    #[test]
    fn usual_ways_to_write_are_understood() {
        for words in [
            "wl-copy",
            "wl-copy -n",
            "wl-copy --type text/plain;charset=utf-8",
            "xclip",
            "xclip -selection clipboard",
            "xclip -sel c -i",
            "xclip -in -selection clipboard -t UTF8_STRING",
            "xsel -b -i",
            "xsel -bi",
            "xsel --clipboard --input",
            "pbcopy",
        ] {
            assert_eq!(read_from(words), Some(From::Input), "{words}");
        }
        assert_eq!(read_from("wl-copy -- a -b"), Some(From::Arguments("a -b".to_owned())));
        assert_eq!(read_from("xclip -sel c file"), Some(From::File("file".to_owned())));
    }

    #[test]
    fn reading_and_other_kinds_are_refused() {
        for words in [
            "xclip -o",
            "xclip -selection clipboard -o",
            "xclip -t image/png -i x.png",
            "xsel -o",
            "xsel -bo",
            "xsel --clipboard --output",
            "wl-copy --clear",
            "wl-copy -t image/png",
            "pbcopy -Prefer txt",
        ] {
            assert_eq!(read_from(words), None, "{words}");
        }
    }
}
