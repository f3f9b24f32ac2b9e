//! The messages of the services: fields and numbers of `remote_execution.proto` and `bytestream.proto`.
//! Digest functions are left out: SHA-256 is known by the length of a hash.

use endow_policy::RemoteContent;

/// Contents as they are.
pub(crate) const IDENTITY: i32 = 0;
/// Contents in Zstandard.
pub(crate) const ZSTD: i32 = 1;
/// The number of SHA-256 among digest functions.
pub(crate) const SHA256: i32 = 1;

#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub(crate) struct Digest {
    #[prost(string, tag = "1")]
    pub(crate) hash: String,
    #[prost(int64, tag = "2")]
    pub(crate) size_bytes: i64,
}

impl Digest {
    pub(crate) fn new(hash: &str, size: u64) -> Self {
        // No content has more than i64::MAX bytes: off_t of lseek(2) ends there.
        Self { hash: hash.to_owned(), size_bytes: i64::try_from(size).unwrap_or(i64::MAX) }
    }

    pub(crate) fn of(content: &RemoteContent) -> Self {
        Self::new(&content.hash, content.size)
    }
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct GetCapabilitiesRequest {
    #[prost(string, tag = "1")]
    pub(crate) instance_name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct ServerCapabilities {
    #[prost(message, optional, tag = "1")]
    pub(crate) cache_capabilities: Option<CacheCapabilities>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct CacheCapabilities {
    #[prost(int32, repeated, tag = "1")]
    pub(crate) digest_functions: Vec<i32>,
    #[prost(message, optional, tag = "2")]
    pub(crate) action_cache_update_capabilities: Option<ActionCacheUpdateCapabilities>,
    #[prost(int64, tag = "4")]
    pub(crate) max_batch_total_size_bytes: i64,
    #[prost(int32, repeated, tag = "6")]
    pub(crate) supported_compressors: Vec<i32>,
    #[prost(int32, repeated, tag = "7")]
    pub(crate) supported_batch_update_compressors: Vec<i32>,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct ActionCacheUpdateCapabilities {
    #[prost(bool, tag = "1")]
    pub(crate) update_enabled: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct GetActionResultRequest {
    #[prost(string, tag = "1")]
    pub(crate) instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) action_digest: Option<Digest>,
}

/// The result is passed on as it is: a message within a message is bytes with a length.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct UpdateActionResultRequest {
    #[prost(string, tag = "1")]
    pub(crate) instance_name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) action_digest: Option<Digest>,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) action_result: bytes::Bytes,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct FindMissingBlobsRequest {
    #[prost(string, tag = "1")]
    pub(crate) instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) blob_digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct FindMissingBlobsResponse {
    #[prost(message, repeated, tag = "2")]
    pub(crate) missing_blob_digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct BatchUpdateBlobsRequest {
    #[prost(string, tag = "1")]
    pub(crate) instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) requests: Vec<BatchUpdate>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct BatchUpdate {
    #[prost(message, optional, tag = "1")]
    pub(crate) digest: Option<Digest>,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) data: bytes::Bytes,
    #[prost(int32, tag = "3")]
    pub(crate) compressor: i32,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct BatchUpdateBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) responses: Vec<BatchUpdated>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct BatchUpdated {
    #[prost(message, optional, tag = "1")]
    pub(crate) digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub(crate) status: Option<Status>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct BatchReadBlobsRequest {
    #[prost(string, tag = "1")]
    pub(crate) instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) digests: Vec<Digest>,
    #[prost(int32, repeated, tag = "3")]
    pub(crate) acceptable_compressors: Vec<i32>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct BatchReadBlobsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) responses: Vec<BatchRead>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct BatchRead {
    #[prost(message, optional, tag = "1")]
    pub(crate) digest: Option<Digest>,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) data: bytes::Bytes,
    #[prost(message, optional, tag = "3")]
    pub(crate) status: Option<Status>,
    #[prost(int32, tag = "4")]
    pub(crate) compressor: i32,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Status {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct ReadRequest {
    #[prost(string, tag = "1")]
    pub(crate) resource_name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct ReadResponse {
    #[prost(bytes = "bytes", tag = "10")]
    pub(crate) data: bytes::Bytes,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct WriteRequest {
    #[prost(string, tag = "1")]
    pub(crate) resource_name: String,
    #[prost(int64, tag = "2")]
    pub(crate) write_offset: i64,
    #[prost(bool, tag = "3")]
    pub(crate) finish_write: bool,
    #[prost(bytes = "bytes", tag = "10")]
    pub(crate) data: bytes::Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct WriteResponse {
    #[prost(int64, tag = "1")]
    pub(crate) committed_size: i64,
}
