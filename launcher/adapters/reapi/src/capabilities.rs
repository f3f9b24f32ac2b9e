//! What the server can do, as far as it matters here.

use tonic::Status;

use crate::client::said;
use crate::message::{CacheCapabilities, SHA256, ServerCapabilities, ZSTD};

/// The most bytes of contents in one message: below what gRPC takes where nothing is said, 4 MiB, by what the
/// message has beside them.
const BATCH_MAX: u64 = (4 << 20) - (64 << 10);

/// A server that says less would have every content asked for by itself.
const BATCH_MIN: u64 = 2 << 10;

/// What the server can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// The most bytes of contents in one message.
    pub(crate) batch_bytes: u64,
    /// Whether streams may be compressed.
    pub(crate) streams_zstd: bool,
    /// Whether contents in one message may be compressed when they are put.
    pub(crate) batches_zstd: bool,
}

/// Why the server can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CapabilitiesError {
    /// It can't be asked.
    #[error("the server does not say what it can do: {}", said(.0))]
    Asked(Status),
    /// It has no cache.
    #[error("the server is no cache")]
    NoCache,
    /// Contents have other names there.
    #[error("the server does not know SHA-256")]
    OtherDigests,
    /// Nothing can be put there.
    #[error("the server takes no results: `mode = \"read\"` asks for none")]
    ReadOnly,
}

impl Capabilities {
    /// Reads what the server says.
    pub(crate) fn of(said: ServerCapabilities, writes: bool) -> Result<Self, CapabilitiesError> {
        let cache = said.cache_capabilities.ok_or(CapabilitiesError::NoCache)?;
        if !cache.digest_functions.contains(&SHA256) {
            return Err(CapabilitiesError::OtherDigests);
        }
        let updates = cache.action_cache_update_capabilities;
        if writes && !updates.is_some_and(|it| it.update_enabled) {
            return Err(CapabilitiesError::ReadOnly);
        }
        Ok(Self {
            batch_bytes: batch_bytes(&cache),
            streams_zstd: cache.supported_compressors.contains(&ZSTD),
            batches_zstd: cache.supported_batch_update_compressors.contains(&ZSTD),
        })
    }
}

/// Zero is a server without a bound of its own.
fn batch_bytes(cache: &CacheCapabilities) -> u64 {
    match u64::try_from(cache.max_batch_total_size_bytes) {
        Ok(0) | Err(_) => BATCH_MAX,
        Ok(bytes) => bytes.clamp(BATCH_MIN, BATCH_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ActionCacheUpdateCapabilities;

    fn said(change: impl FnOnce(&mut CacheCapabilities)) -> ServerCapabilities {
        let mut cache = CacheCapabilities {
            digest_functions: vec![SHA256],
            action_cache_update_capabilities: Some(ActionCacheUpdateCapabilities {
                update_enabled: true,
            }),
            ..CacheCapabilities::default()
        };
        change(&mut cache);
        ServerCapabilities { cache_capabilities: Some(cache) }
    }

    #[test]
    fn servers_that_can_not_be_used_are_refused() {
        let refused = |said, writes| Capabilities::of(said, writes).expect_err("refused");
        let none = ServerCapabilities { cache_capabilities: None };
        assert!(matches!(refused(none, false), CapabilitiesError::NoCache));
        let other = said(|it| it.digest_functions = vec![9]);
        assert!(matches!(refused(other, false), CapabilitiesError::OtherDigests));
        let closed = || said(|it| it.action_cache_update_capabilities = None);
        assert!(matches!(refused(closed(), true), CapabilitiesError::ReadOnly));
        assert!(Capabilities::of(closed(), false).is_ok());
    }

    #[test]
    fn batches_keep_to_the_smaller_bound() {
        for (bytes, bound) in
            [(0, BATCH_MAX), (-1, BATCH_MAX), (1, BATCH_MIN), (9000, 9000), (1 << 30, BATCH_MAX)]
        {
            let said = said(|it| it.max_batch_total_size_bytes = bytes);
            let found = Capabilities::of(said, true).expect("of use");
            assert_eq!(found.batch_bytes, bound, "{bytes}");
        }
    }
}
