//! Seeds, and what became of them.

use std::path::PathBuf;

use crate::fs::Errno;

/// One file, link or directory that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// What is copied: an absolute path with no links in it. A last name that is a link is copied
    /// as a link, so resolve it first where its target is meant.
    pub source: PathBuf,
    /// Its place below the private directory.
    pub to: PathBuf,
}

/// How much all seeds of one private directory may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedLimits {
    /// The most files, links and directories.
    pub entries: usize,
    /// The most bytes.
    pub bytes: u64,
}

impl Default for SeedLimits {
    fn default() -> Self {
        Self { entries: 10_000, bytes: 256 << 20 }
    }
}

/// What was copied and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seeded {
    /// Files, links and directories copied.
    pub entries: usize,
    /// Bytes copied.
    pub bytes: u64,
    /// What was left out.
    pub skipped: Vec<Skipped>,
}

/// Something that was not copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is on the host.
    pub path: PathBuf,
    /// Why.
    pub reason: SkipReason,
}

/// Why something was not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// It is not there.
    Missing,
    /// The user may not read it.
    Unreadable,
    /// It is a device, socket or FIFO.
    Special,
}

/// Why seeding stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// A call failed.
    #[error("can't {action}: {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        errno: Errno,
    },
    /// There is more to copy than the limit.
    #[error("more than {limit} files to seed: {}", path.display())]
    TooMany {
        /// The seed.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// There is more to copy than the limit.
    #[error("more than {limit} bytes to seed: {}", path.display())]
    TooLarge {
        /// The file that went over it.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// Directories are nested beyond what is copied.
    #[error("nested too deep to seed: {}", path.display())]
    TooDeep {
        /// The directory.
        path: PathBuf,
    },
    /// The seed has no place, or one outside of the private directory.
    #[error("no place for a seed: {}", path.display())]
    NoPlace {
        /// The seed's source or its place.
        path: PathBuf,
    },
}
