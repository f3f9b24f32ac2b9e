//! The server of shared results: no command may have written what says to it who asks.

use endow_policy::{HostPath, Origin, Remote, SecretSource};

use super::outside::{Reach, Search};
use super::{PlanError, shell_words};

/// Returns the files that are read, or may be run, before the server is spoken to.
pub(crate) fn files(remote: &Remote, search: &Search) -> Vec<HostPath> {
    let programs = programs(remote).into_iter().flat_map(|program| search.candidates(&program));
    named(remote).map(|(_, file, _)| file.clone()).chain(programs).collect()
}

/// Refuses what lies where a command may have written it: it would say who asks, and whom to believe.
///
/// # Errors
/// The first that lies there.
pub(crate) fn check(remote: &Remote, reach: &Reach<'_>, search: &Search) -> Result<(), PlanError> {
    let refused = |key, what: String, within: &HostPath, origin: &Origin| {
        let (within, origin) = (within.clone(), origin.clone());
        PlanError::RemoteInReach { key, what, within, origin }
    };
    for (key, file, origin) in named(remote) {
        if let Some(within) = reach.file(file) {
            return Err(refused(key, file.to_string(), within, origin));
        }
    }
    let origin = remote.token.as_ref().map_or(&remote.url.origin, |token| &token.origin);
    for program in programs(remote) {
        if let Some(within) = reach.program(&program, search) {
            return Err(refused("token", program, within, origin));
        }
    }
    Ok(())
}

/// Returns the files that are named, by whose key, and who named them.
fn named(remote: &Remote) -> impl Iterator<Item = (&'static str, &HostPath, &Origin)> {
    let token = remote.token.as_ref().and_then(|token| match &token.value {
        SecretSource::File(file) => Some(("token", file, &token.origin)),
        SecretSource::Variable(_) | SecretSource::Command(_) => None,
    });
    let keys = [("ca", &remote.ca), ("cert", &remote.cert), ("key", &remote.key)];
    let files = keys.into_iter().filter_map(|(key, file)| Some((key, file.as_ref()?)));
    token.into_iter().chain(files.map(|(key, file)| (key, file, &remote.url.origin)))
}

/// Returns the programs that the token's command names.
fn programs(remote: &Remote) -> Vec<String> {
    match remote.token.as_ref().map(|token| &token.value) {
        Some(SecretSource::Command(line)) => shell_words::programs(line),
        _ => Vec::new(),
    }
}
