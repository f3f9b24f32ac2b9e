//! What is asked over the socket: one message a connection, up to its end, and a line back.

/// The most bytes of a message.
pub(crate) const MESSAGE_MAX: usize = 128 << 10;
/// The most bytes of an answer.
pub(crate) const ANSWER_MAX: usize = 1 << 10;
/// The answer to what was done.
const DONE: &str = "done";
/// What stands before the reason why something was not done.
const REFUSED: &str = "refused: ";

/// One thing that is asked for. On the socket it is a word in a line of its own, and the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Open a URL.
    Open(String),
    /// Make a text the clipboard's content.
    Copy(String),
    /// Show a notification.
    Notify {
        /// Its first line.
        title: String,
        /// What stands below; may be empty.
        body: String,
    },
}

/// A message that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It has too many bytes.
    #[error("the message is longer than {MESSAGE_MAX} bytes")]
    TooLong,
    /// It isn't UTF-8.
    #[error("the message is no text")]
    NotText,
    /// Its first line is no known word.
    #[error("the message asks for nothing that is known")]
    Unknown,
}

impl Request {
    /// Returns the bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let text = match self {
            Self::Open(url) => format!("open\n{url}"),
            Self::Copy(text) => format!("copy\n{text}"),
            Self::Notify { title, body } => format!("notify\n{}\n{body}", title.replace('\n', " ")),
        };
        text.into_bytes()
    }

    /// Reads a message.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > MESSAGE_MAX {
            return Err(Malformed::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Malformed::NotText)?;
        let (word, rest) = text.split_once('\n').ok_or(Malformed::Unknown)?;
        match word {
            "open" => Ok(Self::Open(rest.to_owned())),
            "copy" => Ok(Self::Copy(rest.to_owned())),
            "notify" => {
                let (title, body) = rest.split_once('\n').unwrap_or((rest, ""));
                Ok(Self::Notify { title: title.to_owned(), body: body.to_owned() })
            }
            _ => Err(Malformed::Unknown),
        }
    }
}

/// Returns the line that answers a request.
pub(crate) fn answer(result: Result<(), &str>) -> String {
    match result {
        Ok(()) => format!("{DONE}\n"),
        Err(why) => format!("{REFUSED}{why}\n"),
    }
}

/// Reads such a line: the reason why a request was refused, if it was.
pub(crate) fn read_answer(line: &[u8]) -> Result<(), String> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end();
    if line == DONE {
        return Ok(());
    }
    Err(line.strip_prefix(REFUSED).unwrap_or("there is no answer").to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_message_is_refused() {
        let long = vec![b'a'; MESSAGE_MAX + 1];
        for (bytes, expected) in [
            (&b""[..], Malformed::Unknown),
            (b"open", Malformed::Unknown),
            (b"Open\nx", Malformed::Unknown),
            (b"open \nx", Malformed::Unknown),
            (b"run\nrm", Malformed::Unknown),
            (b"copy\n\xff", Malformed::NotText),
            (&long, Malformed::TooLong),
        ] {
            assert_eq!(Request::parse(bytes), Err(expected));
        }
    }

    #[test]
    fn answers_are_read() {
        assert_eq!(read_answer(answer(Ok(())).as_bytes()), Ok(()));
        assert_eq!(read_answer(answer(Err("no")).as_bytes()), Err("no".to_owned()));
        assert!(read_answer(b"").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(request) = Request::parse(&bytes) {
                prop_assert_eq!(Request::parse(&request.encode()), Ok(request));
            }
        }

        #[test]
        fn what_is_written_is_read(title in "[^\n]{0,40}", body in "(?s).{0,80}") {
            for request in [
                Request::Open(body.clone()),
                Request::Copy(body.clone()),
                Request::Notify { title: title.clone(), body: body.clone() },
            ] {
                prop_assert_eq!(Request::parse(&request.encode()), Ok(request));
            }
        }
    }
}
