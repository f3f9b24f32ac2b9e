//! Cargo: its configuration, and what it keeps of the registries that the user has used. Which hosts
//! a registry's packages lie on only the registry tells, so cargo must have asked it once.

mod config;
#[cfg(test)]
mod tests;
mod used;

use std::path::PathBuf;

use config::Source;
use used::Used;

use super::address::{Named, rule};
use super::outside::Outside;
use crate::plan::registries::RegistryFault;

/// Returns the registries of cargo: indexes, and where their packages are.
pub(super) fn registries(outside: &Outside<'_>) -> Result<Vec<Named>, RegistryFault> {
    let home = outside.variable("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| outside.home(".cargo")) else {
        return Err(RegistryFault::Unused { index: "~/.cargo/registry/index".to_owned() });
    };
    let mut configured = config::read(outside, &home)?;
    configured.others.extend(config::from_environment(outside));
    let index = home.join("registry/index");
    let used = used::read(outside, &index)?;
    let default = match &configured.default {
        Source::OnDisk => Vec::new(),
        Source::Index(index) => of_index(index, &used),
        Source::Own => of_default(&configured.others, &used)
            .ok_or_else(|| RegistryFault::Unused { index: index.display().to_string() })?,
    };
    let others = configured.others.iter().flat_map(|index| of_index(index, &used));
    Ok(default.into_iter().chain(others).collect())
}

/// An index that is configured, with what cargo has learned from its host.
fn of_index(index: &Named, used: &[Used]) -> Vec<Named> {
    let known = used.iter().filter(|used| is_at(index, &used.host));
    let learned = known.flat_map(|used| used.addresses.iter().cloned());
    std::iter::once(index.clone()).chain(learned).collect()
}

/// What was used and is configured nowhere: the default index, at the port of its scheme.
fn of_default(others: &[Named], used: &[Used]) -> Option<Vec<Named>> {
    let is_other = |used: &&Used| others.iter().any(|index| is_at(index, &used.host));
    let own: Vec<&Used> = used.iter().filter(|used| !is_other(used)).collect();
    let addresses = |used: &&Used| {
        let place = used.addresses.first().map(|it| it.place.clone()).unwrap_or_default();
        let index = Named::new(place, format!("https://{}", used.host));
        std::iter::once(index).chain(used.addresses.iter().cloned()).collect::<Vec<_>>()
    };
    (!own.is_empty()).then(|| own.iter().flat_map(addresses).collect())
}

fn is_at(index: &Named, host: &str) -> bool {
    let host_of = |address: &str| rule(address).ok().flatten().map(|rule| rule.host);
    host_of(&index.address).is_some_and(|it| host_of(&format!("https://{host}")) == Some(it))
}
