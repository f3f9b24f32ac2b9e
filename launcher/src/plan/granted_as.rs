//! The paths by which a mounted directory is known: as it was granted, as links lead on, and in the view. A pattern may
//! begin in any of them, so that a link on the way shows no more than a real directory would.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use endow_policy::{BackendSpec, HostPath, Policy};
use rustc_hash::FxHashMap;

use super::dots::without_dots;
use super::host::{PathFact, Paths};

/// The other paths of each source that has any.
pub struct GrantedAs(FxHashMap<HostPath, BTreeSet<PathBuf>>);

impl GrantedAs {
    /// Returns them for all mounts of a policy, whichever of them has one and the same source.
    pub fn of(policy: &Policy, paths: &Paths) -> Self {
        let mut all: FxHashMap<HostPath, BTreeSet<PathBuf>> = FxHashMap::default();
        for spec in &policy.mounts {
            let BackendSpec::Physical { host } = &spec.backend else { continue };
            let Some(fact) = paths.get(host) else { continue };
            let mut names = followed(host, fact);
            names.push(spec.at.as_path().to_owned());
            names.retain(|name| name != fact.resolved.as_path());
            if !names.is_empty() {
                all.entry(fact.resolved.clone()).or_default().extend(names);
            }
        }
        Self(all)
    }

    /// Returns the paths of a source besides its own.
    pub fn others(&self, source: &HostPath) -> Vec<&Path> {
        self.0.get(source).into_iter().flatten().map(PathBuf::as_path).collect()
    }

    /// Returns all paths of a source, its own first.
    pub fn all<'a>(&'a self, source: &'a HostPath) -> Vec<&'a Path> {
        [vec![source.as_path()], self.others(source)].concat()
    }
}

/// The path as it is written, and where each of its links leads.
fn followed(host: &HostPath, fact: &PathFact) -> Vec<PathBuf> {
    let mut names = vec![host.as_path().to_owned()];
    let mut now = host.as_path().to_owned();
    for (link, to) in &fact.links {
        let Ok(rest) = now.strip_prefix(link.as_path()) else { break };
        let above = link.as_path().parent().unwrap_or(Path::new("/"));
        // What lies above a link is no link, so that `..` leads up from it.
        now = without_dots(&above.join(to).join(rest));
        names.push(now.clone());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::host::Found;
    use crate::plan::step::HostMount;

    #[test]
    fn links_are_followed_one_by_one() {
        let path = |text: &str| HostPath::new(text).expect("a path");
        let links = [
            ("/home", "real/home"),
            ("/real/home/u/a", "./.docker"),
            ("/real/home/u/.docker", "../u/dot/docker"),
        ];
        let links = links.map(|(link, to)| (path(link), PathBuf::from(to)));
        let (resolved, found) = (path("/real/home/u/dot/docker/sub"), Found::Missing);
        let fact = PathFact { resolved, links: links.into(), found, mount: HostMount::default() };
        let host = path("/home/u/a/sub");
        let expected = [
            "/home/u/a/sub",
            "/real/home/u/a/sub",
            "/real/home/u/.docker/sub",
            "/real/home/u/dot/docker/sub",
        ];
        assert_eq!(followed(&host, &fact), expected.map(PathBuf::from));
    }
}
