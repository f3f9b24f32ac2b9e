//! Actions that somebody else wrote: what is to be executed, and what of it they want to know.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prost::Message;

use super::LeftNode;
use super::left::{AtPath, LeftError, found_at, tree_of, with_directories};
use super::result::{ResultError, digest};
use crate::cas::message::wire;
use crate::cas::{Digest, Publishing};
use crate::snapshot::Naming;

/// The most outputs of one action.
const OUTPUTS_MAX: usize = 10_000;
/// The most bytes of a path: `PATH_MAX` of the kernel.
const PATH_MAX: usize = 4096;

/// An action, whose command is a content of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedAction {
    /// The message of the command.
    pub command: Digest,
    /// The tree that it sees.
    pub input_root: Digest,
    /// How long it may take.
    pub timeout: Option<Duration>,
    platform: Option<wire::Platform>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedCommand {
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// The whole environment.
    pub environment: BTreeMap<String, String>,
    /// Where it starts: a path below the input root, empty for that itself.
    pub directory: String,
    /// What is asked for of what it leaves.
    pub outputs: Vec<RequestedOutput>,
    /// Properties of where it is to run, by their names.
    pub platform: Vec<(String, String)>,
    wants_tree: bool,
    wants_root: bool,
}

/// Something that is asked for of what a command leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedOutput {
    /// As it is written: relative to where the command starts.
    pub written: String,
    /// Below the input root; empty for that itself.
    pub path: String,
}

/// A result in the form that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedResult {
    /// The bytes of the `ActionResult`.
    pub message: Vec<u8>,
    /// Contents that it names.
    pub contents: Vec<Digest>,
    /// Directories that it names, which name more.
    pub directories: Vec<Digest>,
}

/// How a command ended, and what it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedEnd {
    /// Its exit code.
    pub exit_code: i32,
    /// Its standard output and error, where they are kept.
    pub streams: Option<[Digest; 2]>,
    /// A part of an `ExecutedActionMetadata` that others began.
    pub metadata: Vec<u8>,
    /// When it began and when it had ended, since 1970.
    pub times: [Duration; 2],
}

/// Why something is no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The bytes are no message of the kind.
    #[error("not the message of {0}")]
    Malformed(&'static str),
    /// A digest is missing, or is none.
    #[error(transparent)]
    Digest(#[from] ResultError),
    /// There is no program.
    #[error("no command is stated")]
    Empty,
    /// A path is none, or leads out of the input root.
    #[error("no path below the input root: {0:?}")]
    Path(String),
    /// More outputs are asked for than anybody needs.
    #[error("more than {OUTPUTS_MAX} outputs")]
    Outputs,
    /// A path is longer than the kernel takes one.
    #[error("a path of more than {PATH_MAX} bytes")]
    Long,
    /// A time below zero, or none.
    #[error("no time: {0}")]
    Time(i64),
}

impl RequestedAction {
    /// Reads the bytes of an `Action`.
    ///
    /// # Errors
    /// Bytes that are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, RequestError> {
        let action = wire::Action::decode(bytes);
        let action = action.map_err(|_| RequestError::Malformed("an action"))?;
        Ok(Self {
            command: digest(action.command_digest, "the command")?,
            input_root: digest(action.input_root_digest, "the input root")?,
            timeout: action.timeout.map(time).transpose()?,
            platform: action.platform,
        })
    }

    /// Reads the bytes of its `Command`.
    ///
    /// # Errors
    /// Bytes that are none, or paths that lead out of the input root.
    pub fn command(&self, bytes: &[u8]) -> Result<RequestedCommand, RequestError> {
        let command = wire::Command::decode(bytes);
        let command = command.map_err(|_| RequestError::Malformed("a command"))?;
        if command.arguments.first().is_none_or(String::is_empty) {
            return Err(RequestError::Empty);
        }
        let directory = below("", &command.working_directory)?;
        let written = if command.output_paths.is_empty() {
            [command.output_files, command.output_directories].concat()
        } else {
            command.output_paths
        };
        if written.len() > OUTPUTS_MAX {
            return Err(RequestError::Outputs);
        }
        let outputs = written
            .into_iter()
            .map(|written| Ok(RequestedOutput { path: below(&directory, &written)?, written }));
        // Of older commands it is theirs.
        let platform = self.platform.clone().or(command.platform).unwrap_or_default().properties;
        Ok(RequestedCommand {
            outputs: outputs.collect::<Result<_, RequestError>>()?,
            arguments: command.arguments,
            environment: command.environment_variables.into_iter().map(named).collect(),
            directory,
            platform: platform.into_iter().map(named).collect(),
            wants_tree: matches!(command.output_directory_format, TREE_ONLY | TREE_AND_DIRECTORY),
            wants_root: matches!(
                command.output_directory_format,
                DIRECTORY_ONLY | TREE_AND_DIRECTORY
            ),
        })
    }
}

/// Values of `OutputDirectoryFormat`.
const TREE_ONLY: i32 = 0;
const DIRECTORY_ONLY: i32 = 1;
const TREE_AND_DIRECTORY: i32 = 2;

