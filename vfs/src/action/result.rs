//! What came of an action.

use prost::Message;

use crate::cas::message::wire;
use crate::cas::{Digest, DigestError};
use crate::snapshot::Naming;

/// Who executed it, as the API wants it told.
const WORKER: &str = "endow";

/// The longest target of a link is a byte shorter (PATH_MAX).
const TARGET_MAX: usize = 4096;
/// How much of a text that can't be is told, in characters.
const SAID_MAX: usize = 200;

/// What an action left, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionResult {
    /// The exit code of the command.
    pub exit_code: i32,
    /// What it wrote to its standard output.
    pub stdout: Digest,
    /// What it wrote to its standard error.
    pub stderr: Digest,
    /// What it left at the paths of its outputs, sorted by path.
    pub outputs: Vec<Left>,
}

/// Something that an action left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// Its path, below the input root.
    pub path: String,
    /// What it is.
    pub node: LeftNode,
}

/// What something is that an action left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftNode {
    /// A file.
    File {
        /// Its content.
        digest: Digest,
        /// Whether it can be executed.
        executable: bool,
    },
    /// A directory.
    Directory {
        /// Its `Directory` message.
        root: Digest,
        /// All of it as a `Tree` message.
        tree: Digest,
    },
    /// A symbolic link.
    Symlink {
        /// Where it leads.
        target: String,
    },
}

/// Why bytes are no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The bytes are no message, or a part of one.
    #[error("not a result of an action")]
    Malformed,
    /// A path leads out of the input root, or is none.
    #[error("no path for an output: {0:?}")]
    Path(String),
    /// Something has no digest.
    #[error("no digest: {0:?}")]
    NoDigest(String),
    /// A digest is none.
    #[error("{0}: {1:?}")]
    Digest(DigestError, String),
}

impl ActionResult {
    /// Returns the contents that it names, but for directories and what is in them.
    pub fn contents(&self) -> impl Iterator<Item = &Digest> {
        let left = self.outputs.iter().filter_map(|left| match &left.node {
            LeftNode::File { digest: content, .. } | LeftNode::Directory { tree: content, .. } => {
                Some(content)
            }
            LeftNode::Symlink { .. } => None,
        });
        [&self.stdout, &self.stderr].into_iter().chain(left)
    }

    /// Returns the directories that it names.
    pub fn directories(&self) -> impl Iterator<Item = &Digest> {
        self.outputs.iter().filter_map(|left| match &left.node {
            LeftNode::Directory { root, .. } => Some(root),
            _ => None,
        })
    }

    /// Returns the bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = wire::ActionResult {
            exit_code: self.exit_code,
            stdout_digest: Some(self.stdout.into()),
            stderr_digest: Some(self.stderr.into()),
            execution_metadata: Some(wire::ExecutedActionMetadata {
                worker: WORKER.to_owned(),
                ..wire::ExecutedActionMetadata::default()
            }),
            ..wire::ActionResult::default()
        };
        for Left { path, node } in &self.outputs {
            let path = path.clone();
            match node {
                LeftNode::File { digest, executable } => {
                    let (digest, is_executable) = (Some((*digest).into()), *executable);
                    message.output_files.push(wire::OutputFile { path, digest, is_executable });
                }
                LeftNode::Directory { root, tree } => {
                    message.output_directories.push(wire::OutputDirectory {
                        path,
                        tree_digest: Some((*tree).into()),
                        root_directory_digest: Some((*root).into()),
                    });
                }
                LeftNode::Symlink { target } => {
                    let target = target.clone();
                    message.output_symlinks.push(wire::OutputSymlink { path, target });
                }
            }
        }
        message.encode_to_vec()
    }

    /// Reads the bytes of a message, which may be anybody's.
    ///
    /// # Errors
    /// Bytes that are no result, or a path or digest that is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, ResultError> {
        let message = wire::ActionResult::decode(bytes).map_err(|_| ResultError::Malformed)?;
        let mut outputs = Vec::new();
        for file in message.output_files {
            let (digest, executable) = (digest(file.digest, &file.path)?, file.is_executable);
            outputs.push(Left { path: file.path, node: LeftNode::File { digest, executable } });
        }
        for it in message.output_directories {
            let root = digest(it.root_directory_digest, &it.path)?;
            let tree = digest(it.tree_digest, &it.path)?;
            outputs.push(Left { path: it.path, node: LeftNode::Directory { root, tree } });
        }
        for link in message.output_symlinks {
            let node = LeftNode::Symlink { target: link.target };
            outputs.push(Left { path: link.path, node });
        }
        outputs.iter().try_for_each(check)?;
        outputs.sort_unstable();
        let stdout = digest(message.stdout_digest, "standard output")?;
        let stderr = digest(message.stderr_digest, "standard error")?;
        Ok(Self { exit_code: message.exit_code, stdout, stderr, outputs })
    }
}

