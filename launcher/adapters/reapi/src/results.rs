//! Results of actions, looked up many at a time: what costs time is the way to the server and back.

use std::collections::BTreeMap;

use bytes::Bytes;
use endow_policy::RemoteFound;
use tokio::task::JoinSet;
use tonic::{Code, Status};

use crate::blobs::File;
use crate::client::{Client, is_gone, said};
use crate::message::Digest;
use crate::serve::told;

/// Calls that are under way at a time.
const AT_A_TIME: usize = 64;
/// The most bytes of a result that is under way with others; a larger one comes alone.
const SMALL_MAX: usize = 1 << 20;
/// No more is asked for once the results of a question have so many bytes; those under way still come.
const BYTES_MAX: u64 = 64 << 20;
/// The most problems that are told word for word: an answer must fit into one message.
const PROBLEMS_MAX: usize = 16;

/// What a server has for an action.
type Answer = Result<Option<Bytes>, Status>;

/// Writes the results of actions into the file, one behind another. A server that is gone is asked no more.
pub(crate) async fn look_up(
    client: &Client,
    actions: &[(String, u64)],
    file: &File,
) -> Result<Vec<RemoteFound>, Status> {
    let name = |number: usize| {
        let (hash, size) = actions.get(number)?;
        Some(Digest::new(hash, *size))
    };
    let mut found = Found { file, end: 0, problems: 0, all: BTreeMap::new() };
    let (small, mut large, mut going) = (client.taking(SMALL_MAX), Vec::new(), JoinSet::new());
    let mut next = 0;
    loop {
        while going.len() < AT_A_TIME
            && !found.is_full()
            && let Some(action) = name(next)
        {
            let (client, number) = (small.clone(), next);
            going.spawn(async move { (number, client.action_result(action).await) });
            next += 1;
        }
        let Some(ended) = going.join_next().await else { break };
        let (number, answer) = ended.map_err(|_| Status::internal("a task panicked"))?;
        if is_too_large(&answer) {
            large.push(number);
        } else {
            found.put(number, answer)?;
        }
    }
    for number in large {
        let Some(action) = name(number).filter(|_| !found.is_full()) else { continue };
        found.put(number, client.action_result(action).await)?;
    }
    Ok((0..actions.len()).map(|number| found.take(number)).collect())
}

/// Whether more came than is taken.
fn is_too_large(answer: &Answer) -> bool {
    matches!(answer, Err(status) if status.code() == Code::OutOfRange)
}

/// What was found so far.
struct Found<'f> {
    file: &'f File,
    /// Where the file ends.
    end: u64,
    problems: usize,
    all: BTreeMap<usize, RemoteFound>,
}

impl Found<'_> {
    /// Whether there is no room for more.
    fn is_full(&self) -> bool {
        self.end >= BYTES_MAX
    }

    fn put(&mut self, number: usize, answer: Answer) -> Result<(), Status> {
        let found = match answer {
            Ok(None) => RemoteFound::Nothing,
            Ok(Some(result)) => {
                let (at, length) = (self.end, result.len() as u64);
                self.file.write(&result, at)?;
                self.end += length;
                RemoteFound::Result { at, length }
            }
            Err(status) if is_gone(&status) => return Err(status),
            Err(status) => self.problem(&told(&said(&status))),
        };
        self.all.insert(number, found);
        Ok(())
    }

    fn problem(&mut self, why: &str) -> RemoteFound {
        self.problems += 1;
        let why = if self.problems > PROBLEMS_MAX { "one of many that can't be had" } else { why };
        RemoteFound::Problem(why.to_owned())
    }

    /// Takes what was found for an action; what was not asked for any more is a problem.
    fn take(&mut self, number: usize) -> RemoteFound {
        let found = self.all.remove(&number);
        found.unwrap_or_else(|| self.problem("results of more than 64 MiB at a time"))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use endow_policy::RemoteAnswer;
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    /// What endow takes of an answer, in bytes.
    const ANSWER_MAX: usize = 192 << 10;

    fn file() -> io::Result<File> {
        Ok(File::from(memfd_create("results", MemfdFlags::CLOEXEC)?))
    }

    fn found(file: &File) -> Found<'_> {
        Found { file, end: 0, problems: 0, all: BTreeMap::new() }
    }

    #[test]
    fn problems_of_a_whole_question_fit_into_one_answer() {
        let file = file().expect("a file");
        let mut found = found(&file);
        for number in 0..500 {
            let refused = Err(Status::internal("\"\\".repeat(1_000)));
            found.put(number, refused).expect("told");
        }
        let all = (0..500).map(|number| found.take(number)).collect();
        let answer = serde_json::to_vec(&RemoteAnswer::Results(all)).expect("text");
        assert!(answer.len() < ANSWER_MAX, "{}", answer.len());
    }

    #[test]
    fn what_is_asked_for_no_more_is_a_problem_and_what_is_not_there_is_none() {
        let file = file().expect("a file");
        let mut found = found(&file);
        found.put(0, Ok(None)).expect("told");
        found.put(1, Ok(Some(Bytes::from_static(b"result")))).expect("written");
        assert!(!found.is_full());
        found.end = BYTES_MAX;
        assert!(found.is_full());
        assert_eq!(found.take(0), RemoteFound::Nothing);
        assert_eq!(found.take(1), RemoteFound::Result { at: 0, length: 6 });
        assert!(matches!(found.take(2), RemoteFound::Problem(_)));
    }

    #[test]
    fn server_that_is_gone_is_asked_no_more() {
        let file = file().expect("a file");
        found(&file).put(0, Err(Status::unavailable("bye"))).expect_err("gone");
    }
}
