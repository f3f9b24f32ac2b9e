//! Settings of repositories among the inputs: an action sees them as every command does, without
//! credentials. So a result does not depend on them either.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use endow_policy::InputSet;
use endow_vfs::cas::Digest;
use endow_vfs::git_dir;
use endow_vfs::inputs::{Found, InputError, Leaf};

use crate::probe;

/// The names of files with settings.
const NAMES: [&str; 2] = ["config", "config.worktree"];
/// The directory of git's in a work tree.
const GIT: &str = ".git";

/// Puts settings without credentials in the place of those that hold some; returns what these say.
/// What stands at the places of outputs is no input, and stays what it is.
///
/// # Errors
/// Settings that are not what the walk found any more.
pub(super) fn clean(
    directory: &Path,
    found: &mut Found,
    outputs: &InputSet,
) -> Result<BTreeMap<String, Vec<u8>>, InputError> {
    let mut cleaned = BTreeMap::new();
    for file in probe::settings_of(directory, &candidates(found)) {
        // Settings of a work tree are named by its directory, and by the repository's.
        let is_done = |path: &str| outputs.takes(path) || cleaned.contains_key(path);
        let Some(path) = file.place.to_str().filter(|path| !is_done(path)) else { continue };
        let Some(&Leaf::File { digest, executable }) = found.tree.leaf(path) else { continue };
        if file.text.as_ref().is_some_and(|text| Digest::of(text) != digest) {
            return Err(InputError::Changed { path: file.place });
        }
        if let Some(text) = file.without_credentials() {
            let digest = Digest::of(&text);
            found.tree = found.tree.with(path, Leaf::File { digest, executable });
            cleaned.insert(path.to_owned(), text);
        }
    }
    Ok(cleaned)
}

/// The directories that may be git's, by the names of what is in them; that of the project always, since its
/// settings may be elsewhere in it.
fn candidates(found: &Found) -> BTreeSet<PathBuf> {
    let mut candidates = BTreeSet::from([PathBuf::from(GIT)]);
    // Those of a work tree belong to the repository that has it.
    let of_tree = |place: &'_ Path| -> Option<PathBuf> {
        let trees = place.parent().filter(|above| above.ends_with(git_dir::WORKTREES))?;
        trees.parent().map(Path::to_owned)
    };
    for (place, folder) in found.tree.all() {
        let place = PathBuf::from(place);
        let has_settings = NAMES.iter().any(|name| folder.has_leaf(name));
        candidates.extend(of_tree(&place).filter(|_| has_settings));
        if has_settings || place.ends_with(GIT) {
            candidates.insert(place);
        }
    }
    candidates
}
