//! The server of shared results: no command may have written what says to it who asks, or have put itself in its place.

use endow_policy::{HostPath, Origin, Remote, RemoteUrl, SecretSource};

use super::outside::{Reach, Search};
use super::{PlanError, shell_words};

/// Returns the files that are read, or may be run, before the server is spoken to.
pub(crate) fn files(remote: &Remote, search: &Search) -> Vec<HostPath> {
    let programs = programs(remote).into_iter().flat_map(|program| search.candidates(&program));
    let named = named(remote).map(|(_, file, _)| file.clone());
    named.chain(socket(remote)).chain(programs).collect()
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
    // One that is mounted by itself stays the server's.
    if let Some(socket) = socket(remote).filter(|socket| reach.leads_to(socket))
        && let Some(within) = reach.file(&socket)
    {
        return Err(refused("url", socket.to_string(), within, &remote.url.origin));
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

/// Returns the socket at which the server is.
fn socket(remote: &Remote) -> Option<HostPath> {
    match &remote.url.value {
        RemoteUrl::Socket(path) => HostPath::new(path).ok(),
        RemoteUrl::Directory(_) | RemoteUrl::Server { .. } => None,
    }
}

/// Returns the programs that the token's command names.
fn programs(remote: &Remote) -> Vec<String> {
    match remote.token.as_ref().map(|token| &token.value) {
        Some(SecretSource::Command(line)) => shell_words::programs(line),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use endow_policy::Stated;

    use super::super::host::{Found, PathFact, Paths};
    use super::super::step::{FileId, HostMount};
    use super::*;

    fn host_path(text: &str) -> HostPath {
        HostPath::new(text).expect("a path")
    }

    fn fact(resolved: &str, link: Option<&str>) -> PathFact {
        let links = link.map(|link| (host_path(link), PathBuf::from("x"))).into_iter().collect();
        let found = Found::Socket(FileId::from((1, 1, 0)));
        PathFact { resolved: host_path(resolved), links, found, mount: HostMount::default() }
    }

    /// Checks a server's place where commands write `/w` and the socket `/run/s`.
    #[track_caller]
    fn check_url(url: &str, within: Option<&str>) {
        let paths = Paths::from_iter([
            (host_path("/w/s"), fact("/w/s", None)),
            (host_path("/run/s"), fact("/run/s", None)),
            (host_path("/run/other"), fact("/run/other", None)),
            (host_path("/own/s"), fact("/w/s", Some("/own/s"))),
            (host_path("/own/through"), fact("/run/other", Some("/w/link"))),
        ]);
        let reach = Reach::of(["/w", "/run/s"].map(host_path).to_vec(), &paths);
        let url = RemoteUrl::parse(url).expect("a place");
        let remote = Remote::at(Stated::new(url, Origin::Flag("--remote".into())));
        let search = Search::default();
        let looked_at = files(&remote, &search);
        let refused = check(&remote, &reach, &search).err().map(|error| match error {
            PlanError::RemoteInReach { key: "url", within, what, .. } => {
                assert_eq!(looked_at, [host_path(&what)]);
                within.to_string()
            }
            other => other.to_string(),
        });
        assert_eq!(refused.as_deref(), within);
    }

    #[test]
    fn server_at_a_socket_that_commands_could_have_made_is_refused() {
        check_url("unix:/w/s", Some("/w"));
        check_url("unix:/w/none", Some("/w"));
        check_url("unix:/own/s", Some("/w"));
        check_url("unix:/own/through", Some("/w"));
        for url in ["unix:/run/other", "unix:/run/s", "file:/w/cache", "grpc://h:1", "grpcs://w"] {
            check_url(url, None);
        }
    }
}
