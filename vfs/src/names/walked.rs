//! What a walk found.

use std::path::PathBuf;
use std::time::Duration;

use crate::fs::{Errno, Kind};

/// One hidden name, or one that is of interest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HiddenName {
    /// Its path below the root of the walk.
    pub path: PathBuf,
    /// What it is; nothing below a hidden directory is looked at.
    pub kind: Kind,
}

/// A directory that could not be walked, and so is hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkError {
    /// Its path below the root of the walk.
    pub path: PathBuf,
    /// What the kernel said; `NAMETOOLONG` for one nested too deep.
    pub errno: Errno,
}

/// What a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// The hidden names, sorted.
    pub hidden: Vec<HiddenName>,
    /// Names that are shown and that the rules note, sorted.
    pub noted: Vec<HiddenName>,
    /// Directories with the parts of a git directory, where the rules note those, sorted; none
    /// that is called `.git`.
    pub repositories: Vec<PathBuf>,
    /// Mount points of the kernel's own file systems, which were not entered, sorted.
    pub borders: Vec<PathBuf>,
    /// Directories that could not be walked, sorted; at most a thousand.
    pub errors: Vec<WalkError>,
    /// How many names there are.
    pub entries: u64,
    /// How many directories there are.
    pub directories: u64,
    /// How many of them had to be listed; the cache knew the rest.
    pub listed: u64,
    /// How long it took.
    pub elapsed: Duration,
}
