//! What a run does with secrets: their sources are in no view.

use std::path::Path;

use endow_policy::{
    BackendSpec, GuestPath, HostPath, MountClass, Policy, Secret, SecretSource, SecretUse, Stated,
};

use super::host::{ExecRequest, HiddenName, HostFacts, Paths};
use super::outside::{Reach, Search};
use super::place::{Placed, PlacedSource, Placement};
use super::{PlanError, shell_words};

/// Returns the secrets of a run.
///
/// # Errors
/// A secret that the command would see anyway, or whose file or program others choose.
pub(super) fn plan(
    policy: &Policy,
    placement: &Placement,
    host: &HostFacts,
    request: &ExecRequest,
) -> Result<Vec<Stated<Secret>>, PlanError> {
    let reach = Reach::new(&policy.mounts, &request.projects, &host.paths);
    for secret in &policy.secrets {
        let (name, origin) = (secret.value.name.clone(), secret.origin.clone());
        if let SecretUse::Descriptor(number) = secret.value.to
            && request.keep.contains(&number.into())
        {
            return Err(PlanError::DescriptorTwice { number: number.into(), origin });
        }
        if let SecretSource::Command(line) = &secret.value.from
            && secret.value.to != SecretUse::Withheld
        {
            check_programs(line, secret, &reach, request)?;
        }
        let SecretSource::File(file) = &secret.value.from else { continue };
        if let Some(at) = shown(file, placement, host) {
            let file = file.clone();
            return Err(PlanError::SecretShown { name, file, at, origin });
        }
        if let Some((link, within)) = reach.link(file) {
            let (link, within) = (link.clone(), within.clone());
            let to = host.paths.get(file).map_or(file, |fact| &fact.resolved).clone();
            return Err(PlanError::SecretByLink { name, link, within, to, origin });
        }
    }
    Ok(policy.secrets.clone())
}

/// The programs that write a value run outside: no command may have written one.
fn check_programs(
    line: &str,
    secret: &Stated<Secret>,
    reach: &Reach<'_>,
    request: &ExecRequest,
) -> Result<(), PlanError> {
    let search = Search::of(&request.environment);
    for program in shell_words::programs(line) {
        if let Some(within) = reach.program(&program, &search) {
            let (name, origin) = (secret.value.name.clone(), secret.origin.clone());
            return Err(PlanError::SecretProgram { name, program, within: within.clone(), origin });
        }
    }
    Ok(())
}

/// Returns the files that commands of secrets may run, which are looked for so.
pub fn programs(policy: &Policy, search: &Search) -> Vec<HostPath> {
    let lines = policy.secrets.iter().filter_map(|secret| match &secret.value.from {
        SecretSource::Command(line) => Some(line),
        SecretSource::Variable(_) | SecretSource::File(_) => None,
    });
    let files = |program: String| search.candidates(&program);
    lines.flat_map(|line| shell_words::programs(line)).flat_map(files).collect()
}

/// Returns the directories in which commands of secrets find programs; none when there is no such
/// command.
pub(super) fn path(policy: &Policy, host: &HostFacts, request: &ExecRequest) -> Vec<HostPath> {
    let is_command = |it: &Stated<Secret>| matches!(it.value.from, SecretSource::Command(_));
    if !policy.secrets.iter().any(is_command) {
        return Vec::new();
    }
    let reach = Reach::new(&policy.mounts, &request.projects, &host.paths);
    reach.safe_path(Search::of(&request.environment))
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
