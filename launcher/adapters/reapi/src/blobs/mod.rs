//! Contents: which the server lacks, and to and from it. Small ones go together in one message, larger
//! ones in streams of their own, a few at a time.

mod batch;
mod compress;
mod file;
mod stream;

use std::collections::HashMap;
use std::sync::Arc;

use endow_policy::{RemoteContent, RemoteProblem};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tonic::Status;

pub(crate) use file::File;

use crate::capabilities::Capabilities;
use crate::client::{Client, is_gone};
use crate::message::Digest;
use crate::serve::told;

/// Messages and streams that are under way at a time.
const AT_A_TIME: usize = 8;
/// The most problems that are told: one is enough to stop.
const PROBLEMS_MAX: usize = 16;
/// What a message has beside each content: a digest, numbers of fields, lengths.
const BESIDE: u64 = 256;

/// The server, and what it can do.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) client: Client,
    pub(crate) can: Capabilities,
}

/// A content with its number in the question.
type Numbered = (usize, RemoteContent);

/// What goes over the line as one.
enum Load {
    Batch(Vec<Numbered>),
    Stream(Numbered),
}

/// Which way it goes.
#[derive(Clone, Copy, Debug)]
enum Way {
    Here,
    There,
}

impl Remote {
    /// Returns the numbers of those contents that the server has not.
    pub(crate) async fn lacking(&self, contents: &[RemoteContent]) -> Result<Vec<usize>, Status> {
        let digests = contents.iter().map(Digest::of).collect();
        let missing = self.client.find_missing(digests).await?.missing_blob_digests;
        let mut numbers: HashMap<Digest, usize> =
            contents.iter().enumerate().map(|(number, it)| (Digest::of(it), number)).collect();
        // What was not asked for is not lacking, nor is anything twice.
        Ok(missing.iter().filter_map(|digest| numbers.remove(digest)).collect())
    }

    /// Writes contents into the file, each at its place; returns what could not be had.
    pub(crate) async fn fetch(
        &self,
        contents: &[RemoteContent],
        file: &Arc<File>,
    ) -> Result<Vec<RemoteProblem>, Status> {
        self.carry(contents, file, Way::Here).await
    }

    /// Puts contents there from their places in the file; returns what could not be put.
    pub(crate) async fn put(
        &self,
        contents: &[RemoteContent],
        file: &Arc<File>,
    ) -> Result<Vec<RemoteProblem>, Status> {
        self.carry(contents, file, Way::There).await
    }

    async fn carry(
        &self,
        contents: &[RemoteContent],
        file: &Arc<File>,
        way: Way,
    ) -> Result<Vec<RemoteProblem>, Status> {
        let (room, mut going) = (Arc::new(Semaphore::new(AT_A_TIME)), JoinSet::new());
        for load in loads(contents, self.can.batch_bytes) {
            let (this, file, room) = (self.clone(), Arc::clone(file), Arc::clone(&room));
            going.spawn(async move {
                let _place = room.acquire_owned().await;
                load.go(&this, &file, way).await
            });
        }
        let mut problems = Vec::new();
        while let Some(ended) = going.join_next().await {
            let ended = ended.map_err(|_| Status::internal("a task panicked"))?;
            problems.extend(ended?);
        }
        problems.sort_unstable_by_key(|it| it.number);
        problems.truncate(PROBLEMS_MAX);
        Ok(problems)
    }
}

impl Load {
    async fn go(
        self,
        remote: &Remote,
        file: &Arc<File>,
        way: Way,
    ) -> Result<Vec<RemoteProblem>, Status> {
        let (number, ended) = match (self, way) {
            (Self::Batch(batch), Way::Here) => return batch::read(remote, &batch, file).await,
            (Self::Batch(batch), Way::There) => return batch::update(remote, &batch, file).await,
            (Self::Stream(one), Way::Here) => (one.0, stream::read(remote, &one.1, file).await),
            (Self::Stream(one), Way::There) => (one.0, stream::write(remote, &one.1, file).await),
        };
        alone(number, ended)
    }
}

/// Divides what is to go: as many small contents in a message as fit.
fn loads(contents: &[RemoteContent], batch_bytes: u64) -> Vec<Load> {
    let (mut loads, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (number, content) in contents.iter().cloned().enumerate() {
        let cost = content.size.saturating_add(BESIDE);
        if cost > batch_bytes {
            loads.push(Load::Stream((number, content)));
            continue;
        }
        if bytes + cost > batch_bytes {
            loads.push(Load::Batch(std::mem::take(&mut batch)));
            bytes = 0;
        }
        bytes += cost;
        batch.push((number, content));
    }
    if !batch.is_empty() {
        loads.push(Load::Batch(batch));
    }
    loads
}

/// What is wrong with one content is told with it; a server that is gone ends all.
fn alone(number: usize, ended: Result<(), Status>) -> Result<Vec<RemoteProblem>, Status> {
    match ended {
        Ok(()) => Ok(Vec::new()),
        Err(status) if is_gone(&status) => Err(status),
        Err(status) => Ok(vec![problem(number, status.message())]),
    }
}

fn problem(number: usize, why: &str) -> RemoteProblem {
    RemoteProblem { number, why: told(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(size: u64) -> RemoteContent {
        RemoteContent { hash: format!("{size:064x}"), size, at: 0 }
    }

    #[test]
    fn messages_are_no_larger_than_the_server_takes() {
        let contents: Vec<_> = [10, 500, 5_000, 700, 20, 744, 745].map(content).to_vec();
        let mut seen = Vec::new();
        for load in loads(&contents, 1_000) {
            match load {
                Load::Stream((number, content)) => {
                    assert!(content.size + BESIDE > 1_000);
                    seen.push(number);
                }
                Load::Batch(batch) => {
                    assert!(!batch.is_empty());
                    assert!(batch.iter().map(|(_, it)| it.size + BESIDE).sum::<u64>() <= 1_000);
                    seen.extend(batch.iter().map(|(number, _)| *number));
                }
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..contents.len()).collect::<Vec<_>>());
    }
}
