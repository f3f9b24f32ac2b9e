//! `xdg-open` and its like: one URL.

use super::UsageError;
use crate::Request;

/// Reads the arguments.
pub(super) fn read(words: &[String]) -> Result<Request, UsageError> {
    match words {
        [option] if option.starts_with('-') => Err(UsageError::Option(option.clone())),
        [url] => Ok(Request::Open(url.clone())),
        _ => Err(UsageError::Words("it takes one URL")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_url_is_taken() {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let url = "https://a.example/";
        assert_eq!(read(&words(&[url])).expect("read"), Request::Open(url.to_owned()));
        for bad in [&[][..], &["--help"], &[url, url], &["--", url]] {
            assert!(read(&words(bad)).is_err(), "{bad:?}");
        }
    }
}
