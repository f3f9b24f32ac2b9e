//! Results of actions, looked up many at a time: what costs time is the way to the server and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use endow_policy::RemoteFound;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tonic::Status;

use crate::blobs::File;
use crate::client::{Client, is_gone, said};
use crate::message::Digest;
use crate::serve::told;

/// Calls that are under way at a time.
const AT_A_TIME: usize = 64;
/// The most bytes of all results of one question.
const BYTES_MAX: u64 = 64 << 20;

/// Writes the results of actions into the file, one behind another. A server that is gone is asked no more.
pub(crate) async fn look_up(
    client: &Client,
    actions: &[(String, u64)],
    file: &File,
) -> Result<Vec<RemoteFound>, Status> {
    let (room, mut going) = (Arc::new(Semaphore::new(AT_A_TIME)), JoinSet::new());
    for (number, (hash, size)) in actions.iter().enumerate() {
        let (client, room, action) = (client.clone(), Arc::clone(&room), Digest::new(hash, *size));
        going.spawn(async move {
            let _place = room.acquire_owned().await;
            (number, client.action_result(action).await)
        });
    }
    let (mut found, mut end) = (BTreeMap::new(), 0);
    while let Some(ended) = going.join_next().await {
        let (number, result) = ended.map_err(|_| Status::internal("a task panicked"))?;
        found.insert(number, written(result, file, &mut end)?);
    }
    Ok(found.into_values().collect())
}

fn written(
    result: Result<Option<Bytes>, Status>,
    file: &File,
    end: &mut u64,
) -> Result<RemoteFound, Status> {
    let result = match result {
        Ok(Some(result)) => result,
        Ok(None) => return Ok(RemoteFound::Nothing),
        Err(status) if is_gone(&status) => return Err(status),
        Err(status) => return Ok(RemoteFound::Problem(told(&said(&status)))),
    };
    let (at, length) = (*end, result.len() as u64);
    if at + length > BYTES_MAX {
        return Ok(RemoteFound::Problem("results of more than 64 MiB at a time".to_owned()));
    }
    file.write(&result, at)?;
    *end += length;
    Ok(RemoteFound::Result { at, length })
}
