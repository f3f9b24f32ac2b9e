//! Collecting the content-addressed store: what is kept may name more, as others wrote it.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use endow_policy::in_one_line;
use endow_vfs::cas::{Digest, GcProgress, GcReport, Store, StoreError, gc};
use endow_vfs::fs::OsFs;

use super::{Amount, MakeError, Watch};
use crate::confined::{self, Reach};

/// Removes what neither a lease nor a name keeps, nor is in `kept`, and was not used for longest, until the store at
/// `source` has at most `quota` bytes; waits no longer than `patience` for those who put something.
///
/// # Errors
/// A store that can't be used, or in which something is put for longer.
pub(crate) fn collect_store(
    source: &Path,
    (quota, kept): (u64, Vec<Digest>),
    patience: Duration,
    watch: Watch<'_>,
) -> Result<GcReport, MakeError> {
    let root = File::open(source).map_err(|error| MakeError::Source(in_one_line(&error)))?;
    let reach = Reach { write: vec![root.as_fd()], ..Reach::default() };
    let collected = confined::watched(&reach, watch, |teller| {
        let said =
            |error: StoreError| (matches!(error, StoreError::Busy { .. }), in_one_line(&error));
        let store = Store::open(&OsFs, source).map_err(said)?;
        let others = || Ok::<_, StoreError>(kept);
        let mut removed = |step| {
            if let GcProgress::Removed { digest, .. } = step {
                teller.add(Amount { files: 1, bytes: digest.size });
            }
        };
        let collected = gc(&store.with_patience(patience), quota, others, &mut removed);
        collected.map_err(said)
    });
    let failed = |(is_busy, said)| {
        if is_busy { MakeError::Busy(said) } else { MakeError::Source(said) }
    };
    collected.map_err(MakeError::Confined)?.map_err(failed)
}
