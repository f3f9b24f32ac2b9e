//! Contents one at a time, in pieces: `google.bytestream.ByteStream`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use endow_policy::RemoteContent;
use tokio::time::timeout;
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

use super::compress::{COMPRESSED_MAX, SLACK, compressed, expanded};
use super::{File, Remote};
use crate::client::path;
use crate::message::{ReadRequest, ReadResponse, WriteRequest, WriteResponse};

const SERVICE: &str = "google.bytestream.ByteStream";
/// How long a server may say nothing in the middle of a content.
const STALL: Duration = Duration::from_secs(30);
/// Bytes that go in one message.
const PIECE: usize = 256 << 10;

/// Reads a content into its place.
pub(super) async fn read(
    remote: &Remote,
    content: &RemoteContent,
    file: &File,
) -> Result<(), Status> {
    let is_zstd = goes_compressed(remote, content);
    let name = if is_zstd { "compressed-blobs/zstd" } else { "blobs" };
    let resource = resource(remote, &format!("{name}/{}/{}", content.hash, content.size));
    remote
        .client
        .again(content.size, || async {
            if is_zstd {
                let mut bytes = Vec::new();
                pieces(remote, &resource, content.size + SLACK, |piece, _| {
                    bytes.extend_from_slice(piece);
                    Ok(())
                })
                .await?;
                return file.write(&expanded(&bytes, content.size)?, content.at);
            }
            let write = |piece: &[u8], from| file.write(piece, content.at + from);
            let length = pieces(remote, &resource, content.size, write).await?;
            if length == content.size { Ok(()) } else { Err(other_size()) }
        })
        .await
}

/// Hands each piece on with where it begins; returns how many bytes they were.
async fn pieces(
    remote: &Remote,
    resource: &str,
    most: u64,
    mut take: impl FnMut(&[u8], u64) -> Result<(), Status>,
) -> Result<u64, Status> {
    let mut grpc = remote.client.ready().await?;
    let request = ReadRequest { resource_name: resource.to_owned() };
    let method = (SERVICE, "Read");
    let request = remote.client.request(request, method);
    let codec = ProstCodec::<ReadRequest, ReadResponse>::default();
    let stream = grpc.server_streaming(request, path(method), codec).await;
    let mut stream = stream.map_err(plainly)?.into_inner();
    let mut length = 0;
    let stalled = |_| Status::deadline_exceeded("the server stopped in the middle of a content");
    while let Some(answer) =
        timeout(STALL, stream.message()).await.map_err(stalled)?.map_err(plainly)?
    {
        if length + answer.data.len() as u64 > most {
            return Err(other_size());
        }
        take(&answer.data, length)?;
        length += answer.data.len() as u64;
    }
    Ok(length)
}

/// Puts a content there from its place.
pub(super) async fn write(
    remote: &Remote,
    content: &RemoteContent,
    file: &Arc<File>,
) -> Result<(), Status> {
    let zstd = if goes_compressed(remote, content) {
        let length = usize::try_from(content.size).unwrap_or(usize::MAX);
        Some(Bytes::from(compressed(&file.read(content.at, length)?)))
    } else {
        None
    };
    let name = if zstd.is_some() { "compressed-blobs/zstd" } else { "blobs" };
    let length = zstd.as_ref().map_or(content.size, |zstd| zstd.len() as u64);
    remote
        .client
        .again(content.size, || async {
            let mut grpc = remote.client.ready().await?;
            // A new name each time: of an earlier try the server may have a part.
            let what = format!("uploads/{}/{name}/{}/{}", uuid()?, content.hash, content.size);
            let resource = resource(remote, &what);
            let source = match &zstd {
                Some(bytes) => Source::Bytes(bytes.clone()),
                None => Source::File(Arc::clone(file), content.at),
            };
            let pieces = Pieces { source, resource, length, sent: Some(0) };
            let method = (SERVICE, "Write");
            let request = remote.client.request(tokio_stream::iter(pieces), method);
            let codec = ProstCodec::<WriteRequest, WriteResponse>::default();
            let answer = grpc.client_streaming(request, path(method), codec).await;
            let committed = answer.map_err(plainly)?.into_inner().committed_size;
            // Of what is compressed a server that has the content already says -1, or its whole size.
            let is_whole = u64::try_from(committed) == Ok(length);
            if is_whole || zstd.is_some() { Ok(()) } else { Err(other_size()) }
        })
        .await
}

/// What is sent.
enum Source {
    Bytes(Bytes),
    File(Arc<File>, u64),
}

/// A content in messages, each read when it is to be sent.
struct Pieces {
    source: Source,
    resource: String,
    length: u64,
    /// How much is sent; `None` when all is.
    sent: Option<u64>,
}

impl Iterator for Pieces {
    type Item = WriteRequest;

    fn next(&mut self) -> Option<WriteRequest> {
        let sent = self.sent?;
        let left = self.length - sent;
        let size = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        // The server finds the content short, and says so.
        let data = match &self.source {
            Source::Bytes(bytes) => {
                let from = usize::try_from(sent).ok()?;
                bytes.slice(from..from + size)
            }
            Source::File(file, at) => file.read(at + sent, size).ok()?.into(),
        };
        let finish_write = size as u64 == left;
        self.sent = (!finish_write).then_some(sent + size as u64);
        Some(WriteRequest {
            resource_name: self.resource.clone(),
            write_offset: i64::try_from(sent).unwrap_or(i64::MAX),
            finish_write,
            data,
        })
    }
}

fn goes_compressed(remote: &Remote, content: &RemoteContent) -> bool {
    remote.can.streams_zstd && content.size <= COMPRESSED_MAX
}

fn resource(remote: &Remote, what: &str) -> String {
    match remote.client.instance.as_ref() {
        "" => what.to_owned(),
        instance => format!("{instance}/{what}"),
    }
}

fn other_size() -> Status {
    Status::data_loss("the content has another size than its digest says")
}

fn plainly(status: Status) -> Status {
    match status.code() {
        Code::NotFound => Status::not_found("the server has not got it"),
        _ => status,
    }
}

/// A name for an upload that nobody else has: a random UUID.
fn uuid() -> Result<String, Status> {
    let mut bytes = [0; 16];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    got.map_err(|_| Status::internal("no random bytes"))?;
    let number = u128::from_be_bytes(bytes);
    let digits = |from: u32, bits: u32| number >> from & ((1 << bits) - 1);
    let (time, middle, high) = (digits(96, 32), digits(80, 16), digits(64, 12));
    let (variant, node) = (digits(48, 14) | 0x8000, digits(0, 48));
    Ok(format!("{time:08x}-{middle:04x}-4{high:03x}-{variant:04x}-{node:012x}"))
}
