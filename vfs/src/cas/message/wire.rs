//! The messages of the Remote Execution API, version 2, as they are written: fields, numbers and
//! types of `remote_execution.proto`. Nothing in them is checked.

use crate::cas::DigestError;

/// The name of a content.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Digest {
    /// The digits of the hash, lowercase.
    #[prost(string, tag = "1")]
    pub hash: String,
    /// How many bytes the content has.
    #[prost(int64, tag = "2")]
    pub size_bytes: i64,
}

/// A directory.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Directory {
    /// The files in it.
    #[prost(message, repeated, tag = "1")]
    pub files: Vec<FileNode>,
    /// The directories in it.
    #[prost(message, repeated, tag = "2")]
    pub directories: Vec<DirectoryNode>,
    /// The symbolic links in it.
    #[prost(message, repeated, tag = "3")]
    pub symlinks: Vec<SymlinkNode>,
    /// More about the directory itself.
    #[prost(message, optional, tag = "5")]
    pub node_properties: Option<NodeProperties>,
}

/// A file of a directory.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct FileNode {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its content.
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
    /// Whether it can be executed.
    #[prost(bool, tag = "4")]
    pub is_executable: bool,
    /// More about it.
    #[prost(message, optional, tag = "6")]
    pub node_properties: Option<NodeProperties>,
}

/// A directory of a directory.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct DirectoryNode {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its [`Directory`] message.
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
}

/// A symbolic link of a directory.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SymlinkNode {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Where it leads.
    #[prost(string, tag = "2")]
    pub target: String,
    /// More about it.
    #[prost(message, optional, tag = "4")]
    pub node_properties: Option<NodeProperties>,
}

/// What a file is beyond its content.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeProperties {
    /// Properties by name.
    #[prost(message, repeated, tag = "1")]
    pub properties: Vec<NodeProperty>,
    /// When it changed last.
    #[prost(message, optional, tag = "2")]
    pub mtime: Option<Timestamp>,
    /// Its permission bits.
    #[prost(message, optional, tag = "3")]
    pub unix_mode: Option<UInt32Value>,
}

/// One property by name.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct NodeProperty {
    /// The name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A time: `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds of that second.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// A number that may be missing: `google.protobuf.UInt32Value`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct UInt32Value {
    /// The number.
    #[prost(uint32, tag = "1")]
    pub value: u32,
}

/// A whole tree in one message.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Tree {
    /// The directory at its root.
    #[prost(message, optional, tag = "1")]
    pub root: Option<Directory>,
    /// All directories below it.
    #[prost(message, repeated, tag = "2")]
    pub children: Vec<Directory>,
}

/// A length of time: `google.protobuf.Duration`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Duration {
    /// Whole seconds.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds beside them.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// A name and a value: `Platform.Property` and `Command.EnvironmentVariable`.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Pair {
    /// The name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// What an action needs of where it runs.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Platform {
    /// Properties, sorted by name.
    #[prost(message, repeated, tag = "1")]
    pub properties: Vec<Pair>,
}

/// What is executed.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Command {
    /// The program and its arguments.
    #[prost(string, repeated, tag = "1")]
    pub arguments: Vec<String>,
    /// The whole environment, sorted by name.
    #[prost(message, repeated, tag = "2")]
    pub environment_variables: Vec<Pair>,
    /// What older clients ask for: files.
    #[prost(string, repeated, tag = "3")]
    pub output_files: Vec<String>,
    /// And directories.
    #[prost(string, repeated, tag = "4")]
    pub output_directories: Vec<String>,
    /// Where older clients want it to run; later ones say that in the action.
    #[prost(message, optional, tag = "5")]
    pub platform: Option<Platform>,
    /// Where the command starts, below the input root.
    #[prost(string, tag = "6")]
    pub working_directory: String,
    /// What is kept of what it leaves, sorted.
    #[prost(string, repeated, tag = "7")]
    pub output_paths: Vec<String>,
    /// Which messages of an output directory are asked for: its tree (0), the directory itself (1), both (2).
    #[prost(int32, tag = "9")]
    pub output_directory_format: i32,
}

