//! Limits of layers on disk: no ordinary user can cap a directory, so the supervisor measures.
//!
//! Where something can't be looked at, a command may hide anything there. Then the whole file system
//! counts, by as much as it was filled since it held the least, whoever did it. Several looks must find that, one
//! soon after another: a process that becomes another program, or a directory that is moved, can't be looked at for
//! a moment. A look that sees everything takes back one of them, no more: else what is hidden would have to be
//! missed by few.

mod nameless;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use endow_policy::{GuestPath, Limits};
use endow_vfs::fs::OsFs;
use endow_vfs::tree::{Measure, measure_tree};
use rustix::fs::{CWD, Mode, OFlags, fstat, fstatvfs, openat};
use rustix::io::Errno;

use super::event::Counted;
use crate::plan::step::{RunPath, UPPER};

/// How often layers are measured, at most.
const EACH: Duration = Duration::from_secs(1);
/// Measuring takes no more than one part of this many of the time.
const SHARE: u32 = 20;
/// How many looks must leave something unseen before the file system counts, and when the next of them is due.
const LOOKS: u32 = 4;
const AGAIN: Duration = Duration::from_millis(100);

/// Layers whose size is watched.
#[derive(Debug)]
pub(crate) struct Measured {
    layers: Vec<Layer>,
    limit: Amount,
    /// The least that the file system of all layers held since the start: what others take away is
    /// not the command's to fill. `None` when it does not tell.
    least: Option<Amount>,
    /// How many looks made the file system count, less those that did not.
    doubts: u32,
    next: Instant,
}

#[derive(Debug)]
struct Layer {
    directory: OwnedFd,
    /// Its place in the view.
    at: PathBuf,
    /// What was found when it could be measured last.
    last: Measure,
}

/// How much is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    bytes: u64,
    files: u64,
}

impl Amount {
    fn passes(self, limit: Self) -> bool {
        self.bytes > limit.bytes || self.files > limit.files
    }

    fn add(&mut self, bytes: u64, files: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.files = self.files.saturating_add(files);
    }

    /// Returns what a whole file system holds.
    fn of(directory: BorrowedFd<'_>) -> Option<Self> {
        let found = fstatvfs(directory).ok()?;
        let bytes = found.f_blocks.saturating_sub(found.f_bfree).saturating_mul(found.f_frsize);
        Some(Self { bytes, files: found.f_files.saturating_sub(found.f_ffree) })
    }

    fn min(self, other: Self) -> Self {
        Self { bytes: self.bytes.min(other.bytes), files: self.files.min(other.files) }
    }

    fn since(self, before: Self) -> Self {
        let bytes = self.bytes.saturating_sub(before.bytes);
        Self { bytes, files: self.files.saturating_sub(before.files) }
    }
}

/// What was counted, and whether there may be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Whole(Amount),
    AtLeast(Amount),
}

impl Measured {
    /// Returns the layers on disk of a run, when they have limits; those in memory are capped by
    /// the kernel.
    pub(crate) fn new<'a>(
        on_disk: impl Iterator<Item = (&'a GuestPath, &'a RunPath)>,
        limits: &Limits,
        run: &Path,
    ) -> Result<Option<Self>, Errno> {
        if limits.layer_size_bytes.is_none() && limits.layer_files.is_none() {
            return Ok(None);
        }
        let layers = on_disk.map(|it| Layer::new(it, run)).collect::<Result<Vec<_>, _>>()?;
        let bytes = limits.layer_size_bytes.unwrap_or(u64::MAX);
        let limit = Amount { bytes, files: limits.layer_files.unwrap_or(u64::MAX) };
        // All are in the run's directory.
        let least = layers.first().and_then(|layer| Amount::of(layer.directory.as_fd()));
        let next = Instant::now() + EACH;
        Ok((!layers.is_empty()).then_some(Self { layers, limit, least, doubts: 0, next }))
    }

    /// Returns when to measure next.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Measures when it is time; returns whether a limit is passed, and by what.
    pub(super) fn passed(&mut self, pid_1: i32) -> Option<Counted> {
        let start = Instant::now();
        if start < self.next {
            return None;
        }
        let found = self.count(pid_1);
        let judged = self.judge(found);
        let end = Instant::now();
        let usual = EACH.max((end - start) * SHARE);
        self.next = end + if self.is_doubted(judged) { AGAIN } else { usual };
        judged.filter(|_| !self.is_doubted(judged))
    }

    /// Returns whether a judgement may be that of a moment.
    fn is_doubted(&self, judged: Option<Counted>) -> bool {
        judged == Some(Counted::FileSystem) && self.doubts < LOOKS
    }

    fn judge(&mut self, found: Extent) -> Option<Counted> {
        let grown = self.grown();
        let judged = match found {
            Extent::Whole(amount) | Extent::AtLeast(amount) if amount.passes(self.limit) => {
                Some(Counted::Layers)
            }
            Extent::AtLeast(_) if grown.is_none_or(|it| it.passes(self.limit)) => {
                Some(Counted::FileSystem)
            }
            Extent::Whole(_) | Extent::AtLeast(_) => None,
        };
        let is_doubtful = judged == Some(Counted::FileSystem);
        self.doubts = if is_doubtful { self.doubts + 1 } else { self.doubts.saturating_sub(1) };
        judged
    }

    /// Returns by how much the file system was filled since it held the least.
    fn grown(&mut self) -> Option<Amount> {
        let now = Amount::of(self.layers.first()?.directory.as_fd())?;
        let least = self.least.as_mut()?;
        *least = least.min(now);
        Some(now.since(*least))
    }

    fn count(&mut self, pid_1: i32) -> Extent {
        let places: Vec<&Path> = self.layers.iter().map(|layer| layer.at.as_path()).collect();
        let device = self.layers.first().and_then(|layer| fstat(&layer.directory).ok());
        let device = device.map_or(0, |found| found.st_dev);
        let held = nameless::held(pid_1, nameless::Layers { places: &places, device });
        let mut is_whole = matches!(held, Extent::Whole(_));
        let (Extent::Whole(mut amount) | Extent::AtLeast(mut amount)) = held;
        for layer in &mut self.layers {
            is_whole &= layer.measure();
            // Its root was there before.
            amount.add(layer.last.bytes, layer.last.entries.saturating_sub(1));
        }
        if is_whole { Extent::Whole(amount) } else { Extent::AtLeast(amount) }
    }
}

