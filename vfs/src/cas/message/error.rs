//! What can be wrong with a message.

use crate::cas::DigestError;
use crate::snapshot::NameFault;

/// Why bytes are no message in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The bytes are no message at all.
    #[error("not a message of this kind")]
    Malformed,
    /// The message has a field that this version doesn't know, or one in another place than the
    /// canonical form has it.
    #[error("the field {field} is unknown or out of order")]
    Field {
        /// The number of the field.
        field: u32,
    },
    /// The same content has another, shorter or better ordered form.
    #[error("not in canonical form: {name:?}")]
    NotCanonical {
        /// The name in whose entry that is; empty for the directory itself.
        name: String,
    },
    /// One entry has more bytes than any that means something.
    #[error("an entry of more than {limit} bytes")]
    LargeEntry {
        /// The bound.
        limit: usize,
    },
    /// More entries than a tree may have.
    #[error("more than {limit} entries")]
    ManyEntries {
        /// The bound.
        limit: usize,
    },
    /// A name that no file can have.
    #[error("{fault}: {name:?}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// A name stands behind one that sorts after it.
    #[error("the names are not sorted: {name:?}")]
    Unsorted {
        /// The later one.
        name: String,
    },
    /// Two entries have one name.
    #[error("a name stands there twice: {name:?}")]
    Twice {
        /// The name.
        name: String,
    },
    /// An entry has no digest.
    #[error("an entry without a digest: {name:?}")]
    NoDigest {
        /// Its name.
        name: String,
    },
    /// The digest of an entry is none.
    #[error("the digest of {name:?} is none")]
    Digest {
        /// The name of the entry.
        name: String,
        /// Why.
        #[source]
        error: DigestError,
    },
    /// A tree without the directory at its root, or with two.
    #[error("a tree has one root")]
    Root,
}
