//! A store of contents that are named by their digests, and the trees in it.
//!
//! The store has the layout of the BuildBox tools, trees are `Directory` messages of the Remote
//! Execution API. Nothing that is read from a store or given by a digest is believed: contents are
//! hashed again, messages are taken in canonical form only.
//!
//! Whoever writes holds a [`Publishing`]. A collection of what is not used waits until there is
//! none, so that what a publisher was told is there stays until it has leased or retained it.

mod capture;
mod closure;
mod digest;
mod gc;
mod import;
mod lease;
mod lock;
mod mark;
pub mod message;
mod other;
mod publish;
mod put;
mod retain;
mod roots;
mod store;
mod temporary;
#[cfg(test)]
mod testing;
mod tree;

pub use capture::{CaptureError, ChangedSource, capture, export, is_sound, land_staged, unchanged};
pub use closure::{closure, fetch_all};
pub use digest::{Digest, DigestError, Hasher};
pub use gc::{Closed, GcProgress, GcReport, gc};
pub use import::{ImportError, Imported, Root, import_all};
pub use lease::Lease;
pub use other::{Layout, Other};
pub use publish::{Publishing, Stored};
pub use put::{Put, PutError, put_tree};
pub use retain::{PinName, PinNameError};
pub use store::{Damage, Store, StoreError, Usage};
pub use tree::{CasError, DIRECTORY_MAX, snapshot};
