//! Mounts of a project file: what shows no more of the host than before takes away.

use super::{Judgement, shown};
use crate::compose::{Composed, ComposedMount};
use crate::place::Places;
use crate::workspace::DEFAULT_WORKSPACE_ACCESS;
use crate::{
    Access, BackendSpec, GuestPath, HostPath, MountEntry, MountSource, PolicyFile, Vars,
    WorkspaceAccess,
};

pub(super) fn judge(judgement: &mut Judgement, file: &PolicyFile, weaker: &Composed, vars: &Vars) {
    let places = Places::of(file, vars);
    for entry in &file.mounts {
        let narrows = narrows(entry, &places, weaker, vars);
        judgement.note(narrows, &entry.at.origin, shown::mount(entry));
    }
}

pub(super) fn narrows(
    entry: &MountEntry,
    places: &Places<'_>,
    weaker: &Composed,
    vars: &Vars,
) -> bool {
    // A path that can't be used is an error of the next stage, whoever wrote it.
    let Ok(at) = places.absolute(&entry.at.value) else { return true };
    let at = at.to_guest();
    match &entry.source {
        MountSource::Memory { .. } => true,
        MountSource::Private { seed, .. } => seed.is_empty(),
        MountSource::Removed => !uncovers(&at, weaker, vars),
        MountSource::Host { host } => {
            let Ok(host) = places.absolute(host.as_ref().unwrap_or(&entry.at.value)) else {
                return true;
            };
            lowers(entry, &at, &host, weaker, vars)
        }
        // What a repository shows depends on files that a command may have written, and it may be
        // larger than the workspace.
        MountSource::Git { .. }
        | MountSource::Cas { .. }
        | MountSource::Copy { .. }
        | MountSource::Made { .. }
        | MountSource::Cgroup => false,
    }
}

/// Returns whether taking a mount away shows what lies below it in a shallower one: an empty
/// directory over a secret hides it, and its removal is a grant.
fn uncovers(at: &GuestPath, weaker: &Composed, vars: &Vars) -> bool {
    let shows = |mount: &ComposedMount| {
        !matches!(
            mount.backend,
            None | Some(BackendSpec::Memory { .. } | BackendSpec::Private { .. })
        )
    };
    let above = weaker.mounts.iter().filter(|(place, _)| at.is_within(place) && *place != at);
    let covering = above.max_by_key(|(place, _)| place.as_bytes().len());
    at.is_within(&workspace(vars).to_guest()) || covering.is_some_and(|(_, mount)| shows(mount))
}

/// Returns whether the same source stands at the same place already, with no less access. Only
/// exactly that: a path inside a granted directory may be a symbolic link that the project made.
fn lowers(
    entry: &MountEntry,
    at: &GuestPath,
    host: &HostPath,
    weaker: &Composed,
    vars: &Vars,
) -> bool {
    if let Some(before) = weaker.mounts.get(at) {
        let same = matches!(&before.backend, Some(BackendSpec::Physical { host: h }) if h == host);
        let options = before.options.socket == entry.options.socket
            && (before.options.nodeny || !entry.options.nodeny)
            && (!before.options.noexec || entry.options.noexec);
        // What is dropped reaches the host no more than what is never written.
        let dropped = entry.options.discard || entry.access == Access::Ro;
        let sync = !before.options.discard || dropped;
        let made =
            entry.options.create.is_none_or(|_| before.options.create == entry.options.create);
        return same && options && sync && made && entry.access <= before.access;
    }
    let default = WorkspaceAccess::Granted(DEFAULT_WORKSPACE_ACCESS);
    let before = weaker.workspace_access.as_ref().map_or(default, |access| access.value);
    // A project whose changes are dropped loses work, as by `[sync]`: that is no project's to say.
    *host == workspace(vars)
        && !entry.options.discard
        && entry.options.create.is_none()
        && at.as_bytes() == host.as_bytes()
        && !entry.options.nodeny
        && !entry.options.socket
        && WorkspaceAccess::Granted(entry.access) <= before
}

fn workspace(vars: &Vars) -> HostPath {
    vars.git_root.clone().unwrap_or_else(|| vars.cwd.clone())
}
