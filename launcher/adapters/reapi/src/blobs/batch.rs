//! Small contents, many in one message.

use std::collections::HashMap;

use bytes::Bytes;
use endow_policy::{RemoteContent, RemoteProblem};
use tonic::{Code, Status};

use super::compress::{compressed, expanded};
use super::{AT_A_TIME, File, Numbered, Remote, problem};
use crate::message::{
    BatchRead, BatchReadBlobsRequest, BatchUpdate, BatchUpdateBlobsRequest, Digest, IDENTITY, ZSTD,
};

/// Contents below this size gain nothing when they are compressed.
const COMPRESSED_MIN: u64 = 1 << 10;

/// Those of a batch that have not been answered.
type Open<'b> = HashMap<Digest, (usize, &'b RemoteContent)>;

/// Reads contents into their places; returns those that could not be had.
pub(super) async fn read(
    remote: &Remote,
    batch: &[Numbered],
    file: &File,
) -> Result<Vec<RemoteProblem>, Status> {
    let zstd = remote.can.streams_zstd.then_some(ZSTD);
    let request = BatchReadBlobsRequest {
        instance_name: remote.client.instance.to_string(),
        digests: batch.iter().map(|(_, content)| Digest::of(content)).collect(),
        acceptable_compressors: zstd.into_iter().collect(),
    };
    let (mut open, mut problems) = (open(batch), Vec::new());
    for answer in remote.client.batch_read(request, at_once(batch)).await?.responses {
        let Some(asked) = answer.digest.as_ref().and_then(|digest| open.remove(digest)) else {
            continue;
        };
        let (number, content) = asked;
        match refused(answer.status.as_ref()) {
            Some(why) => problems.push(problem(number, &why)),
            None => match data(answer, content) {
                Ok(data) => file.write(&data, content.at)?,
                Err(status) => problems.push(problem(number, status.message())),
            },
        }
    }
    problems.extend(unanswered(open));
    Ok(problems)
}

fn data(answer: BatchRead, content: &RemoteContent) -> Result<Bytes, Status> {
    match answer.compressor {
        IDENTITY if answer.data.len() as u64 == content.size => Ok(answer.data),
        IDENTITY => Err(Status::data_loss("the content has another size than its digest says")),
        ZSTD => expanded(&answer.data, content.size).map(Bytes::from),
        _ => Err(Status::data_loss("the content is compressed in a way that was not asked for")),
    }
}

/// Puts contents there from their places; returns those that could not be put.
pub(super) async fn update(
    remote: &Remote,
    batch: &[Numbered],
    file: &File,
) -> Result<Vec<RemoteProblem>, Status> {
    let (mut open, mut problems, mut requests) = (open(batch), Vec::new(), Vec::new());
    for (number, content) in batch {
        let length = usize::try_from(content.size).unwrap_or(usize::MAX);
        match file.read(content.at, length) {
            Ok(bytes) => requests.push(packed(remote, content, bytes)),
            Err(status) => {
                open.remove(&Digest::of(content));
                problems.push(problem(*number, status.message()));
            }
        }
    }
    let instance_name = remote.client.instance.to_string();
    let request = BatchUpdateBlobsRequest { instance_name, requests };
    for answer in remote.client.batch_update(request, at_once(batch)).await?.responses {
        let Some((number, _)) = answer.digest.as_ref().and_then(|it| open.remove(it)) else {
            continue;
        };
        problems.extend(refused(answer.status.as_ref()).map(|why| problem(number, &why)));
    }
    problems.extend(unanswered(open));
    Ok(problems)
}

fn packed(remote: &Remote, content: &RemoteContent, bytes: Vec<u8>) -> BatchUpdate {
    let zstd = (remote.can.batches_zstd && content.size >= COMPRESSED_MIN)
        .then(|| compressed(&bytes))
        .filter(|zstd| zstd.len() < bytes.len());
    let (data, compressor) = zstd.map_or((bytes, IDENTITY), |zstd| (zstd, ZSTD));
    BatchUpdate { digest: Some(Digest::of(content)), data: data.into(), compressor }
}

/// Returns the bytes that are under way when this batch is, others beside it.
fn at_once(batch: &[Numbered]) -> u64 {
    let bytes: u64 = batch.iter().map(|(_, content)| content.size).sum();
    bytes.saturating_mul(AT_A_TIME as u64)
}

fn open(batch: &[Numbered]) -> Open<'_> {
    batch.iter().map(|(number, content)| (Digest::of(content), (*number, content))).collect()
}

/// No status is a fine one.
fn refused(status: Option<&crate::message::Status>) -> Option<String> {
    let status = status.filter(|it| it.code != Code::Ok as i32)?;
    Some(match Code::from_i32(status.code) {
        Code::NotFound => "the server has not got it".to_owned(),
        code => format!("{}: {}", code.description(), status.message),
    })
}

fn unanswered(open: Open<'_>) -> impl Iterator<Item = RemoteProblem> {
    open.into_values().map(|(number, _)| problem(number, "the server said nothing of it"))
}
