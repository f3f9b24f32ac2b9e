//! Settings of repositories among the inputs: an action sees them as every command does, without
//! credentials. So a result does not depend on them either.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use endow_policy::InputSet;
use endow_vfs::cas::Digest;
use endow_vfs::inputs::{Found, Leaf};

use crate::probe;

/// The names of files with settings.
const NAMES: [&str; 2] = ["config", "config.worktree"];
/// The directory of git's in a work tree.
const GIT: &str = ".git";

/// Puts settings without credentials in the place of those that hold some; returns what these say.
/// What stands at the places of outputs is no input, and stays what it is.
pub(super) fn clean(
    directory: &Path,
    found: &mut Found,
    outputs: &InputSet,
) -> BTreeMap<String, Vec<u8>> {
    let shown = probe::settings_with_credentials(directory, &candidates(found));
    let mut cleaned = BTreeMap::new();
    for (place, text) in shown {
        let Some(path) = place.to_str().filter(|path| !outputs.takes(path)) else { continue };
        if let Some(Leaf::File { digest, .. }) = found.leaves.get_mut(path) {
            *digest = Digest::of(&text);
            cleaned.insert(path.to_owned(), text);
        }
    }
    cleaned
}

/// The directories that may be git's, by the names of what is in them; that of the project always, since its
/// settings may be elsewhere in it.
fn candidates(found: &Found) -> BTreeSet<PathBuf> {
    let above = |path: &str| path.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let with_settings = found.leaves.keys().filter(|path| NAMES.contains(&name(path).as_str()));
    let with_settings = with_settings.map(|path| PathBuf::from(above(path)));
    let called_git = found.leaves.keys().filter_map(|path| {
        let (before, _) = path.split_once("/.git/")?;
        Some(Path::new(before).join(GIT))
    });
    // Those of a work tree belong to the repository that has it.
    let with_settings: BTreeSet<PathBuf> = with_settings.collect();
    let of_trees = with_settings.iter().filter_map(|it| {
        let trees = it.parent().filter(|above| above.ends_with("worktrees"))?;
        trees.parent().map(Path::to_owned)
    });
    let of_trees: Vec<PathBuf> = of_trees.collect();
    with_settings
        .into_iter()
        .chain(of_trees)
        .chain(called_git)
        .chain([PathBuf::from(GIT)])
        .collect()
}
