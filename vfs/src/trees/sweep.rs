//! Taking trees away that were not used for longest, and what dead builders left.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use super::build::lock_name;
use super::{Seal, TreeCache, TreeError, TreeKey, beside};
use crate::fs::{Errno, Fs};

/// The most names of the cache that are looked at.
const NAMES: usize = 1 << 20;

/// A tree of the cache, as somebody looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeUse {
    /// Which one.
    pub key: TreeKey,
    /// Bytes in its files.
    pub bytes: u64,
    /// When it was used last, to the hour, in seconds since 1970.
    pub used: i64,
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweptTrees {
    /// The trees that were taken away.
    pub removed: Vec<TreeUse>,
    /// How many are left.
    pub kept: usize,
    /// The bytes in their files.
    pub bytes: u64,
}

impl TreeCache {
    /// Returns the trees, the one that was not used for longest first.
    ///
    /// # Errors
    /// A failing call.
    pub fn trees(&self, fs: &dyn Fs) -> Result<Vec<TreeUse>, TreeError> {
        let mut trees = Vec::new();
        for name in self.names(fs)? {
            if let Some(key) = name.strip_suffix(".seal").and_then(TreeKey::of_name) {
                trees.extend(self.look(fs, key)?);
            }
        }
        trees.sort_by(|one, other| (one.used, &one.key).cmp(&(other.used, &other.key)));
        Ok(trees)
    }

    /// Takes trees away that no run shows until all together hold at most `quota` bytes, and what
    /// was left of trees that were never whole.
    ///
    /// # Errors
    /// A failing call.
    pub fn sweep(&self, fs: &dyn Fs, quota: u64) -> Result<SweptTrees, TreeError> {
        let trees = self.trees(fs)?;
        let mut swept = SweptTrees { kept: trees.len(), ..SweptTrees::default() };
        swept.bytes = trees.iter().map(|tree| tree.bytes).sum();
        for tree in trees {
            if swept.bytes > quota && self.take_away(fs, &tree.key)? {
                swept.bytes -= tree.bytes;
                swept.kept -= 1;
                swept.removed.push(tree);
            }
        }
        self.sweep_unfinished(fs)?;
        Ok(swept)
    }

    fn look(&self, fs: &dyn Fs, key: TreeKey) -> Result<Option<TreeUse>, TreeError> {
        let name = beside(&key, ".seal");
        let file = match fs.open_file(self.fd(), &name) {
            Err(Errno::NOENT) => return Ok(None),
            file => file.map_err(self.failed("open", &name))?,
        };
        let used = fs.status_of(file.as_fd()).map_err(self.failed("look at", &name))?.modified;
        let mut text = vec![0; 4096];
        let length = fs.read(file.as_fd(), &mut text).map_err(self.failed("read", &name))?;
        let seal = serde_json::from_slice::<Seal>(text.get(..length).unwrap_or_default());
        let bytes = seal.map_or(0, |seal| seal.made.bytes);
        Ok(Some(TreeUse { key, bytes, used: used.tv_sec }))
    }

    /// Takes a tree away if no run shows it and nobody makes it.
    fn take_away(&self, fs: &dyn Fs, key: &TreeKey) -> Result<bool, TreeError> {
        let Some(_lock) = self.try_lock(fs, key)? else { return Ok(false) };
        let name = beside(key, ".seal");
        let seal = match fs.open_file(self.fd(), &name) {
            Err(Errno::NOENT) => return Ok(false),
            seal => seal.map_err(self.failed("open", &name))?,
        };
        match fs.lock(seal.as_fd()) {
            Err(Errno::WOULDBLOCK) => return Ok(false),
            locked => locked.map_err(self.failed("lock", &name))?,
        }
        self.remove(fs, key)?;
        self.forget(fs, &lock_name(key))?;
        Ok(true)
    }

    fn sweep_unfinished(&self, fs: &dyn Fs) -> Result<(), TreeError> {
        for name in self.names(fs)? {
            let unfinished = name.strip_prefix(".new-").or_else(|| name.strip_prefix(".lock-"));
            // A tree without a seal was never whole, or was being taken away.
            let Some(key) = unfinished.or(Some(name.as_str())).and_then(TreeKey::of_name) else {
                continue;
            };
            let Some(_lock) = self.try_lock(fs, &key)? else { continue };
            if self.look(fs, key.clone())?.is_none() {
                self.remove(fs, &key)?;
                self.remove_named(fs, &super::build::new_name(&key))?;
                self.forget(fs, &beside(&key, ".seal.new"))?;
                self.forget(fs, &lock_name(&key))?;
            }
        }
        Ok(())
    }

    fn names(&self, fs: &dyn Fs) -> Result<Vec<String>, TreeError> {
        let entries = fs.list(self.fd(), NAMES).map_err(self.failed("list", OsStr::new("")))?;
        Ok(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
    }
}
