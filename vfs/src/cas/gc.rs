//! Removing what nobody used of late, until a store is small enough.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};

use serde::{Deserialize, Serialize};

use super::lock::StoreLock;
use super::mark::reachable;
use super::store::Object;
use super::{Digest, Store, StoreError};

/// How far a collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcProgress {
    /// It knows what is to be kept.
    Marked {
        /// How many objects there are.
        objects: usize,
        /// How many of them are kept.
        kept: usize,
    },
    /// It removed an object.
    Removed {
        /// Which one.
        digest: Digest,
        /// The bytes all objects take on the disk now.
        allocated: u64,
    },
}

/// What a collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcReport {
    /// Objects that leases and pins keep.
    pub kept: usize,
    /// Objects that were removed.
    pub removed: usize,
    /// The bytes on the disk that these took.
    pub freed: u64,
    /// The bytes that all others take.
    pub allocated: u64,
    /// Leases of processes that are dead, which were removed.
    pub dead_leases: usize,
    /// Files of dead writers, which were removed.
    pub swept: usize,
    /// Whether the store is as small as was asked.
    pub is_within_quota: bool,
}

/// While it is held nobody publishes and nobody leases: what else is to be kept by a collection is asked now,
/// and not before, since whoever publishes notes first what it publishes for.
#[derive(Debug)]
pub struct Closed {
    lock: StoreLock,
}

/// Whoever has the descriptor, or a copy of it, keeps the store closed.
impl AsFd for Closed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

impl Store<'_> {
    /// Waits until nobody publishes, and keeps others from it, for [`gc`].
    ///
    /// # Errors
    /// [`StoreError::Busy`] when somebody publishes for too long, or a failing call.
    pub fn close(&self) -> Result<Closed, StoreError> {
        Ok(Closed { lock: StoreLock::exclusive(self)? })
    }
}

/// Removes objects that neither a living lease nor a pin keeps nor `others` lead to, those first that were not used
/// for the longest time, until all together take no more than `quota` bytes of the disk. The caller holds
/// the store [`Closed`], or a copy of what holds it, and asked for `others` since.
///
/// # Errors
/// [`StoreError::Roots`] when it can't be known what is to be kept, or a failing call. What was removed by then
/// stays removed.
pub fn gc(
    store: &Store<'_>,
    (quota, others): (u64, Vec<Digest>),
    progress: &mut dyn FnMut(GcProgress),
) -> Result<GcReport, StoreError> {
    let swept = store.sweep()?;
    store.sweep_retained()?;
    let (mut roots, dead_leases) = store.leased()?;
    roots.extend(store.retained()?.into_iter().flat_map(|(_, roots)| roots));
    roots.extend(others);
    let objects = store.all_objects()?;
    let digests: HashSet<Digest> = objects.iter().map(|object| object.digest).collect();
    let kept = reachable(store, &digests, roots)?;
    progress(GcProgress::Marked { objects: objects.len(), kept: kept.len() });
    let report = GcReport { kept: kept.len(), dead_leases, swept, ..GcReport::default() };
    collect(Collecting { store, quota, report, progress }, &objects, &kept)
}

struct Collecting<'a> {
    store: &'a Store<'a>,
    quota: u64,
    report: GcReport,
    progress: &'a mut dyn FnMut(GcProgress),
}

fn collect(
    collecting: Collecting<'_>,
    objects: &[Object],
    kept: &HashSet<Digest>,
) -> Result<GcReport, StoreError> {
    let Collecting { store, quota, mut report, progress } = collecting;
    report.allocated = objects.iter().map(|object| object.allocated).sum();
    for object in oldest_first(objects, kept) {
        if report.allocated <= quota {
            break;
        }
        match store.remove(&object.digest) {
            // Whoever removed it made the same room.
            Ok(()) | Err(StoreError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
        report.removed += 1;
        report.freed += object.allocated;
        report.allocated -= object.allocated;
        progress(GcProgress::Removed { digest: object.digest, allocated: report.allocated });
    }
    report.is_within_quota = report.allocated <= quota;
    Ok(report)
}

fn oldest_first<'a>(objects: &'a [Object], kept: &HashSet<Digest>) -> Vec<&'a Object> {
    let free = objects.iter().filter(|object| !kept.contains(&object.digest));
    let mut free: Vec<&Object> = free.collect();
    free.sort_by_key(|object| (object.used.tv_sec, object.used.tv_nsec, object.digest));
    free
}

#[cfg(test)]
mod tests;
