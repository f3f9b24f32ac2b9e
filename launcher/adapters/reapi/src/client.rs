//! Calls: each with a deadline, and once more when the server could not answer for now.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use endow_policy::{RemoteOrder, in_one_line};
use tokio::time::{sleep, timeout};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Code, GrpcMethod, Request, Status};
use tonic_prost::ProstCodec;
use zeroize::Zeroizing;

use crate::message::{
    BatchReadBlobsRequest, BatchReadBlobsResponse, BatchUpdateBlobsRequest,
    BatchUpdateBlobsResponse, Digest, FindMissingBlobsRequest, FindMissingBlobsResponse,
    GetActionResultRequest, GetCapabilitiesRequest, ServerCapabilities, UpdateActionResultRequest,
};

/// How long is waited before a call is tried once more; twice as long before the next.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// What a slow line carries: a content has a second more for each of these.
const BYTES_PER_SECOND: u64 = 128 << 10;
/// The longest time for one transfer, however large.
const TRANSFER_MAX: Duration = Duration::from_hours(1);
/// The most bytes of a message that is taken.
const MESSAGE_MAX: usize = 16 << 20;

/// The server, as it is called.
#[derive(Clone)]
pub(crate) struct Client {
    grpc: Grpc<Channel>,
    /// What says who asks.
    authorization: Option<MetadataValue<tonic::metadata::Ascii>>,
    pub(crate) instance: Arc<str>,
    retries: u32,
    patience: Duration,
}

/// The token can't be in a header.
#[derive(Debug, thiserror::Error)]
#[error("the token has a character that can't be in a header")]
pub(crate) struct TokenError;

impl Client {
    pub(crate) fn new(channel: Channel, order: &RemoteOrder) -> Result<Self, TokenError> {
        let grpc = Grpc::new(channel)
            .max_decoding_message_size(MESSAGE_MAX)
            .max_encoding_message_size(MESSAGE_MAX);
        let authorization = order.token.as_ref().map(|token| {
            let text = Zeroizing::new(format!("Bearer {token}"));
            let mut value: MetadataValue<_> = text.parse()?;
            value.set_sensitive(true);
            Ok(value)
        });
        let authorization = authorization.transpose();
        Ok(Self {
            grpc,
            authorization: authorization
                .map_err(|_: tonic::metadata::errors::InvalidMetadataValue| TokenError)?,
            instance: order.instance.as_str().into(),
            retries: order.retries,
            patience: Duration::from_millis(order.patience_ms),
        })
    }

    /// Asks what the server can do.
    pub(crate) async fn capabilities(&self) -> Result<ServerCapabilities, Status> {
        let request = GetCapabilitiesRequest { instance_name: self.instance.to_string() };
        self.unary("build.bazel.remote.execution.v2.Capabilities", "GetCapabilities", request).await
    }