impl Layer {
    fn new((at, layer): (&GuestPath, &RunPath), run: &Path) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, run.join(&layer.0), flags, Mode::empty())?;
        Ok(Self { directory, at: at.as_path().to_owned(), last: Measure::default() })
    }

    /// Returns whether all of it was seen. When its directories are moved meanwhile, what was found
    /// before stands.
    fn measure(&mut self) -> bool {
        let found = measure_tree(&OsFs, self.directory.as_fd(), UPPER.as_ref());
        self.last = found.unwrap_or(self.last);
        found.is_ok_and(|found| found.closed == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layer of which some was seen, on a file system that was filled by this much since.
    fn judged(found: fn(Amount) -> Extent, seen: u64, filled: u64) -> Option<Counted> {
        let scratch = tempfile::tempdir().expect("a directory");
        let directory = OwnedFd::from(std::fs::File::open(scratch.path()).expect("opened"));
        let now = Amount::of(directory.as_fd()).expect("told");
        let least = Some(Amount { bytes: now.bytes.saturating_sub(filled), ..now });
        let layers = vec![Layer { directory, at: PathBuf::from("/"), last: Measure::default() }];
        let limit = Amount { bytes: 1 << 32, files: u64::MAX };
        let mut measured = Measured { layers, limit, least, doubts: 0, next: Instant::now() };
        measured.judge(found(Amount { bytes: seen, files: 0 }))
    }

    #[test]
    fn file_system_counts_only_where_something_was_not_seen() {
        let (small, large) = (1 << 20, 1 << 33);
        assert_eq!(judged(Extent::Whole, small, large), None);
        assert_eq!(judged(Extent::AtLeast, small, 0), None);
        assert_eq!(judged(Extent::Whole, large, 0), Some(Counted::Layers));
        assert_eq!(judged(Extent::AtLeast, large, 0), Some(Counted::Layers));
    }

    /// Four looks must find the same, less those that see everything.
    #[test]
    fn moment_in_which_something_is_unseen_ends_nothing() {
        let limit = Amount::default();
        let mut measured =
            Measured { layers: Vec::new(), limit, least: None, doubts: 0, next: Instant::now() };
        let unseen = Extent::AtLeast(limit);
        let mut look = |found| {
            let judged = measured.judge(found);
            judged.is_some() && !measured.is_doubted(judged)
        };
        let seen = Extent::Whole(limit);
        assert_eq!([unseen, seen, unseen, seen, seen, seen].map(&mut look), [false; 6]);
        assert_eq!([unseen; 5].map(&mut look), [false, false, false, true, true]);
        assert_eq!([seen; 5].map(&mut look), [false; 5]);
        assert_eq!([unseen, unseen, unseen, seen].map(&mut look), [false; 4]);
        assert_eq!([unseen, unseen].map(&mut look), [false, true]);
        assert!(look(Extent::Whole(Amount { bytes: 1, files: 0 })));
    }

    #[test]
    fn file_system_that_does_not_tell_is_taken_for_full() {
        let measured = |least| {
            let limit = Amount { bytes: u64::MAX, files: u64::MAX };
            Measured { layers: Vec::new(), limit, least, doubts: 0, next: Instant::now() }
        };
        let found = Extent::AtLeast(Amount::default());
        assert_eq!(measured(None).judge(found), Some(Counted::FileSystem));
    }

    /// What is in it can't be looked at: where that is possible, there is more than was seen.
    #[test]
    fn closed_directory_makes_a_layer_partial() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().expect("a directory");
        let closed = scratch.path().join(UPPER).join("closed");
        std::fs::create_dir_all(&closed).expect("directories");
        let directory = OwnedFd::from(std::fs::File::open(scratch.path()).expect("opened"));
        let mut layer = Layer { directory, at: PathBuf::from("/"), last: Measure::default() };
        assert!(layer.measure());
        let set = |mode| std::fs::set_permissions(&closed, PermissionsExt::from_mode(mode));
        set(0).expect("closed");
        assert_eq!(layer.measure(), rustix::process::getuid().is_root());
        assert_eq!(layer.last.entries, 2);
        set(0o700).expect("opened");
    }
}
