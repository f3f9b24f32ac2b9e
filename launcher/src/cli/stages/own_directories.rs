//! endow's own directories: where they are, made where one would lie in a grant, and never granted themselves.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;

use endow_policy::{HostPath, MountClass, MountSpec};
use endow_vfs::fs::FileId;
use endow_vfs::state::{EndowDirs, OwnDir, Relation};

use crate::cli::error::{CommandError, Kind};
use crate::cli::sources::surroundings::Dirs;
use crate::cli::sources::{self, Found};
use crate::plan::host::Paths;

pub(super) fn own_directories(dirs: &Dirs) -> Result<EndowDirs, CommandError> {
    let profiles = sources::linked_profiles(dirs);
    let named = [
        (OwnDir::State, dirs.state.as_path()),
        (OwnDir::Cache, dirs.cache.as_path()),
        (OwnDir::Config, dirs.config.as_path()),
    ];
    let linked = profiles.iter().map(|path| (OwnDir::Config, path.as_path()));
    EndowDirs::resolve(named.into_iter().chain(linked))
        .map_err(|error| CommandError::new(Kind::Setup, error.to_string()).cause(&error.error))
}

/// Returns whether one of endow's own directories lies in a grant and does not exist. None can be
/// granted: runs of others, undo data and what is trusted are in no view. Judged by what was found
/// at the end of all links, which is what will be mounted.
pub(super) fn own_missing_in_grant(
    found: &Found,
    own: &EndowDirs,
    paths: &Paths,
) -> Result<bool, CommandError> {
    let mut missing = false;
    for (spec, host) in granted(found) {
        let fact = paths.get(host);
        let Some((fact, id)) = fact.and_then(|fact| Some((fact, fact.found.id()?))) else {
            continue;
        };
        let id = FileId { dev: id.dev, ino: id.ino };
        match own.relation_found(fact.resolved.as_path(), id) {
            Ok(Relation::Inside(dir)) => return Err(refused(spec, host, dir)),
            Ok(Relation::Contains(contained)) => missing |= contained.iter().any(|it| !it.exists),
            _ => {}
        }
    }
    Ok(missing)
}

fn granted(found: &Found) -> impl Iterator<Item = (&MountSpec, &HostPath)> {
    use endow_policy::BackendSpec::{Copy, Physical};
    let granted = found.policy.mounts.iter().filter(|spec| spec.class != MountClass::System);
    granted.filter_map(|spec| match &spec.backend {
        Physical { host } | Copy { host } => Some((spec, host)),
        _ => None,
    })
}

fn refused(spec: &MountSpec, host: &HostPath, dir: OwnDir) -> CommandError {
    let message = format!("endow's own {} directory can't be granted", dir.word());
    CommandError::new(Kind::Setup, message)
        .about(host)
        .cause(format!("asked for by {}", spec.origin))
}

pub(super) fn make_own(own: &EndowDirs) -> Result<(), CommandError> {
    for directory in own.missing() {
        match DirBuilder::new().recursive(true).mode(0o700).create(directory) {
            Ok(()) => {}
            // What the user may not make, the command may not make either.
            Err(error) if is_forbidden(&error) => {}
            Err(error) => {
                return Err(CommandError::new(Kind::Setup, "can't make endow's own directory")
                    .about(directory.display())
                    .cause(error));
            }
        }
    }
    Ok(())
}

fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}
