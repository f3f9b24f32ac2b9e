//! Actions: commands that see declared inputs and leave declared outputs.
//!
//! An action grants nothing of the host but its tools: all else that it names are paths in the directory
//! of the file that states it, and the same paths inside.

mod graph;
mod input;
mod input_set;
mod tree_path;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use serde::Serialize;

use crate::{HostPath, Origin, Stated};

pub use graph::{Graph, GraphError};
pub use input::{InputFault, InputPattern};
pub use input_set::InputSet;
pub use tree_path::{TreePath, TreePathError};

/// One action, as an `[[action]]` table or the flags of `endow build` state it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Action {
    /// What it is called.
    pub name: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Which files it sees.
    pub inputs: Vec<Stated<InputPattern>>,
    /// What it leaves.
    pub outputs: Vec<Stated<Output>>,
    /// Files and directories of the host that it sees at their own paths: as written in a file, absolute
    /// once it is composed.
    pub tools: Vec<Stated<OsString>>,
    /// The actions whose outputs it sees as well.
    pub needs: Vec<Stated<String>>,
    /// Variables beside those that every action has.
    pub environment: BTreeMap<String, String>,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Whether a result of the same inputs is taken for its own.
    pub is_cached: bool,
    /// Who states it.
    pub origin: Origin,
}

/// What stands at `/` of an action. `R` is how a repository is named: as written, or where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BuildRoot<R = HostPath> {
    /// Programs and libraries of the host.
    #[default]
    Host,
    /// A content-addressed tree, by its digest, and nothing of the host.
    Tree(String),
    /// The tree of a revision, and nothing of the host.
    Git {
        /// Its repository.
        repository: R,
        /// Which revision, as git takes it.
        rev: String,
    },
}

/// What an action leaves at a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Output {
    /// Where it is.
    pub path: TreePath,
    /// Whether it is a directory, with all that is below it; written with a `/` at its end.
    pub is_directory: bool,
}

impl Output {
    /// Reads an output: a path, with a `/` at its end for a directory.
    ///
    /// # Errors
    /// No path in the directory of the build.
    pub fn parse(text: &str) -> Result<Self, TreePathError> {
        let (path, is_directory) = match text.strip_suffix('/') {
            Some(path) => (path, true),
            None => (text, false),
        };
        Ok(Self { path: TreePath::parse(path)?, is_directory })
    }

    /// Returns whether one of the two is the other, or is in it.
    pub fn meets(&self, other: &Self) -> bool {
        self.path.is_within(&other.path) || other.path.is_within(&self.path)
    }
}
