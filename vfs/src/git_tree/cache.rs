//! What deltas are made against, kept while a reader goes on: neighbours in a pack share it.

use std::collections::HashMap;

use gix_object::Kind;
use gix_pack::cache::DecodeEntry;

/// Bytes that are kept.
const MOST: usize = 48 << 20;
/// The largest object that is kept.
const LARGEST: usize = 4 << 20;

/// Objects by pack and place. When it is full, it begins anew.
///
/// Not one of gix-pack's: where its count of bytes passes the limit, the limit is gone.
#[derive(Default)]
pub(super) struct Bases {
    kept: HashMap<(u32, u64), Base>,
    bytes: usize,
}

struct Base {
    data: Box<[u8]>,
    kind: Kind,
    packed: usize,
}

impl DecodeEntry for Bases {
    fn put(&mut self, pack: u32, offset: u64, data: &[u8], kind: Kind, packed: usize) {
        if data.len() > LARGEST {
            return;
        }
        if self.bytes + data.len() > MOST {
            self.kept.clear();
            self.bytes = 0;
        }
        let base = Base { data: data.into(), kind, packed };
        self.bytes += data.len();
        if let Some(before) = self.kept.insert((pack, offset), base) {
            self.bytes -= before.data.len();
        }
    }

    fn get(&mut self, pack: u32, offset: u64, out: &mut Vec<u8>) -> Option<(Kind, usize)> {
        let base = self.kept.get(&(pack, offset))?;
        out.clear();
        out.extend_from_slice(&base.data);
        Some((base.kind, base.packed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_stays_below_its_bound() {
        let mut bases = Bases::default();
        let data = vec![7; LARGEST];
        for offset in 0..40 {
            bases.put(1, offset, &data, Kind::Blob, 3);
            bases.put(1, offset, &data, Kind::Blob, 3);
            assert!(bases.bytes <= MOST && bases.kept.len() * LARGEST == bases.bytes);
        }
        let mut out = Vec::new();
        assert_eq!(bases.get(1, 39, &mut out), Some((Kind::Blob, 3)));
        assert_eq!((out.len(), bases.get(2, 39, &mut out)), (LARGEST, None));
        bases.put(1, 99, &vec![7; LARGEST + 1], Kind::Blob, 3);
        assert_eq!(bases.get(1, 99, &mut out), None);
    }
}
