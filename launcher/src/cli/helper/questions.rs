//! Questions for the helper inside, and the kernel's answers.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::cli::error::{CommandError, Kind};
use crate::plan::why::{Operation, Refusal};

/// Something to try inside.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question<'q> {
    /// An operation on a path.
    Path(&'q OsStr, Operation),
    /// A connection to a host at a TCP port.
    Server(&'q str, u16),
    /// A system call, by name.
    Call(&'q str),
}

/// Writes questions as the helper reads them.
pub(crate) fn write<'q>(questions: impl IntoIterator<Item = Question<'q>>) -> Vec<u8> {
    let mut text = Vec::new();
    for question in questions {
        match question {
            Question::Path(path, operation) => {
                text.push(letter(operation));
                text.extend_from_slice(path.as_bytes());
            }
            Question::Server(host, port) => text.extend(format!("t{port} {host}").bytes()),
            Question::Call(name) => text.extend(format!("s{name}").bytes()),
        }
        text.push(0);
    }
    text
}

const fn letter(operation: Operation) -> u8 {
    match operation {
        Operation::Read => b'r',
        Operation::Write => b'w',
        Operation::Execute => b'x',
        Operation::Connect => b'c',
    }
}

/// Reads `count` answers, error numbers and 0 for what worked; returns what follows them, too.
pub(crate) fn read(said: &str, count: usize) -> Result<(Vec<i32>, &str), CommandError> {
    let mut rest = said;
    let mut answers = Vec::with_capacity(count);
    for _ in 0..count {
        let line = rest.split_once('\n').and_then(|(line, rest)| Some((line.parse().ok()?, rest)));
        let Some((answer, after)) = line else {
            return Err(CommandError::new(Kind::Setup, "the helper did not answer every question"));
        };
        answers.push(answer);
        rest = after;
    }
    Ok((answers, rest))
}

/// Returns the name of an error number; `None` for 0.
pub(crate) fn errno(number: i32) -> Option<String> {
    let name = Refusal::numbered(number).map(|refusal| refusal.name().to_owned());
    (number != 0).then(|| name.unwrap_or_else(|| format!("error {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_end_with_nothing() {
        let path = Question::Path(OsStr::new("/a b"), Operation::Write);
        let all = [path, Question::Server("::1", 80), Question::Call("bpf")];
        assert_eq!(write(all), b"w/a b\0t80 ::1\0sbpf\0");
    }

    #[test]
    fn answers_that_are_missing_are_told() {
        assert_eq!(read("0\n13\nUid 1\n", 2).expect("two").0, [0, 13]);
        assert_eq!(read("0\n13\nUid 1\n", 2).expect("two").1, "Uid 1\n");
        assert!(read("0\n", 2).is_err());
        assert!(read("0\nUid 1\n", 2).is_err());
    }
}
