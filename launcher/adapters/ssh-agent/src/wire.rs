//! Messages of the agent protocol: a length in four bytes, then so many bytes.

use std::io::{self, Read, Write};

/// The most bytes of a message, as OpenSSH's agent has it.
pub(crate) const MESSAGE_MAX: usize = 256 * 1024;

/// A stream on which no further message can be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// The stream fails, or ends within a message.
    #[error("the connection broke")]
    Broken(#[from] io::Error),
    /// A length that no message has.
    #[error("a message of {0} bytes")]
    Length(u32),
}

/// Reads one message; `None` when the stream ends before it.
pub(crate) fn receive(stream: &mut impl Read) -> Result<Option<Vec<u8>>, WireError> {
    let mut prefix = Vec::new();
    stream.take(4).read_to_end(&mut prefix)?;
    if prefix.is_empty() {
        return Ok(None);
    }
    let prefix = <[u8; 4]>::try_from(prefix).map_err(|_| ended_early())?;
    let length = length(u32::from_be_bytes(prefix))?;
    // It grows with what arrives, not with what is announced.
    let mut message = Vec::new();
    stream.take(length).read_to_end(&mut message)?;
    if message.len() as u64 == length { Ok(Some(message)) } else { Err(ended_early().into()) }
}

/// Writes one message.
pub(crate) fn send(stream: &mut impl Write, message: &[u8]) -> Result<(), WireError> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    self::length(length)?;
    stream.write_all(&[&length.to_be_bytes(), message].concat())?;
    Ok(())
}

fn length(announced: u32) -> Result<u64, WireError> {
    let fits = usize::try_from(announced).is_ok_and(|length| (1..=MESSAGE_MAX).contains(&length));
    if fits { Ok(announced.into()) } else { Err(WireError::Length(announced)) }
}

fn ended_early() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
        receive(&mut bytes).map_err(|error| error.to_string())
    }

    #[test]
    fn messages_come_out_as_they_went_in() {
        let mut stream = Vec::new();
        for message in [vec![11], vec![7; MESSAGE_MAX]] {
            send(&mut stream, &message).expect("sent");
        }
        let mut rest = &stream[..];
        assert_eq!(receive(&mut rest).expect("received"), Some(vec![11]));
        assert_eq!(receive(&mut rest).expect("received"), Some(vec![7; MESSAGE_MAX]));
        assert_eq!(receive(&mut rest).expect("received"), None);
    }

    #[test]
    fn half_messages_are_broken() {
        for half in [&[0][..], &[0, 0, 0], &[0, 0, 0, 1], &[0, 0, 0, 9, 1, 2]] {
            assert_eq!(received(half), Err("the connection broke".to_owned()), "{half:?}");
        }
    }

    #[test]
    fn lengths_that_no_message_has_are_refused() {
        assert_eq!(received(&[0; 4]), Err("a message of 0 bytes".to_owned()));
        assert_eq!(received(&[0, 4, 0, 1]), Err("a message of 262145 bytes".to_owned()));
        assert_eq!(received(&[255; 8]), Err("a message of 4294967295 bytes".to_owned()));
        assert!(send(&mut Vec::new(), &vec![0; MESSAGE_MAX + 1]).is_err());
        assert!(send(&mut Vec::new(), &[]).is_err());
    }
}
