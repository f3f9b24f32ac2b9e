//! Limits of layers on disk: no ordinary user can cap a directory, so the supervisor measures.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use endow_policy::Limits;
use endow_vfs::fs::OsFs;
use endow_vfs::tree::measure_tree;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::plan::step::{Buffered, UPPER};

/// How often layers are measured, at most.
const EACH: Duration = Duration::from_secs(1);
/// Measuring takes no more than one part of this many of the time.
const SHARE: u32 = 20;

/// Layers whose size is watched.
#[derive(Debug)]
pub(crate) struct Measured {
    layers: Vec<OwnedFd>,
    bytes: u64,
    files: u64,
    next: Instant,
}

impl Measured {
    /// Returns the layers on disk of a run, when they have limits; those in memory are capped by
    /// the kernel.
    pub(crate) fn new<'a>(
        buffered: impl Iterator<Item = &'a Buffered>,
        limits: &Limits,
        run: &Path,
    ) -> Result<Option<Self>, Errno> {
        if limits.layer_size_bytes.is_none() && limits.layer_files.is_none() {
            return Ok(None);
        }
        let on_disk = buffered.filter(|it| it.directory && !it.in_memory);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |it: &Buffered| openat(CWD, run.join(&it.layer.0), flags, Mode::empty());
        let layers: Vec<OwnedFd> = on_disk.map(open).collect::<Result<_, _>>()?;
        let bytes = limits.layer_size_bytes.unwrap_or(u64::MAX);
        let files = limits.layer_files.unwrap_or(u64::MAX);
        let next = Instant::now() + EACH;
        Ok((!layers.is_empty()).then_some(Self { layers, bytes, files, next }))
    }

    /// Returns when to measure next.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Measures when it is time; returns whether a limit is passed.
    pub(super) fn is_passed(&mut self) -> bool {
        let start = Instant::now();
        if start < self.next {
            return false;
        }
        let (mut bytes, mut files) = (0, 0);
        for layer in &self.layers {
            let found = measure_tree(&OsFs, layer.as_fd(), UPPER.as_ref()).unwrap_or_default();
            bytes += found.bytes;
            // Its root was there before.
            files += found.entries.saturating_sub(1);
        }
        let end = Instant::now();
        self.next = end + EACH.max((end - start) * SHARE);
        bytes > self.bytes || files > self.files
    }
}
