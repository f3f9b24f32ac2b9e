//! What a run does with secrets: their sources are in no view.

use std::path::Path;

use endow_policy::{
    Access, BackendSpec, GuestPath, HostPath, MountClass, MountSpec, Policy, Secret, SecretSource,
    SecretUse, Stated,
};

use super::PlanError;
use super::host::{HiddenName, HostFacts, Paths};
use super::place::{Placed, PlacedSource, Placement};
use super::planted::{self, Planted};

/// Returns the secrets of a run.
///
/// # Errors
/// One that the command would see anyway, or whose file others choose.
pub(super) fn plan(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    keep: &[i32],
) -> Result<Vec<Stated<Secret>>, PlanError> {
    for secret in &policy.secrets {
        let (name, origin) = (secret.value.name.clone(), secret.origin.clone());
        if let SecretUse::Descriptor(number) = secret.value.to
            && keep.contains(&number.into())
        {
            return Err(PlanError::DescriptorTwice { number: number.into(), origin });
        }
        let SecretSource::File(file) = &secret.value.from else { continue };
        if let Some(at) = shown(file, placement, host) {
            let file = file.clone();
            return Err(PlanError::SecretShown { name, file, at, origin });
        }
        if let Some((link, within, to)) = link(file, &policy.mounts, host) {
            return Err(PlanError::SecretByLink { name, link, within, to, origin });
        }
    }
    Ok(policy.secrets.clone())
}

/// Returns whether some are handed to the command: these must be there before pid 1 is.
pub(super) fn are_handed(policy: &Policy) -> bool {
    let is_handed = |it: &Stated<Secret>| matches!(it.value.to, SecretUse::Descriptor(_));
    policy.secrets.iter().any(is_handed)
}

/// Returns the host files that hold secrets.
pub fn files(policy: &Policy) -> impl Iterator<Item = &HostPath> {
    policy.secrets.iter().filter_map(|secret| match &secret.value.from {
        SecretSource::File(file) => Some(file),
        SecretSource::Variable(_) | SecretSource::Command(_) => None,
    })
}

/// Returns where these files really are, and the directories above them.
pub fn places(policy: &Policy, paths: &Paths) -> Vec<HostPath> {
    let resolved = files(policy).filter_map(|file| Some(&paths.get(file)?.resolved));
    let above = resolved.flat_map(|file| file.as_path().ancestors());
    above.filter_map(|path| HostPath::new(path).ok()).collect()
}

/// Returns the first link on the way to a file that lies where others write: a command, or whoever
/// made the project. It could lead to any file of the user's. Then the source of that mount, and
/// where the link leads now.
fn link(
    file: &HostPath,
    mounts: &[MountSpec],
    host: &HostFacts,
) -> Option<(HostPath, HostPath, HostPath)> {
    let fact = host.paths.get(file)?;
    let of_others =
        |spec: &&MountSpec| spec.access != Access::Ro || spec.class == MountClass::Workspace;
    let sources = planted::sources(mounts.iter().filter(of_others), host);
    let Planted { link, within } = planted::any(fact, &sources)?;
    Some((link.clone(), within.clone(), fact.resolved.clone()))
}

/// Returns where the view shows a file of the host.
fn shown(file: &HostPath, placement: &Placement, host: &HostFacts) -> Option<GuestPath> {
    let file = host.paths.get(file).map_or(file, |fact| &fact.resolved);
    placement.mounts.iter().find_map(|placed| shown_by(placed, file, placement, host))
}

fn shown_by(
    placed: &Placed,
    file: &HostPath,
    placement: &Placement,
    host: &HostFacts,
) -> Option<GuestPath> {
    if let BackendSpec::Private { seed, .. } = &placed.spec.backend {
        let seeded = seed.iter().any(|seed| file.as_path().starts_with(seed.as_path()));
        return seeded.then(|| placed.spec.at.clone());
    }
    let source = placed.source.as_ref()?;
    let below = below(file, source, host)?;
    let at = if below.as_os_str().is_empty() {
        placed.spec.at.clone()
    } else {
        placed.spec.at.join(below).ok()?
    };
    let covered = placement.covering(&at) != Some(placed);
    (!covered && !is_hidden(placed, below, &source.path, host)).then_some(at)
}

/// Returns the way from a mount's source to a file: by their paths, or by what is there. Another
/// mount of the host may show the same directory, and a file may have two names.
fn below<'a>(file: &'a HostPath, source: &PlacedSource, host: &HostFacts) -> Option<&'a Path> {
    let is_source = |path: &&Path| {
        let fact = HostPath::new(path).ok().and_then(|path| host.paths.get(&path));
        fact.and_then(|fact| fact.found.id()) == Some(source.id)
    };
    let file = file.as_path();
    let by_path = file.strip_prefix(source.path.as_path()).ok();
    by_path.or_else(|| file.strip_prefix(file.ancestors().find(is_source)?).ok())
}

/// Whether a deny pattern keeps it, or a directory above, out of the view.
fn is_hidden(placed: &Placed, below: &Path, source: &HostPath, host: &HostFacts) -> bool {
    let spared = placed.spec.options.nodeny || placed.spec.class == MountClass::System;
    let hides = |name: &HiddenName| {
        below.starts_with(&name.path) && (name.is_own() || (!spared && !name.socket))
    };
    host.hidden.get(source).is_some_and(|found| found.names.iter().any(hides))
}
