//! Links that a command may have planted: where this run may write, an earlier one could have put
//! a symbolic link in the place of any name that is granted.

use endow_policy::{Access, BackendSpec, HostPath, MountSpec};

use super::host::{HostFacts, PathFact};

/// A link that a command may have made, or may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planted<'a> {
    /// The link.
    pub(super) link: &'a HostPath,
    /// The source of the live mount in which it lies.
    pub(super) within: &'a HostPath,
}

/// Returns the sources of live mounts, links resolved.
pub(super) fn live_sources<'a>(mounts: &[MountSpec], host: &'a HostFacts) -> Vec<&'a HostPath> {
    sources(mounts.iter().filter(|spec| spec.access != Access::Ro), host)
}

/// Returns the sources of mounts, links resolved.
pub(super) fn sources<'a, 'b>(
    mounts: impl Iterator<Item = &'b MountSpec>,
    host: &'a HostFacts,
) -> Vec<&'a HostPath> {
    let source = |spec: &MountSpec| match &spec.backend {
        BackendSpec::Physical { host: source } => host.paths.get(source),
        _ => None,
    };
    mounts.filter_map(source).map(|fact| &fact.resolved).collect()
}

/// Finds the first link on the way to a source that lies in a live mount while the source does
/// not: what stays within shows nothing that the command can't reach anyway.
pub(super) fn find<'a>(fact: &'a PathFact, live: &[&'a HostPath]) -> Option<Planted<'a>> {
    let leaves = |link: &'a HostPath| {
        let mut left = live.iter().filter(|it| !fact.resolved.is_within(it));
        left.find(|it| link.is_within(it)).map(|within| Planted { link, within })
    };
    fact.links.iter().find_map(|(link, _)| leaves(link))
}

/// Finds the first link on the way to a file that lies in a live mount, wherever it leads.
pub(super) fn any<'a>(fact: &'a PathFact, live: &[&'a HostPath]) -> Option<Planted<'a>> {
    fact.links.iter().find_map(|(link, _)| {
        live.iter().find(|it| link.is_within(it)).map(|within| Planted { link, within })
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::plan::host::Found;
    use crate::plan::step::HostMount;

    fn path(path: &str) -> HostPath {
        HostPath::new(path).expect("a path")
    }

    /// Checks whether links on the way to `resolved` are refused beside live mounts.
    fn check(links: &[&str], resolved: &str, live: &[&str], expected: Option<(&str, &str)>) {
        let links = links.iter().map(|link| (path(link), PathBuf::from("x"))).collect();
        let fact = PathFact {
            resolved: path(resolved),
            links,
            found: Found::Missing,
            mount: HostMount::default(),
        };
        let live: Vec<HostPath> = live.iter().map(|it| path(it)).collect();
        let live: Vec<&HostPath> = live.iter().collect();
        let found = find(&fact, &live);
        let found = found.map(|it| (it.link.to_string(), it.within.to_string()));
        let expected = expected.map(|(link, within)| (link.to_owned(), within.to_owned()));
        assert_eq!(found, expected, "{resolved}");
    }

    #[test]
    fn links_out_of_live_mounts_are_found() {
        check(&["/w/data"], "/secret", &["/w"], Some(("/w/data", "/w")));
        check(&["/h", "/w/a"], "/secret", &["/v", "/w"], Some(("/w/a", "/w")));
        // Through a place within, and back.
        check(&["/w/a", "/w/b"], "/secret", &["/w"], Some(("/w/a", "/w")));
        // A mount that leads there by the same link vouches for nothing.
        check(&["/w/data"], "/secret/in", &["/w", "/secret"], Some(("/w/data", "/w")));
        check(&["/w/data"], "/", &["/w", "/"], Some(("/w/data", "/w")));
    }

    #[test]
    fn links_that_stay_or_that_nobody_may_write_are_followed() {
        check(&["/w/data"], "/w/sub/data", &["/w"], None);
        check(&["/h/data"], "/secret", &["/w"], None);
        check(&["/wide/data"], "/secret", &["/w"], None);
        check(&["/w/data"], "/secret", &[], None);
        check(&[], "/w/data", &["/w"], None);
    }
}
