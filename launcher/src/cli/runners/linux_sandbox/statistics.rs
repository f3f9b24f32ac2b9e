//! What a command used, as Bazel reads it.

use std::fs::File;
use std::io::{self, Write};

use prost::Message;

use crate::apply::Usage;

const MICROSECONDS: u64 = 1_000_000;

/// `tools.protos.ExecutionStatistics` of Bazel.
#[derive(Clone, PartialEq, Eq, Message)]
struct ExecutionStatistics {
    #[prost(message, optional, tag = "1")]
    resource_usage: Option<ResourceUsage>,
}

/// The fields of `getrusage(2)`, under the numbers that Bazel gives them; those that are not known are left
/// out.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
struct ResourceUsage {
    #[prost(int64, tag = "1")]
    utime_sec: i64,
    #[prost(int64, tag = "2")]
    utime_usec: i64,
    #[prost(int64, tag = "3")]
    stime_sec: i64,
    #[prost(int64, tag = "4")]
    stime_usec: i64,
    /// KiB.
    #[prost(int64, tag = "5")]
    maxrss: i64,
}

/// Writes what a command used into a file; nothing when that is not known, as when it was killed.
pub(super) fn write(mut file: File, usage: Option<Usage>) -> io::Result<()> {
    file.write_all(&usage.map(message).unwrap_or_default().encode_to_vec())
}

fn message(usage: Usage) -> ExecutionStatistics {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let resource_usage = Some(ResourceUsage {
        utime_sec: number(usage.user_us / MICROSECONDS),
        utime_usec: number(usage.user_us % MICROSECONDS),
        stime_sec: number(usage.system_us / MICROSECONDS),
        stime_usec: number(usage.system_us % MICROSECONDS),
        maxrss: number(usage.max_rss_kib),
    });
    ExecutionStatistics { resource_usage }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of `linux-sandbox -S` of Bazel 4.2.3, without the fields that are left out here.
    #[test]
    fn usage_is_written_as_bazel_does() {
        let usage = Usage { user_us: 204_337, system_us: 1_051_110, max_rss_kib: 3_612 };
        let bytes = message(usage).encode_to_vec();
        let expected =
            [0x0a, 13, 0x10, 0xb1, 0xbc, 0x0c, 0x18, 1, 0x20, 0xa6, 0x8f, 0x03, 0x28, 0x9c, 0x1c];
        assert_eq!(bytes, expected);
    }
}