/// A command on an input root: what a result is found by.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Action {
    /// The [`Command`].
    #[prost(message, optional, tag = "1")]
    pub command_digest: Option<Digest>,
    /// The [`Directory`] that it sees.
    #[prost(message, optional, tag = "2")]
    pub input_root_digest: Option<Digest>,
    /// How long it may take.
    #[prost(message, optional, tag = "6")]
    pub timeout: Option<Duration>,
    /// Whether its result is for nobody else.
    #[prost(bool, tag = "7")]
    pub do_not_cache: bool,
    /// What makes two actions two that are the same otherwise.
    #[prost(bytes = "vec", tag = "9")]
    pub salt: Vec<u8>,
    /// Where it runs.
    #[prost(message, optional, tag = "10")]
    pub platform: Option<Platform>,
}

/// A file that an action left.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct OutputFile {
    /// Its path.
    #[prost(string, tag = "1")]
    pub path: String,
    /// Its content.
    #[prost(message, optional, tag = "2")]
    pub digest: Option<Digest>,
    /// Whether it can be executed.
    #[prost(bool, tag = "4")]
    pub is_executable: bool,
}

/// A directory that an action left.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct OutputDirectory {
    /// Its path.
    #[prost(string, tag = "1")]
    pub path: String,
    /// All of it as a [`Tree`].
    #[prost(message, optional, tag = "3")]
    pub tree_digest: Option<Digest>,
    /// Its own [`Directory`].
    #[prost(message, optional, tag = "5")]
    pub root_directory_digest: Option<Digest>,
}

/// A symbolic link that an action left.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct OutputSymlink {
    /// Its path.
    #[prost(string, tag = "1")]
    pub path: String,
    /// Where it leads.
    #[prost(string, tag = "2")]
    pub target: String,
}

/// What an action left, and how it ended.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ActionResult {
    /// The files.
    #[prost(message, repeated, tag = "2")]
    pub output_files: Vec<OutputFile>,
    /// The directories.
    #[prost(message, repeated, tag = "3")]
    pub output_directories: Vec<OutputDirectory>,
    /// The exit code.
    #[prost(int32, tag = "4")]
    pub exit_code: i32,
    /// What it wrote to its standard output, when that is little.
    #[prost(bytes = "vec", tag = "5")]
    pub stdout_raw: Vec<u8>,
    /// The object that has what it wrote to its standard output.
    #[prost(message, optional, tag = "6")]
    pub stdout_digest: Option<Digest>,
    /// What it wrote to its standard error, when that is little.
    #[prost(bytes = "vec", tag = "7")]
    pub stderr_raw: Vec<u8>,
    /// The object that has what it wrote to its standard error.
    #[prost(message, optional, tag = "8")]
    pub stderr_digest: Option<Digest>,
    /// Who executed it.
    #[prost(message, optional, tag = "9")]
    pub execution_metadata: Option<ExecutedActionMetadata>,
    /// The symbolic links.
    #[prost(message, repeated, tag = "12")]
    pub output_symlinks: Vec<OutputSymlink>,
}

/// The part of a result that others began.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Begun {
    /// The bytes of an [`ExecutedActionMetadata`].
    #[prost(bytes = "vec", tag = "9")]
    pub execution_metadata: Vec<u8>,
}

/// Who executed an action, and when.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ExecutedActionMetadata {
    /// The name of the worker.
    #[prost(string, tag = "1")]
    pub worker: String,
    /// When the command began.
    #[prost(message, optional, tag = "7")]
    pub execution_start_timestamp: Option<Timestamp>,
    /// When it had ended.
    #[prost(message, optional, tag = "8")]
    pub execution_completed_timestamp: Option<Timestamp>,
}

impl From<crate::cas::Digest> for Digest {
    fn from(digest: crate::cas::Digest) -> Self {
        // No content has more than i64::MAX bytes: off_t of lseek(2) ends there.
        let size_bytes = i64::try_from(digest.size).unwrap_or(i64::MAX);
        Self { hash: digest.to_hex(), size_bytes }
    }
}

impl TryFrom<Digest> for crate::cas::Digest {
    type Error = DigestError;

    fn try_from(digest: Digest) -> Result<Self, DigestError> {
        let size = u64::try_from(digest.size_bytes).map_err(|_| DigestError::Size)?;
        Self::from_hex(&digest.hash, size)
    }
}
