//! Entries of the process file system that show or change the host.

use std::path::Path;

use super::small_file::is_absent;
use crate::plan::host::{ProcCover, ProcEntry};

/// What is covered, and how. A directory or file that this kernel does not have is left out.
const COVERED: [(&str, ProcCover); 14] = [
    ("acpi", ProcCover::EmptyDirectory),
    ("asound", ProcCover::EmptyDirectory),
    ("bus", ProcCover::ReadOnly),
    ("fs", ProcCover::ReadOnly),
    ("irq", ProcCover::ReadOnly),
    ("kcore", ProcCover::EmptyFile),
    ("keys", ProcCover::EmptyFile),
    ("key-users", ProcCover::EmptyFile),
    ("latency_stats", ProcCover::EmptyFile),
    ("sched_debug", ProcCover::EmptyFile),
    ("scsi", ProcCover::EmptyDirectory),
    ("sys", ProcCover::ReadOnly),
    ("sysrq-trigger", ProcCover::EmptyFile),
    ("timer_list", ProcCover::EmptyFile),
];

/// What only root may read or write anyway, and is covered when root is the user: it owns these
/// files inside as well.
const COVERED_FROM_ROOT: [(&str, ProcCover); 9] = [
    ("allocinfo", ProcCover::EmptyFile),
    ("driver", ProcCover::ReadOnly),
    ("dynamic_debug", ProcCover::ReadOnly),
    ("kpagecgroup", ProcCover::EmptyFile),
    ("kpagecount", ProcCover::EmptyFile),
    ("kpageflags", ProcCover::EmptyFile),
    ("pagetypeinfo", ProcCover::EmptyFile),
    ("slabinfo", ProcCover::EmptyFile),
    ("vmallocinfo", ProcCover::EmptyFile),
];

/// Returns the entries of `/proc` to be covered that exist here: a new process file system has the same ones. One
/// that can't be looked at counts as there, and a cover that finds nothing there is an error.
pub(super) fn entries(uid: u32) -> Vec<ProcEntry> {
    let exists = |name: &str| !is_absent(&Path::new("/proc").join(name));
    let from_root: &[_] = if uid == 0 { &COVERED_FROM_ROOT } else { &[] };
    let found = COVERED.iter().chain(from_root).filter(|(name, _)| exists(name));
    found.map(|(name, cover)| ProcEntry { name: (*name).to_owned(), cover: *cover }).collect()
}
