//! Directories of PATH that lead into what every run shows, as package managers with a store of their own make
//! them: `/run/current-system/sw/bin` and `~/.nix-profile/bin` lead into `/nix`.

use std::path::Path;

use endow_policy::{HostPath, MountClass, MountSpec, Policy};

use super::installation::{covering, mount, shows_itself};
use super::surroundings::Surroundings;
use crate::plan::Search;

/// Shows each under its own name, read-only: nothing that is not shown already. Links of the host become links of
/// the view; where a command may have made one of them, the directory is left out, as others of the base are.
pub(crate) fn grant(surroundings: &Surroundings, policy: &mut Policy) {
    if policy.has_tree_as_root() {
        return;
    }
    let search = Search::of(&surroundings.environment);
    let entries = search.path.iter().map(HostPath::as_path);
    let added: Vec<MountSpec> = entries.filter_map(|entry| shown_at(entry, policy)).collect();
    policy.add_mounts(added);
}

/// Returns a mount for a directory that is not shown by its own name, and leads into one of the base.
fn shown_at(entry: &Path, policy: &Policy) -> Option<MountSpec> {
    let is_workspace = |spec: &MountSpec| spec.class == MountClass::Workspace;
    if covering(policy, entry).is_some_and(|it| is_workspace(it) || shows_itself(it)) {
        return None;
    }
    let directory = std::fs::canonicalize(entry).ok().filter(|it| it != entry && it.is_dir())?;
    let shown = covering(policy, &directory).filter(|it| shows_itself(it))?;
    let is_of_base = shown.class == MountClass::System && !shown.changes_source();
    is_of_base
        .then(|| mount(entry.to_owned()))
        .flatten()
        .map(|spec| MountSpec { class: MountClass::System, ..spec })
}
