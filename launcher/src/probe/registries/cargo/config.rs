//! Which registries the user's configuration of cargo names.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Table;

use super::super::address::Named;
use super::super::outside::Outside;
use crate::plan::registries::RegistryFault;

/// The source that cargo has without being told.
const DEFAULT: &str = "crates-io";

/// The most sources that stand for one another.
const HOPS_MAX: usize = 16;

/// What a configuration says.
#[derive(Default)]
pub(super) struct Configured {
    /// What stands for the default source.
    pub(super) default: Source,
    /// Indexes of further registries.
    pub(super) others: Vec<Named>,
}

/// A source that stands for the default one.
#[derive(Default)]
pub(super) enum Source {
    /// Itself.
    #[default]
    Own,
    /// A registry, by its index.
    Index(Named),
    /// A directory of packages.
    OnDisk,
}

/// Reads the user's configuration. Of two files cargo takes the one of the older name.
pub(super) fn read(outside: &Outside<'_>, home: &Path) -> Result<Configured, RegistryFault> {
    for name in ["config", "config.toml"] {
        let path = home.join(name);
        let Some(text) = outside.text(&path)? else { continue };
        let place = path.display().to_string();
        return configured(&text, &place).ok_or_else(|| RegistryFault::Unreadable {
            path: place,
            reason: "it is not in the form of cargo's configuration".to_owned(),
        });
    }
    Ok(Configured::default())
}

/// Returns what a configuration says; `None` when it can't be understood.
pub(super) fn configured(text: &str, place: &str) -> Option<Configured> {
    let table: Table = text.parse().ok()?;
    let indexes = indexes(&table, place)?;
    let default = replacement(&table, &indexes, place)?;
    Some(Configured { default, others: indexes.into_values().collect() })
}

fn indexes(table: &Table, place: &str) -> Option<BTreeMap<String, Named>> {
    let Some(registries) = table.get("registries") else { return Some(BTreeMap::new()) };
    let indexes = registries.as_table()?.iter().filter_map(|(name, registry)| {
        let index = registry.get("index")?.as_str()?;
        Some((name.clone(), Named::new(place, index)))
    });
    Some(indexes.collect())
}

/// Follows what stands for the default source; `None` when that leads nowhere.
fn replacement(table: &Table, indexes: &BTreeMap<String, Named>, place: &str) -> Option<Source> {
    let source = |name: &str| table.get("source")?.get(name);
    let mut name = DEFAULT;
    for _ in 0..HOPS_MAX {
        let Some(found) = source(name) else {
            let own = (name == DEFAULT).then_some(Source::Own);
            return own.or_else(|| indexes.get(name).cloned().map(Source::Index));
        };
        if let Some(next) = found.get("replace-with") {
            name = next.as_str()?;
            continue;
        }
        if let Some(registry) = found.get("registry") {
            return Some(Source::Index(Named::new(place, registry.as_str()?)));
        }
        return Some(if name == DEFAULT { Source::Own } else { Source::OnDisk });
    }
    None
}

/// Registries that variables name: `CARGO_REGISTRIES_NAME_INDEX`.
pub(super) fn from_environment(outside: &Outside<'_>) -> impl Iterator<Item = Named> {
    outside.environment().iter().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value.to_str()?);
        name.strip_prefix("CARGO_REGISTRIES_")?.strip_suffix("_INDEX")?;
        (!value.is_empty()).then(|| Named::new(name, value))
    })
}
