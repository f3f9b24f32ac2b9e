//! Questions from endow, and answers to them.

use std::os::fd::OwnedFd;

use endow_adapter::Control;
use endow_policy::{RemoteAnswer, RemoteRequest};
use rustix::io::Errno;

/// The most bytes of a question.
const QUESTION_MAX: usize = 192 << 10;

/// What arrives.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A question, and the file that comes with it.
    Question(RemoteRequest, Option<OwnedFd>),
    /// Something else, which means nothing.
    Malformed,
    /// There will be no more.
    End,
}

impl Arrival {
    /// Receives what has arrived, if anything has.
    pub(crate) fn receive(control: Control) -> Result<Self, Errno> {
        let mut bytes = vec![0; QUESTION_MAX];
        let (length, files) = control.receive(&mut bytes)?;
        if length == 0 {
            return Ok(Self::End);
        }
        let text = bytes.get(..length).and_then(|text| serde_json::from_slice(text).ok());
        let file = files.into_iter().last();
        Ok(text.map_or(Self::Malformed, |question| Self::Question(question, file)))
    }
}

/// Answers a question. An answer that can't be sent must end the process: whoever asked waits for it.
pub(crate) fn answer(control: Control, answer: &RemoteAnswer) -> Result<(), Errno> {
    control.send(&serde_json::to_vec(answer).map_err(|_| Errno::INVAL)?)
}
