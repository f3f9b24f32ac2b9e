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
