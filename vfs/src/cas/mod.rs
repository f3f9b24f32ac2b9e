//! A store of contents that are named by their digests, and the trees in it.
//!
//! The store has the layout of the BuildBox tools, trees are `Directory` messages of the Remote
//! Execution API. Nothing that is read from a store or given by a digest is believed: contents are
//! hashed again, messages are taken in canonical form only.

mod digest;
pub mod message;

pub use digest::{Digest, DigestError, Hasher};