    /// Returns the bytes of an action's result.
    pub(crate) async fn action_result(&self, action: Digest) -> Result<Option<Bytes>, Status> {
        let request = GetActionResultRequest {
            instance_name: self.instance.to_string(),
            action_digest: Some(action),
        };
        let method = (ACTION_CACHE, "GetActionResult");
        match self.call(method, request, Raw::<GetActionResultRequest>::default).await {
            Ok(result) => Ok(Some(result)),
            Err(status) if status.code() == Code::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// Notes an action's result.
    pub(crate) async fn update_action_result(
        &self,
        action: Digest,
        action_result: Bytes,
    ) -> Result<(), Status> {
        let request = UpdateActionResultRequest {
            instance_name: self.instance.to_string(),
            action_digest: Some(action),
            action_result,
        };
        let method = (ACTION_CACHE, "UpdateActionResult");
        self.call(method, request, Raw::<UpdateActionResultRequest>::default).await.map(drop)
    }

    pub(crate) async fn find_missing(
        &self,
        blob_digests: Vec<Digest>,
    ) -> Result<FindMissingBlobsResponse, Status> {
        let instance_name = self.instance.to_string();
        let request = FindMissingBlobsRequest { instance_name, blob_digests };
        self.unary(STORAGE, "FindMissingBlobs", request).await
    }

    pub(crate) async fn batch_read(
        &self,
        request: BatchReadBlobsRequest,
        bytes: u64,
    ) -> Result<BatchReadBlobsResponse, Status> {
        self.carrying(bytes).unary(STORAGE, "BatchReadBlobs", request).await
    }

    pub(crate) async fn batch_update(
        &self,
        request: BatchUpdateBlobsRequest,
        bytes: u64,
    ) -> Result<BatchUpdateBlobsResponse, Status> {
        self.carrying(bytes).unary(STORAGE, "BatchUpdateBlobs", request).await
    }

    /// The same that takes no message of more bytes: one that is longer is `OUT_OF_RANGE`.
    pub(crate) fn taking(&self, bytes: usize) -> Self {
        Self { grpc: self.grpc.clone().max_decoding_message_size(bytes), ..self.clone() }
    }

    /// The same with more time for each call, which carries so many bytes.
    fn carrying(&self, bytes: u64) -> Self {
        Self { patience: self.patience + time_for(bytes), ..self.clone() }
    }

    async fn unary<Q, A>(
        &self,
        service: &'static str,
        method: &'static str,
        request: Q,
    ) -> Result<A, Status>
    where
        Q: prost::Message + Clone + 'static,
        A: prost::Message + Default + 'static,
    {
        self.call((service, method), request, ProstCodec::<Q, A>::default).await
    }

    async fn call<C>(
        &self,
        method: (&'static str, &'static str),
        request: C::Encode,
        codec: impl Fn() -> C,
    ) -> Result<C::Decode, Status>
    where
        C: Codec,
        C::Encode: Clone + Send + Sync + 'static,
        C::Decode: Send + Sync + 'static,
    {
        self.again(0, || async {
            let mut grpc = self.ready().await?;
            let path = path(method);
            let request = self.request(request.clone(), method);
            Ok(grpc.unary(request, path, codec()).await?.into_inner())
        })
        .await
    }

    /// Returns the server once it takes a call.
    pub(crate) async fn ready(&self) -> Result<Grpc<Channel>, Status> {
        let mut grpc = self.grpc.clone();
        grpc.ready().await.map_err(|error| Status::unavailable(in_one_line(&error)))?;
        Ok(grpc)
    }

    /// Says who asks.
    pub(crate) fn request<T>(
        &self,
        message: T,
        (service, method): (&'static str, &'static str),
    ) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(authorization) = &self.authorization {
            request.metadata_mut().insert("authorization", authorization.clone());
        }
        request.extensions_mut().insert(GrpcMethod::new(service, method));
        request
    }

    /// Calls until there is an answer that is not for now only. A call has more time the more bytes go with it.
    pub(crate) async fn again<T, F>(&self, bytes: u64, call: impl Fn() -> F) -> Result<T, Status>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let patience = self.patience + time_for(bytes);
        let mut pause = PAUSE;
        for _ in 0..self.retries {
            match once(patience, &call).await {
                Err(status) if is_for_now(&status) => sleep(pause).await,
                answer => return answer,
            }
            pause = PAUSE_MAX.min(2 * pause);
        }
        once(patience, &call).await
    }
}

/// How long so many bytes may take.
pub(crate) fn time_for(bytes: u64) -> Duration {
    TRANSFER_MAX.min(Duration::from_secs(bytes / BYTES_PER_SECOND))
}

async fn once<T, F>(patience: Duration, call: impl Fn() -> F) -> Result<T, Status>
where
    F: Future<Output = Result<T, Status>>,
{
    let late = || format!("no answer within {} s", patience.as_secs_f32());
    timeout(patience, call()).await.map_err(|_| Status::deadline_exceeded(late()))?
}

const ACTION_CACHE: &str = "build.bazel.remote.execution.v2.ActionCache";
const STORAGE: &str = "build.bazel.remote.execution.v2.ContentAddressableStorage";

pub(crate) fn path((service, method): (&str, &str)) -> http::uri::PathAndQuery {
    let path = format!("/{service}/{method}");
    path.try_into().expect("names of services have letters and dots")
}

/// Whether the same call may be answered later.
fn is_for_now(status: &Status) -> bool {
    use Code::{Aborted, DeadlineExceeded, ResourceExhausted, Unavailable};
    matches!(status.code(), Aborted | DeadlineExceeded | ResourceExhausted | Unavailable)
}

/// Whether nobody answered, so that there is no use in asking more.
pub(crate) fn is_gone(status: &Status) -> bool {
    use Code::{DeadlineExceeded, PermissionDenied, Unauthenticated, Unavailable};
    let code = status.code();
    matches!(code, DeadlineExceeded | Unavailable | PermissionDenied | Unauthenticated)
}

/// What a status says: the message of the server or, where the connection failed, why.
pub(crate) fn said(status: &Status) -> String {
    match std::error::Error::source(status) {
        Some(source) => format!("{}: {}", status.message(), in_one_line(source)),
        None => status.message().to_owned(),
    }
}

/// Takes an answer as bytes, whatever message is in them.
#[derive(Debug)]
struct Raw<Q>(std::marker::PhantomData<Q>);

impl<Q> Default for Raw<Q> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<Q: prost::Message + 'static> Codec for Raw<Q> {
    type Encode = Q;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = RawDecoder;

    fn encoder(&mut self) -> Self {
        Self::default()
    }

    fn decoder(&mut self) -> RawDecoder {
        RawDecoder
    }
}

impl<Q: prost::Message> Encoder for Raw<Q> {
    type Item = Q;
    type Error = Status;

    fn encode(&mut self, item: Q, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.reserve(item.encoded_len());
        item.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }
}

#[derive(Debug)]
struct RawDecoder;

impl Decoder for RawDecoder {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
