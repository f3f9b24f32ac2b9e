//! endow's own directories below a source: other runs, undo data and what is trusted.

use std::path::Path;

use endow_vfs::state::Relation;
use rustix::io::Errno;

use super::{HiddenOptions, Source, failed};
use crate::plan::host::{HiddenName, HiddenNames};

/// Adds the directories of endow's own that exist below `source`. What lies in them is hidden with them.
pub(super) fn add(names: &mut HiddenNames, source: &Source, options: &HiddenOptions<'_>) {
    match find(source, options) {
        Ok(own) => {
            let is_apart = |path: &Path| !own.iter().any(|it| path.starts_with(&it.path));
            names.names.retain(|name| is_apart(&name.path));
            // What waits in a layer is no repository of the user's.
            names.noted.names.retain(|(path, _)| is_apart(path));
            names.noted.links.retain(|path| is_apart(path));
            names.noted.repositories.retain(|path| is_apart(path));
            names.names.extend(own);
        }
        Err(errno) => names.failed = Some(errno.raw_os_error()),
    }
    names.names.sort();
}

/// System and program directories are not walked; endow's own directories are hidden there too.
pub(super) fn below_system(source: &Source, options: &HiddenOptions<'_>) -> HiddenNames {
    if !options.own.is_some_and(|own| own.any_below(source.path.as_path())) {
        return HiddenNames::default();
    }
    match find(source, options) {
        Ok(names) => HiddenNames { names, ..HiddenNames::default() },
        Err(errno) => failed(errno),
    }
}

fn find(source: &Source, options: &HiddenOptions<'_>) -> Result<Vec<HiddenName>, Errno> {
    let Some(own) = options.own else { return Ok(Vec::new()) };
    let id = endow_vfs::fs::FileId { dev: source.id.dev, ino: source.id.ino };
    let relation = own.relation_found(source.path.as_path(), id);
    let relation =
        relation.map_err(|error| Errno::from_io_error(&error.error).unwrap_or(Errno::IO))?;
    let contained = match relation {
        Relation::Apart => return Ok(Vec::new()),
        // Such a grant is refused.
        Relation::Inside(_) => return Err(Errno::ACCESS),
        Relation::Contains(contained) => contained,
    };
    let present = contained.into_iter().filter(|it| it.exists).map(|it| it.relative);
    let name = |path| HiddenName { path, directory: true, rule: None, socket: false };
    Ok(present.map(name).collect())
}
