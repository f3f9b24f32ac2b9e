//! Objects that are kept by a name, also when no process needs them.

use std::ffi::OsStr;
use std::fmt;
use std::os::fd::AsFd;
use std::str::FromStr;

use super::lock::StoreLock;
use super::store::failed;
use super::temporary::unique_name;
use super::{Digest, Store, StoreError, roots};
use crate::fs::{Errno, Result, write_all};

/// The longest name.
const LONGEST: usize = 128;
/// How the names of files begin that are being written. No pin has such a name.
const UNFINISHED: &str = ".";

/// The name of a pin: letters, digits, `-`, `_` and dots, of which none is the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinName(String);

/// Why a text is no name of a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pin's name has 1 to {LONGEST} letters, digits, `-`, `_` and dots, none of them first")]
pub struct PinNameError;

impl FromStr for PinName {
    type Err = PinNameError;

    fn from_str(text: &str) -> std::result::Result<Self, PinNameError> {
        let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let fits = (1..=LONGEST).contains(&text.len()) && !text.starts_with('.');
        if !fits || !text.chars().all(is_known) {
            return Err(PinNameError);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for PinName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Store<'_> {
    /// Keeps objects, and the trees below those that are directories, until the name is released
    /// or keeps others instead.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when one of them is not there, [`StoreError::Busy`] when a
    /// collection takes too long, or a failing call; the name keeps what it kept then.
    pub fn retain(&self, name: &PinName, roots: &[Digest]) -> std::result::Result<(), StoreError> {
        let _lock = StoreLock::shared(self)?;
        self.check_all(roots)?;
        let path = self.path().join("retained").join(&name.0);
        self.write_pin(name, roots).map_err(failed("retain", path))
    }

    /// Keeps what this name kept no longer. A name that is not there keeps nothing.
    ///
    /// # Errors
    /// A failing call.
    pub fn release(&self, name: &PinName) -> std::result::Result<(), StoreError> {
        match self.fs.unlink(self.retained.as_fd(), OsStr::new(&name.0)) {
            Err(Errno::NOENT) => Ok(()),
            result => result.map_err(failed("release", self.path().join("retained").join(&name.0))),
        }
    }

    /// Returns all names, sorted, with what they keep.
    ///
    /// # Errors
    /// [`StoreError::Roots`] for a file that something else wrote, or a failing call.
    pub fn retained(&self) -> std::result::Result<Vec<(PinName, Vec<Digest>)>, StoreError> {
        let path = self.path().join("retained");
        let entries = self.fs.list(self.retained.as_fd(), usize::MAX);
        let mut retained = Vec::new();
        for entry in entries.map_err(failed("list", &path))? {
            let path = path.join(&entry.name);
            let name = entry.name.to_str().unwrap_or_default();
            if name.starts_with(UNFINISHED) {
                continue;
            }
            let Ok(pin) = name.parse() else { return Err(StoreError::Roots { path }) };
            match roots::read(self.fs, self.retained.as_fd(), &entry.name, path) {
                Err(StoreError::Io { errno: Errno::NOENT, .. }) => {}
                roots => retained.push((pin, roots?)),
            }
        }
        retained.sort();
        Ok(retained)
    }

    /// Removes what a pin left that was never finished. Only who holds the exclusive lock may.
    pub(super) fn sweep_retained(&self) -> std::result::Result<(), StoreError> {
        let failed = || failed("sweep", self.path().join("retained"));
        let dir = self.retained.as_fd();
        for entry in self.fs.list(dir, usize::MAX).map_err(failed())? {
            if entry.name.to_string_lossy().starts_with(UNFINISHED) {
                self.fs.unlink(dir, &entry.name).map_err(failed())?;
            }
        }
        Ok(())
    }

    fn write_pin(&self, name: &PinName, roots: &[Digest]) -> Result<()> {
        let dir = self.retained.as_fd();
        let mut unfinished = std::ffi::OsString::from(UNFINISHED);
        unfinished.push(unique_name());
        let file = self.fs.create_file(dir, &unfinished)?;
        let written = write_all(self.fs, file.as_fd(), roots::render(roots).as_bytes())
            .and_then(|()| self.fs.sync_file(file.as_fd()))
            .and_then(|()| self.fs.rename(dir, &unfinished, OsStr::new(&name.0)));
        if written.is_err() {
            let _ = self.fs.unlink(dir, &unfinished);
        }
        written
    }
}