fn named(pair: wire::Pair) -> (String, String) {
    (pair.name, pair.value)
}

fn time(time: wire::Duration) -> Result<Duration, RequestError> {
    let seconds = u64::try_from(time.seconds).map_err(|_| RequestError::Time(time.seconds))?;
    let nanos = u32::try_from(time.nanos).ok().filter(|nanos| *nanos < 1_000_000_000);
    let nanos = nanos.ok_or(RequestError::Time(time.nanos.into()))?;
    Ok(Duration::new(seconds, nanos))
}

/// Returns where a path leads from a directory below the root, step by step: `..` is what `BuildStream` writes
/// for the root itself.
fn below(directory: &str, path: &str) -> Result<String, RequestError> {
    let wrong = || RequestError::Path(path.to_owned());
    let mut names: Vec<&str> = directory.split('/').filter(|name| !name.is_empty()).collect();
    if path.starts_with('/') {
        return Err(wrong());
    }
    if path.len() > PATH_MAX {
        return Err(RequestError::Long);
    }
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop().ok_or_else(wrong)?),
            name if Naming::Any.fault(name.as_bytes()).is_some() => return Err(wrong()),
            name => names.push(name),
        }
    }
    Ok(names.join("/"))
}

impl RequestedCommand {
    /// Returns the input root with what must be there before the command starts: its directory, and those that
    /// outputs are in.
    ///
    /// # Errors
    /// A file or link stands in the place of a directory, or the store fails.
    pub fn root(
        &self,
        publishing: &Publishing<'_>,
        input_root: &Digest,
    ) -> Result<Digest, LeftError> {
        let above = self.outputs.iter().filter_map(|output| output.path.rsplit_once('/'));
        let needed: BTreeSet<&str> =
            above.map(|(above, _)| above).chain([self.directory.as_str()]).collect();
        with_directories(publishing, input_root, needed)
    }

    /// Returns the message of a whole output directory, where it is asked for. One with many names is put
    /// together once.
    fn tree(
        &self,
        publishing: &Publishing<'_>,
        (root, at): (&Digest, &str),
        known: &mut BTreeMap<Digest, Digest>,
    ) -> Result<Option<Digest>, LeftError> {
        if self.wants_tree && !known.contains_key(root) {
            known.insert(*root, tree_of(publishing, root, at)?);
        }
        Ok(known.get(root).copied())
    }

    /// Puts together what is asked for of a tree that the command left. Outputs that are not there are left out.
    ///
    /// # Errors
    /// The tree can't be read, or the store can't take the message of a tree.
    pub fn result(
        &self,
        publishing: &Publishing<'_>,
        tree: &Digest,
        end: RequestedEnd,
    ) -> Result<RequestedResult, LeftError> {
        let (mut contents, mut directories) = (Vec::new(), Vec::new());
        let mut trees = BTreeMap::new();
        let mut message = wire::ActionResult { exit_code: end.exit_code, ..Default::default() };
        for RequestedOutput { written, path: at } in &self.outputs {
            let path = written.clone();
            match found_at(publishing, tree, at)? {
                Some(AtPath::Leaf(LeftNode::File { digest, executable })) => {
                    contents.push(digest);
                    let (digest, is_executable) = (Some(digest.into()), executable);
                    message.output_files.push(wire::OutputFile { path, digest, is_executable });
                }
                Some(AtPath::Leaf(LeftNode::Symlink { target })) => {
                    message.output_symlinks.push(wire::OutputSymlink { path, target });
                }
                Some(AtPath::Directory(root)) => {
                    let tree = self.tree(publishing, (&root, at), &mut trees)?;
                    directories.push(root);
                    contents.extend(tree);
                    message.output_directories.push(wire::OutputDirectory {
                        path,
                        tree_digest: tree.map(Into::into),
                        root_directory_digest: self.wants_root.then(|| root.into()),
                    });
                }
                Some(AtPath::Leaf(LeftNode::Directory { .. })) | None => {}
            }
        }
        if let Some([stdout, stderr]) = end.streams {
            contents.extend([stdout, stderr]);
            (message.stdout_digest, message.stderr_digest) =
                (Some(stdout.into()), Some(stderr.into()));
        }
        message.execution_metadata = Some(executed(end.times));
        // Messages of one kind behind one another are one message.
        let mut bytes = wire::Begun { execution_metadata: end.metadata }.encode_to_vec();
        bytes.extend_from_slice(&message.encode_to_vec());
        Ok(RequestedResult { message: bytes, contents, directories })
    }
}

fn executed(times: [Duration; 2]) -> wire::ExecutedActionMetadata {
    let [start, end] = times.map(|time| wire::Timestamp {
        seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        // Below a thousand million.
        nanos: i32::try_from(time.subsec_nanos()).unwrap_or_default(),
    });
    wire::ExecutedActionMetadata {
        execution_start_timestamp: Some(start),
        execution_completed_timestamp: Some(end),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests;
