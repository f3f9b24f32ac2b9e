//! Mounts of a project file: what shows no more of the host than before takes away.

use super::{Judgement, View, shown};
use crate::place::Places;
use crate::{
    Access, BackendSpec, GuestPath, HostPath, MountClass, MountEntry, MountOptions, MountSource,
    MountSpec, PolicyFile, Vars,
};

pub(super) fn judge(judgement: &mut Judgement, file: &PolicyFile, view: &View, vars: &Vars) {
    let places = Places::of(file, vars);
    for entry in &file.mounts {
        judgement.note(narrows(entry, &places, view), &entry.at.origin, shown::mount(entry));
    }
}

pub(super) fn narrows(entry: &MountEntry, places: &Places<'_>, view: &View) -> bool {
    // A path that can't be used is an error of the next stage, whoever wrote it.
    let Ok(at) = places.absolute(&entry.at.value) else { return true };
    let at = at.to_guest();
    match &entry.source {
        MountSource::Memory { .. } => hides(entry, &at, view),
        MountSource::Private { seed, .. } => seed.is_empty() && hides(entry, &at, view),
        MountSource::Removed => !view.is_over_something(&at),
        MountSource::Host { host } => {
            let Ok(host) = places.absolute(host.as_ref().unwrap_or(&entry.at.value)) else {
                return true;
            };
            view.at(&at).is_some_and(|before| {
                lowers(entry, &host, before) && !view.starts_in_system(before)
            })
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

/// Returns whether an empty directory only hides something: in the place of the workspace it would lose what the command
/// does, above the start another would be the workspace, and in that of another it may not be larger, or run programs
/// where that one does not.
fn hides(entry: &MountEntry, at: &GuestPath, view: &View) -> bool {
    let is_no_larger = view.at(at).is_none_or(|before| match &before.backend {
        BackendSpec::Memory { size_bytes, inodes, .. } => {
            keeps_programs_out(before.options, entry.options)
                && is_within(&entry.source, (*size_bytes, *inodes))
        }
        BackendSpec::Private { .. } => keeps_programs_out(before.options, entry.options),
        _ => true,
    });
    is_no_larger && !view.is_workspace(at) && !view.holds_start(at)
}

fn keeps_programs_out(before: MountOptions, now: MountOptions) -> bool {
    !before.noexec || now.noexec
}

/// Returns whether a mount holds no more bytes and files than these; one on disk has no bound.
fn is_within(source: &MountSource, (most, files): (u64, Option<u64>)) -> bool {
    let MountSource::Memory { size_bytes, inodes, .. } = source else { return false };
    *size_bytes <= most && files.is_none_or(|files| inodes.is_some_and(|it| it <= files))
}

/// Returns whether the same source stands at the same place already, with no less access. Only
/// exactly that: a path inside a granted directory may be a symbolic link that the project made.
fn lowers(entry: &MountEntry, host: &HostPath, before: &MountSpec) -> bool {
    let same = matches!(&before.backend, BackendSpec::Physical { host: h } if h == host);
    let options = before.options.socket == entry.options.socket
        && (before.options.nodeny || !entry.options.nodeny)
        // Where the source is absent, what lies below would show in place of the mount's error.
        && (before.options.optional || !entry.options.optional)
        && keeps_programs_out(before.options, entry.options);
    // What is dropped reaches the host no more than what is never written.
    let dropped = entry.options.discard || entry.access == Access::Ro;
    let sync = !before.options.discard || dropped;
    // A project whose changes are dropped loses work, as by `[sync]`: that is no project's to say.
    let loses = before.class == MountClass::Workspace && entry.options.discard;
    let made = entry.options.create.is_none_or(|_| before.options.create == entry.options.create);
    same && options && sync && made && !loses && entry.access <= before.access
}
