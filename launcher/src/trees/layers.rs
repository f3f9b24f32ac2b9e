//! A commit close to one that is cached: a layer of what differs, over that one's tree.

use std::path::Path;

use endow_policy::HostPath;
use endow_vfs::fs::OsFs;
use endow_vfs::git_tree::{self, Id, Options, Repository};
use endow_vfs::trees::{self, TreeCache, TreeKey, TreeUse};

use super::git_places::Parts;
use crate::confined::{self, Reach};
use crate::plan::{TreeBase, TreeFact};
use crate::probe::file_system;

/// How many trees of the cache are looked for in the repository, those that were used last.
const LOOKED_FOR: usize = 64;
/// How many of those that it has are compared.
const COMPARED: usize = 4;
/// A layer is worth it when it has at most a quarter as many entries as the tree below.
const WORTH: u64 = 4;

/// Stands a tree that is not there on one that is, when few paths differ; else it is whole. A layer
/// always stands on a whole tree, so that two are looked through and no more. Where the cache can
/// hold no whiteouts (in a container's own overlayfs, say), every tree is whole.
pub(super) fn on_another(whole: TreeFact, parts: &Parts) -> TreeFact {
    if !file_system::of(whole.cache.as_path()).holds_layers() {
        return whole;
    }
    stand(&whole, parts).unwrap_or(whole)
}

fn stand(whole: &TreeFact, parts: &Parts) -> Option<TreeFact> {
    let cache = whole.cache.as_path();
    let (kind, name) = whole.key.rsplit_once('-')?;
    let key = TreeKey::new(kind, name)?;
    if let Some(base) = trees::layer_base(&OsFs, cache, &key) {
        return layer(whole, &key, &base);
    }
    let bases = bases(cache, &key);
    let id: Id = name.parse().ok()?;
    if bases.is_empty() {
        return None;
    }
    let reach = Reach { read: parts.read.clone(), ..Reach::default() };
    // What goes wrong is told when the tree is made as a whole.
    let nearest = confined::run(&reach, || nearest(&parts.places, &id, &bases));
    layer(whole, &key, &bases.get(nearest.ok()??)?.key)
}

/// Returns the whole trees of this kind, the one that was used last first.
fn bases(cache: &Path, key: &TreeKey) -> Vec<TreeUse> {
    let found = TreeCache::existing(&OsFs, cache).and_then(|cache| cache.trees(&OsFs).ok());
    let is_base = |tree: &TreeUse| tree.key.base().is_none() && key.on(&tree.key).is_some();
    let found = found.unwrap_or_default().into_iter().rev();
    found.filter(is_base).take(LOOKED_FOR).collect()
}

/// Returns which tree has the fewest differences.
fn nearest(places: &git_tree::Places, id: &Id, bases: &[TreeUse]) -> Option<usize> {
    let repository = Repository::open_at(places).ok()?;
    let ids = bases.iter().enumerate().filter_map(|(at, base)| {
        let id: Id = base.key.name()?.parse().ok()?;
        repository.has(&id).then_some((at, base.entries, id))
    });
    let mut best = None;
    for (at, entries, base) in ids.take(COMPARED) {
        let worth = usize::try_from(entries / WORTH).unwrap_or(usize::MAX);
        let most = best.map_or(worth, |(_, fewest): (usize, usize)| worth.min(fewest));
        let found = repository.difference(&base, id, most, &Options::default());
        let Ok(Some(found)) = found else { continue };
        let differing = found.snapshot.entries().len() + found.gone.len();
        if best.is_none_or(|(_, fewest)| differing < fewest) {
            best = Some((at, differing));
        }
    }
    best.map(|(at, _)| at)
}

fn layer(whole: &TreeFact, key: &TreeKey, base: &TreeKey) -> Option<TreeFact> {
    let cache = whole.cache.as_path();
    let host = |key: &TreeKey| HostPath::new(trees::place(cache, key)).ok();
    let (kind, _) = whole.id.split_once(':')?;
    let layer = key.on(base)?;
    let id = format!("{kind}:{}", base.name()?);
    let base = TreeBase { id, key: base.to_string(), root: host(base)? };
    let (root, is_made) = (host(&layer)?, trees::is_made(cache, &layer));
    Some(TreeFact { key: layer.to_string(), root, is_made, base: Some(base), ..whole.clone() })
}
