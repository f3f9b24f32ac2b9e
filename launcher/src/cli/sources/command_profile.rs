//! The profile that belongs to a command by its name: what is called like an agent gets what that
//! agent needs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use endow_policy::{BackendSpec, HostPath, MountClass, MountSpec, Policy, builtin};

use super::surroundings::Surroundings;
use crate::cli::sources;
use crate::cli::stages::installation::{on_host, places};
use crate::probe::small_file::is_absent;

/// A profile, and the program for which it is.
#[derive(Debug)]
pub(crate) struct OwnProfile {
    /// Its name.
    pub(crate) name: String,
    /// Where the program is found, and every place to which links lead from there.
    places: Vec<PathBuf>,
}

/// Returns the profile that has the name of a command, when a shell here would find the command by
/// that name alone.
pub(crate) fn of(command: &OsStr, surroundings: &Surroundings) -> Option<OwnProfile> {
    let name = command.to_str().filter(|_| !command.as_bytes().contains(&b'/'))?;
    let is_own = !is_absent(&sources::profile_path(&surroundings.dirs, name));
    let is_builtin = name != "base" && builtin::names().any(|known| known == name);
    if !is_own && !is_builtin {
        return None;
    }
    let places = places(on_host(command, surroundings)?);
    Some(OwnProfile { name: name.to_owned(), places })
}

impl OwnProfile {
    /// Returns whether a command could have put the program there, under `policy` or, in a project, under another one:
    /// then the name says nothing.
    pub(crate) fn is_planted(&self, policy: &Policy, surroundings: &Surroundings) -> bool {
        let projects = endow_policy::projects(&surroundings.vars);
        let hosts = policy.mounts.iter().filter_map(written).chain(&projects);
        let sources: Vec<PathBuf> = hosts.map(real).collect();
        self.places.iter().any(|place| sources.iter().any(|source| place.starts_with(source)))
    }
}

/// Returns the host path that changes inside reach, or reached before: who fetched the project wrote it, and no access
/// of this run's says what an earlier one had.
fn written(spec: &MountSpec) -> Option<&HostPath> {
    match &spec.backend {
        BackendSpec::Physical { host }
            if spec.class == MountClass::Workspace || spec.changes_source() =>
        {
            Some(host)
        }
        _ => None,
    }
}

fn real(host: &HostPath) -> PathBuf {
    fs::canonicalize(host.as_path()).unwrap_or_else(|_| host.as_path().to_owned())
}
