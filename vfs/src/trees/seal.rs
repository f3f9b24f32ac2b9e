//! The seal of a tree: it is whole, and which directory it is.

use serde::{Deserialize, Serialize};

use crate::fs::Node;
use crate::sync::Time;

/// What is said of a tree once it is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// What was made.
    #[serde(flatten)]
    pub made: Made,
    /// The directory that closes the tree: its inode number.
    pub ino: u64,
    /// And when that was made, where the file system knows.
    pub born: Option<Time>,
    /// The start of the machine in which the tree was written, if it was not compared since: a loss
    /// of power may have cost what was not on the disk yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

/// What a tree holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Files, directories and links.
    pub entries: u64,
    /// Bytes in files.
    pub bytes: u64,
}

impl Seal {
    /// Returns the seal of a directory.
    pub(super) fn of(node: &Node, made: Made, boot: Option<&str>) -> Self {
        let born = node.born.map(Time::from);
        Self { made, ino: node.status.id.ino, born, boot: boot.map(str::to_owned) }
    }

    /// Returns whether this is the seal of a directory.
    pub(super) fn is_of(&self, node: &Node) -> bool {
        self.ino == node.status.id.ino && self.born == node.born.map(Time::from)
    }
}