fn check(left: &Left) -> Result<(), ResultError> {
    let is_fine = |name: &str| Naming::Any.fault(name.as_bytes()).is_none();
    if !left.path.split('/').all(is_fine) {
        return Err(ResultError::Path(shortened(&left.path)));
    }
    match &left.node {
        LeftNode::Symlink { target } if !is_target(target) => {
            Err(ResultError::Path(shortened(target)))
        }
        _ => Ok(()),
    }
}

/// Whether the kernel takes it for the target of a link.
fn is_target(text: &str) -> bool {
    !text.is_empty() && text.len() < TARGET_MAX && !text.contains('\0')
}

/// Whoever wrote a result may have written anything.
fn shortened(text: &str) -> String {
    text.chars().take(SAID_MAX).collect()
}

/// Reads a digest of something.
pub(super) fn digest(digest: Option<wire::Digest>, of: &str) -> Result<Digest, ResultError> {
    let digest = digest.ok_or_else(|| ResultError::NoDigest(of.to_owned()))?;
    digest.try_into().map_err(|error| ResultError::Digest(error, of.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> ActionResult {
        let left = |path: &str, node| Left { path: path.to_owned(), node };
        let (digest, executable) = (Digest::of(b"a"), true);
        ActionResult {
            exit_code: 0,
            stdout: Digest::EMPTY,
            stderr: Digest::of(b"warning"),
            outputs: vec![
                left("a", LeftNode::File { digest, executable }),
                left("b/c", LeftNode::Directory { root: digest, tree: Digest::of(b"tree") }),
                left("d", LeftNode::Symlink { target: "a".to_owned() }),
            ],
        }
    }

    #[test]
    fn result_comes_back_as_it_was() {
        assert_eq!(ActionResult::decode(&result().encode()), Ok(result()));
    }

    #[test]
    fn part_of_a_result_is_none_or_another() {
        let whole = result().encode();
        for length in 0..whole.len() {
            assert_ne!(ActionResult::decode(&whole[..length]).ok(), Some(result()), "{length}");
        }
        assert!(ActionResult::decode(&[]).is_err());
    }

    #[test]
    fn path_that_leads_elsewhere_is_refused() {
        for path in ["", "/a", "../a", "a/../b", "a//b", "a/.", "a\0"] {
            let mut hostile = result();
            path.clone_into(&mut hostile.outputs[0].path);
            let found = ActionResult::decode(&hostile.encode());
            assert_eq!(found, Err(ResultError::Path(path.to_owned())));
        }
    }

    #[test]
    fn target_that_no_kernel_takes_is_refused_and_told_in_short() {
        let with = |target: &str| {
            let mut hostile = result();
            hostile.outputs[2].node = LeftNode::Symlink { target: target.to_owned() };
            ActionResult::decode(&hostile.encode())
        };
        for (target, told) in [("", 0), ("a\0", 2), (&*"x".repeat(4096), 200)] {
            let Err(ResultError::Path(path)) = with(target) else { panic!("{told}: refused") };
            assert_eq!(path.len(), told);
        }
        assert!(with(&"x".repeat(4095)).is_ok());
    }
}
