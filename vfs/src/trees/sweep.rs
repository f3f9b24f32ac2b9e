//! Taking trees away that were not used for longest, and what dead builders left.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;

use super::build::lock_name;
use super::{Made, Seal, TreeCache, TreeError, TreeKey, beside};
use crate::fs::{Errno, Fs};

/// The most names of the cache that are looked at.
const NAMES: usize = 1 << 20;

/// A tree of the cache, as somebody looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeUse {
    /// Which one.
    pub key: TreeKey,
    /// Files, directories and links; of a layer also what it hides.
    pub entries: u64,
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
    /// Returns the trees, the one that was not used for longest first. A tree is used with each layer
    /// that stands on it, and comes behind them.
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
        note_layers(&mut trees);
        trees.sort_by(|one, other| order(one).cmp(&order(other)));
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
        let mut needed: Vec<TreeKey> = trees.iter().filter_map(|tree| tree.key.base()).collect();
        for tree in trees {
            let is_needed = needed.contains(&tree.key);
            if swept.bytes > quota && !is_needed && self.take_away(fs, &tree.key)? {
                forget_one(&mut needed, tree.key.base());
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
        let Made { entries, bytes } = seal.map_or_else(|_| Made::default(), |seal| seal.made);
        Ok(Some(TreeUse { key, entries, bytes, used: used.tv_sec }))
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

    pub(super) fn names(&self, fs: &dyn Fs) -> Result<Vec<String>, TreeError> {
        let entries = fs.list(self.fd(), NAMES).map_err(self.failed("list", OsStr::new("")))?;
        Ok(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
    }
}

/// Whoever uses a layer uses what it stands on.
fn note_layers(trees: &mut [TreeUse]) {
    let mut used: HashMap<TreeKey, i64> = HashMap::new();
    for tree in trees.iter() {
        if let Some(base) = tree.key.base() {
            let used = used.entry(base).or_insert(tree.used);
            *used = tree.used.max(*used);
        }
    }
    for tree in trees {
        let with_layers = used.get(&tree.key).copied();
        tree.used = tree.used.max(with_layers.unwrap_or(tree.used));
    }
}

fn order(tree: &TreeUse) -> (i64, bool, &TreeKey) {
    (tree.used, tree.key.base().is_none(), &tree.key)
}

/// Takes out one of the trees that layers stand on.
fn forget_one(needed: &mut Vec<TreeKey>, base: Option<TreeKey>) {
    if let Some(at) = base.and_then(|base| needed.iter().position(|key| *key == base)) {
        needed.swap_remove(at);
    }
}
