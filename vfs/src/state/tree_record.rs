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
    #[serde(flatten)]
    pub from: TreeOrigin,
    /// What the command left, once that was captured: objects that the repository or the store lacks
    /// are staged beside the layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured: Option<Captured>,
    /// The references that were set, once they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<LandedReference>,
    /// The digest of the result, once the store has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
    /// That was taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// Where a tree that was changed came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeOrigin {
    /// A commit of a repository.
    Git(GitRecord),
    /// A tree of the content-addressed store.
    Cas(CasRecord),
}

impl TreeOrigin {
    /// Returns the commit, or the digest, at the start.
    pub fn base(&self) -> &str {
        match self {
            Self::Git(git) => &git.commit,
            Self::Cas(cas) => &cas.digest,
        }
    }
}

impl TreeRecord {
    /// Returns whether what the command left is anything else than what was there.
    pub fn has_result(&self, captured: &Captured) -> bool {
        captured.tip != self.from.base() || !captured.references.is_empty()
    }

    /// Returns whether the result is where it was to be, or a part of it.
    pub fn has_landed(&self) -> bool {
        !self.landed.is_empty() || self.stored.is_some()
    }

    /// Returns the digests of trees that the store keeps for as long as the run is there: the one
    /// that was shown, and the one that came of it.
    pub fn kept_digests(&self) -> Vec<&str> {
        match (&self.from, &self.captured) {
            (TreeOrigin::Cas(cas), captured) if !self.undone => {
                let result = captured.iter().map(|it| it.tip.as_str());
                std::iter::once(cas.digest.as_str()).chain(result).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether its result is not where it was to be, as far as is known.
    pub fn waits(&self) -> bool {
        match &self.captured {
            _ if self.undone => false,
            // Nobody saw what the command left.
            None => true,
            Some(captured) => {
                self.has_result(captured) && !self.has_landed() || !captured.refused.is_empty()
            }
        }
    }
}

/// A tree of the content-addressed store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CasRecord {
    /// The store.
    #[serde(with = "json_path")]
    pub store: HostPath,
    /// The tree at the start.
    pub digest: String,
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

#[cfg(test)]
mod tests;
