//! What two commits have at the paths at which they differ.

use super::diff::{Sides, diff};
use super::objects::{Objects, failed};
use super::trees::{Leaf, Trees};
use super::{CopyError, commit};
use crate::git_tree::{Id, Limit, Repository, SUBMODULE};
use crate::versions::{Export, PATHS_MAX, Version, VersionKind, Versions};

/// Exports both versions of each path that is wanted and differs, sorted by path.
///
/// # Errors
/// An object can't be read, a file can't be written, or there are too many.
pub fn export(
    repository: &Repository,
    [old, new]: [&Id; 2],
    export: &mut Export<'_>,
) -> Result<Vec<Versions>, CopyError> {
    let mut objects = Objects::new(export.fs(), export.dir(), repository, None);
    let sides = [commit::tree(&mut objects, old)?, commit::tree(&mut objects, new)?];
    let [old, new] = sides.map(Some);
    let changed = diff((&mut objects, &mut Trees::default()), old, new)?;
    let mut all = Vec::new();
    for (path, Sides { old, new }) in changed {
        if !export.takes(&path) {
            continue;
        }
        let mut versions = Versions::new(&path);
        versions.old = old.map(|leaf| version(&mut objects, leaf, export)).transpose()?;
        versions.new = new.map(|leaf| version(&mut objects, leaf, export)).transpose()?;
        versions.is_same_content = old.zip(new).is_some_and(|(old, new)| old.1 == new.1);
        all.push(versions);
        if all.len() > PATHS_MAX {
            return Err(CopyError::TooMuch { what: "changed paths", most: PATHS_MAX as u64 });
        }
    }
    Ok(all)
}

fn version(
    objects: &mut Objects<'_>,
    (mode, id): Leaf,
    export: &mut Export<'_>,
) -> Result<Version, CopyError> {
    let kind = match mode {
        SUBMODULE => return Ok(Version { kind: VersionKind::Submodule, size: 0, file: None }),
        0o120_000 => VersionKind::Symlink,
        0o100_755 => VersionKind::Executable,
        _ => VersionKind::File,
    };
    let size = objects.size(&id)?;
    let mut file = None;
    if export.has_room(size) {
        let mut bytes = Vec::new();
        objects.read(&id, Limit(size), &mut bytes)?;
        file = Some(export.put(&bytes).map_err(failed("write a version of", id.to_string()))?);
    }
    Ok(Version { kind, size, file })
}
