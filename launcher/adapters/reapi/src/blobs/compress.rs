//! Zstandard, in memory: for contents that are not large.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tonic::Status;

/// The largest content that goes compressed.
pub(crate) const COMPRESSED_MAX: u64 = 16 << 20;
/// How much more than the content itself its compressed form may have.
pub(crate) const SLACK: u64 = 64 << 10;

pub(crate) fn compressed(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Returns the content, which has so many bytes.
pub(crate) fn expanded(mut bytes: &[u8], size: u64) -> Result<Vec<u8>, Status> {
    let wrong = || Status::data_loss("the content is not the Zstandard that it should be");
    let length = usize::try_from(size.min(COMPRESSED_MAX)).map_err(|_| wrong())?;
    let mut content = Vec::with_capacity(length);
    // A content may be several frames, one behind the other.
    while !bytes.is_empty() {
        let decoder = StreamingDecoder::new(&mut bytes).map_err(|_| wrong())?;
        // One byte more shows a content that is longer.
        let room = size.saturating_add(1) - content.len() as u64;
        decoder.take(room).read_to_end(&mut content).map_err(|_| wrong())?;
        if content.len() as u64 > size {
            return Err(wrong());
        }
    }
    if content.len() as u64 == size { Ok(content) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_back() {
        for content in [Vec::new(), vec![b'a'], vec![7; 100_000]] {
            let there = compressed(&content);
            let back = expanded(&there, content.len() as u64).expect("comes back");
            assert_eq!(back, content);
            let twice = [there.as_slice(), there.as_slice()].concat();
            let back = expanded(&twice, 2 * content.len() as u64).expect("two frames");
            assert_eq!(back, [content.as_slice(), &content].concat());
        }
    }

    #[test]
    fn other_sizes_and_other_bytes_are_refused() {
        let there = compressed(&vec![7; 100_000]);
        for size in [0, 99_999, 100_001, u64::MAX - 1] {
            assert!(expanded(&there, size).is_err(), "{size}");
        }
        assert!(expanded(b"no frame", 8).is_err());
        for length in 1..there.len() {
            assert!(expanded(&there[..length], 100_000).is_err(), "{length}");
        }
    }
}
