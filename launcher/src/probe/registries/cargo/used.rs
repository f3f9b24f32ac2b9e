//! What cargo keeps of the registries that the user has used.

use std::path::Path;

use serde_json::Value;

use super::super::address::Named;
use super::super::outside::Outside;
use crate::plan::registries::RegistryFault;

/// A registry that cargo has asked, as it keeps it.
pub(super) struct Used {
    /// The host of its index.
    pub(super) host: String,
    /// Where the packages are, and where questions are answered.
    pub(super) addresses: Vec<Named>,
}

/// Returns the registries that cargo has asked by HTTP.
pub(super) fn read(outside: &Outside<'_>, index: &Path) -> Result<Vec<Used>, RegistryFault> {
    let mut registries = Vec::new();
    for name in outside.names(index)? {
        let Some(host) = name.to_str().and_then(host_of_directory) else { continue };
        let path = index.join(&name).join("config.json");
        // An index that is a repository of git has its own within.
        let Some(text) = outside.text(&path)? else { continue };
        let place = path.display().to_string();
        let addresses = learned(&text, &place).ok_or(RegistryFault::NoAddress { place })?;
        registries.push(Used { host: host.to_owned(), addresses });
    }
    Ok(registries)
}

/// Takes the hash away: a directory is named `HOST-HASH`.
fn host_of_directory(name: &str) -> Option<&str> {
    let (host, hash) = name.rsplit_once('-')?;
    let is_hash = !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && !host.is_empty()).then_some(host)
}

/// Returns what an index says of itself.
fn learned(text: &str, place: &str) -> Option<Vec<Named>> {
    let value: Value = serde_json::from_str(text).ok()?;
    let address = |key: &str| value.get(key).and_then(Value::as_str);
    let download = address("dl")?;
    let addresses = std::iter::once(download).chain(address("api"));
    Some(addresses.map(|address| Named::new(place, address)).collect())
}
