//! What copies have not of what they were made of.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a copy lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// Set-user-id and set-group-id: it has another owner or group.
    SetId,
    /// The file capability.
    Capability,
    /// All of it: it was a socket or a device.
    Special,
}

/// A path that is not all that it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacking {
    /// Where.
    #[serde(with = "crate::json_path")]
    pub path: PathBuf,
    /// What it lacks.
    pub lack: Lack,
}

impl Lacking {
    pub(super) fn all(path: &Path, lacks: Vec<Lack>) -> impl Iterator<Item = Self> {
        lacks.into_iter().map(move |lack| Self { path: path.to_owned(), lack })
    }

    /// Returns the same by its path below where `top` is.
    pub(super) fn below(&self, top: &Path) -> Self {
        let is_top = self.path.as_os_str().is_empty();
        let path = if is_top { top.to_owned() } else { top.join(&self.path) };
        Self { path, lack: self.lack }
    }
}
