//! Copy-on-write mounts of trees, as the file of a run remembers them.

use std::path::PathBuf;

use endow_policy::{GuestPath, HostPath};
use serde::{Deserialize, Serialize};

use super::RootId;
use crate::json_path;
use crate::working_copy::{Captured, Taken};

/// A copy-on-write mount of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRecord {
    /// Where the command saw it.
    #[serde(with = "json_path")]
    pub at: GuestPath,
    /// Where its changes are, below the run's directory.
    #[serde(with = "json_path")]
    pub layer: PathBuf,
    /// Which tree it was, and where its changes go.
    pub git: GitRecord,
    /// What the command left, once that was captured: objects that the repository lacks are staged
    /// beside the layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured: Option<Captured>,
    /// The references that were set, once they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<LandedReference>,
    /// They were taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

impl TreeRecord {
    /// Returns whether its result is not where it was to be, as far as is known.
    pub fn waits(&self) -> bool {
        match &self.captured {
            _ if self.undone => false,
            // Nobody saw what the command left.
            None => true,
            Some(captured) => {
                let has_result = captured.tip != self.git.commit || !captured.references.is_empty();
                has_result && self.landed.is_empty() || !captured.refused.is_empty()
            }
        }
    }
}

/// A working copy of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitRecord {
    /// The repository as it was named.
    #[serde(with = "json_path")]
    pub repository: HostPath,
    /// Its git directory, and the one that all its work trees share.
    pub places: [Place; 2],
    /// Its object directories, its own first.
    pub objects: Vec<Place>,
    /// The commit at the start.
    pub commit: String,
    /// The branch that gets the result; without one it is a reference of the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What of the work tree is taken in.
    #[serde(default)]
    pub taken: Taken,
    /// Who makes a commit of what was not committed.
    pub author: String,
}

/// A directory of the host, as it was at the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its path, without links in it.
    #[serde(with = "json_path")]
    pub path: HostPath,
    /// Which directory that was.
    pub id: RootId,
}

/// A reference of the host's repository that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedReference {
    /// Its name.
    pub name: String,
    /// What it named before; `None` when it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// What it names.
    pub new: String,
}
