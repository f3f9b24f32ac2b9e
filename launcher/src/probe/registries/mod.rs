//! The hosts of registries, from the user's own configuration of each tool or from what the tool
//! itself reports: no registry is known to endow.
//!
//! What a command of the policy may have written has no say: neither a file of the project, nor a
//! program or a configuration in a place that is mounted for writing.

mod address;
mod cargo;
mod go;
mod npm;
mod outside;
mod pip;
mod program;

use std::ffi::OsString;

use endow_policy::{HostRule, Policy, Registry, Vars};

use crate::plan::registries::{Registries, RegistryFault, asked};

use outside::Outside;

use super::Questions;
use crate::plan::host::Paths;

/// Asks for the hosts of each registry that the policy names; most name none.
pub(super) fn ask(questions: &Questions<'_>, paths: &Paths) -> Registries {
    let policy = questions.policy;
    let mut registries = asked(&policy.network).peekable();
    if registries.peek().is_none() {
        return Registries::new();
    }
    let outside = Outside::new(&policy.mounts, paths, questions.environment, questions.vars);
    registries.map(|registry| (registry, hosts(registry, &outside))).collect()
}

/// Asks for the hosts of all registries; one of which nothing is known is left out.
pub(crate) fn known(
    policy: &Policy,
    paths: &Paths,
    (environment, vars): (&[(OsString, OsString)], &Vars),
) -> Vec<(Registry, Vec<HostRule>)> {
    let outside = Outside::new(&policy.mounts, paths, environment, vars);
    let all = Registry::ALL.iter();
    all.filter_map(|registry| Some((*registry, hosts(*registry, &outside).ok()?))).collect()
}

fn hosts(registry: Registry, outside: &Outside<'_>) -> Result<Vec<HostRule>, RegistryFault> {
    let named = match registry {
        Registry::Npm => npm::registries(outside),
        Registry::Cargo => cargo::registries(outside),
        Registry::Pip => pip::registries(outside),
        Registry::Go => go::registries(outside),
    };
    address::rules(&named?)
}
