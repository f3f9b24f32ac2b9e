//! Trees that were made real once and are shown to every run: a cache in the user's cache
//! directory that may be deleted at any time.
//!
//! ```text
//! <cache>/trees/v1/KEY/root      the tree, bits and times as the guest sees them
//!                  KEY           0000: no program of the user's reaches the tree by its path
//!                  KEY.manifest  what every file must hold
//!                  KEY.seal      the tree is whole; runs that show it hold its shared lock
//!                  KEY/data      the contents of stubs, as links to the objects of the store
//!                  KEY-on-BASE   a layer: what of the tree KEY is not as in the tree BASE
//!                  .lock-KEY     held while the tree is made or taken away
//!                  .new-KEY      a tree that is being made
//! ```

mod build;
mod error;
mod find;
mod key;
mod manifest;
mod revisions;
mod seal;
mod stub;
mod sweep;
#[cfg(test)]
mod tests;
mod verify;

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

pub use build::{Begun, Building};
pub use error::TreeError;
pub use find::Tree;
pub use key::TreeKey;
pub use manifest::{ContentName, write_manifest};
pub use revisions::{Known, NoteName, known_revision, note_revision};
pub use seal::{Made, Seal};
pub use stub::{METACOPY, STUB_FROM, make_stub, stub_content};
pub use sweep::{SweptTrees, TreeUse};
pub use verify::{Damage, Verified};

use crate::fs::{Errno, Fs};
use crate::state::make_private;
use error::failed;
use stub::DATA;

/// The version of all that lies below: another one has a directory of its own.
const VERSION: &str = "v1";
/// The tree itself, in the directory that closes it.
const ROOT: &str = "root";

/// The cache of trees.
#[derive(Debug)]
pub struct TreeCache {
    dir: OwnedFd,
    path: PathBuf,
}

impl TreeCache {
    /// Opens the cache below the user's cache directory; both are made when they are not there.
    ///
    /// # Errors
    /// A link, another owner or bits for others in their place, or a failing call.
    pub fn open(fs: &dyn Fs, cache: &Path) -> Result<Self, TreeError> {
        let path = directory(cache);
        for place in [cache, &cache.join("trees"), &path] {
            make_private(fs, place).map_err(TreeError::Place)?;
        }
        let dir = fs.open_dir(rustix::fs::CWD, path.as_os_str());
        let dir = dir.map_err(failed("open", &path))?;
        Ok(Self { dir, path })
    }

    /// Opens the cache if it is there; nothing is made.
    pub fn existing(fs: &dyn Fs, cache: &Path) -> Option<Self> {
        let path = directory(cache);
        let dir = fs.open_dir(rustix::fs::CWD, path.as_os_str()).ok()?;
        Some(Self { dir, path })
    }

    /// Returns where the trees lie.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    fn failed(
        &self,
        action: &'static str,
        name: &OsStr,
    ) -> impl FnOnce(Errno) -> TreeError + use<> {
        failed(action, self.path.join(name))
    }
}

/// Returns where all trees lie below the user's cache directory.
pub fn directory(cache: &Path) -> PathBuf {
    cache.join("trees").join(VERSION)
}

/// Returns where a tree lies, or would lie, below the user's cache directory.
pub fn place(cache: &Path, key: &TreeKey) -> PathBuf {
    directory(cache).join(key.as_str()).join(ROOT)
}

/// Returns where the contents of a tree's stubs lie, beside [`place`].
pub fn data_place(cache: &Path, key: &TreeKey) -> PathBuf {
    directory(cache).join(key.as_str()).join(DATA)
}

/// Returns whether a tree seems to be made: a guess, for whoever only plans.
pub fn is_made(cache: &Path, key: &TreeKey) -> bool {
    directory(cache).join(beside(key, ".seal")).exists()
}

/// Returns the tree over which a layer seems to be made for this one: a guess, too.
pub fn layer_base(fs: &dyn Fs, cache: &Path, key: &TreeKey) -> Option<TreeKey> {
    let names = TreeCache::existing(fs, cache)?.names(fs).ok()?;
    let sealed = names.iter().filter_map(|name| TreeKey::of_name(name.strip_suffix(".seal")?));
    let bases = sealed.filter_map(|layer| {
        let base = layer.base()?;
        (key.on(&base)? == layer).then_some(base)
    });
    bases.filter(|base| is_made(cache, base)).min()
}

/// Returns the name of a file that belongs to a tree.
fn beside(key: &TreeKey, ending: &str) -> OsString {
    OsString::from(format!("{key}{ending}"))
}
