//! Collecting the content-addressed store: what is kept may name more, as others wrote it.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use endow_policy::in_one_line;
use endow_vfs::cas::{Closed, Digest, GcProgress, GcReport, Store, StoreError, gc};
use endow_vfs::fs::OsFs;

use super::{Amount, MakeError, Watch};
use crate::confined::{self, Reach};

/// A collection of a store that is going to be: nobody puts anything meanwhile. Who does notes first
/// what for, so what is to be kept is asked for only now.
#[derive(Debug)]
pub(crate) struct Collection {
    source: PathBuf,
    closed: Closed,
}

impl Collection {
    /// Waits for those who put something into the store at `source`, no longer than `patience`.
    ///
    /// # Errors
    /// A store that can't be used, or in which something is put for longer.
    pub(crate) fn begin(source: &Path, patience: Duration) -> Result<Self, MakeError> {
        let closed = Store::open(&OsFs, source).and_then(|it| it.with_patience(patience).close());
        let closed = closed.map_err(|error| match &error {
            StoreError::Busy { .. } => MakeError::Busy(in_one_line(&error)),
            _ => MakeError::Source(in_one_line(&error)),
        });
        Ok(Self { source: source.to_owned(), closed: closed? })
    }

    /// Removes what neither a lease nor a name keeps, nor is in `kept`, and was not used for longest,
    /// until the store has at most `quota` bytes.
    ///
    /// # Errors
    /// A store that can't be used.
    pub(crate) fn collect(
        self,
        quota: u64,
        kept: Vec<Digest>,
        watch: Watch<'_>,
    ) -> Result<GcReport, MakeError> {
        let source = self.source.as_path();
        let root = File::open(source).map_err(|error| MakeError::Source(in_one_line(&error)))?;
        // The lock with it: what removes objects may outlive this process by one of them.
        let keep = vec![self.closed.as_fd()];
        let reach = Reach { write: vec![root.as_fd()], keep, ..Reach::default() };
        let collected = confined::watched(&reach, watch, |teller| {
            let mut removed = |step| teller.add(amount(&step));
            let collected = Store::open(&OsFs, source)
                .and_then(|store| gc(&store, (quota, kept), &mut removed));
            collected.map_err(|error| in_one_line(&error))
        });
        collected.map_err(MakeError::Confined)?.map_err(MakeError::Source)
    }
}

fn amount(step: &GcProgress) -> Amount {
    match step {
        GcProgress::Removed { digest, .. } => Amount { files: 1, bytes: digest.size },
        GcProgress::Marked { .. } => Amount::default(),
    }
}
