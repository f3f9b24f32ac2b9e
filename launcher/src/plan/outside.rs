//! Programs that endow starts outside for a run: found where no command can have put them. That is
//! neither the project and the workspace, whatever this run may do there (an earlier one may have written it),
//! nor what a mount lets commands write.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{Access, BackendSpec, GuestPath, HostPath, MountClass, MountSpec};

use super::dots::without_dots;
use super::host::{Found, PathFact, Paths};

/// How a program that is started outside is found by its name or path. It starts in `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The directories of PATH. A relative one is none.
    pub path: Vec<HostPath>,
    home: Option<PathBuf>,
}

impl Search {
    /// Reads the caller's environment.
    pub fn of(environment: &[(OsString, OsString)]) -> Self {
        let value =
            |of: &str| environment.iter().find(|(name, _)| name == of).map(|(_, value)| value);
        let path = value("PATH").map(|it| it.as_bytes()).unwrap_or_default();
        let directory = |entry: &[u8]| HostPath::new(OsStr::from_bytes(entry)).ok();
        Self {
            path: path.split(|byte| *byte == b':').filter_map(directory).collect(),
            home: value("HOME").map(PathBuf::from),
        }
    }

    /// Returns the files that a program's name may stand for: its path, or one in each directory.
    pub(crate) fn candidates(&self, program: &str) -> Vec<HostPath> {
        if is_path(program) {
            return self.by_path(program).into_iter().collect();
        }
        self.path.iter().filter_map(|directory| directory.join(program).ok()).collect()
    }

    /// Returns the path of a program, as a shell in `/` reads it.
    pub(super) fn by_path(&self, program: &str) -> Option<HostPath> {
        let of_home = HOME.iter().find_map(|name| program.strip_prefix(name));
        let path =
            match (of_home.filter(|rest| rest.is_empty() || rest.starts_with('/')), &self.home) {
                (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
                _ => Path::new("/").join(program),
            };
        HostPath::new(without_dots(&path)).ok()
    }
}

/// How a line of the shell names the user's directory.
pub(super) const HOME: [&str; 3] = ["~", "$HOME", "${HOME}"];

/// Whether it is looked for nowhere.
pub(super) fn is_path(program: &str) -> bool {
    program.contains('/') || HOME.contains(&program)
}

/// With these errors (EACCES, ENAMETOOLONG) programs get nowhere either.
const NOT_THERE: [i32; 2] = [13, 36];

/// Where commands may have put something.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    /// The sources of such mounts and the project, links resolved.
    pub(super) sources: Vec<HostPath>,
    paths: &'a Paths,
}

impl<'a> Reach<'a> {
    /// Returns what the mounts of a policy leave open, and the directories of the project.
    pub(crate) fn new(mounts: &[MountSpec], projects: &[HostPath], paths: &'a Paths) -> Self {
        Self::of(sources((mounts, projects), is_of_others, paths), paths)
    }

    /// Returns what lies in these places.
    pub(crate) fn of(sources: Vec<HostPath>, paths: &'a Paths) -> Self {
        Self { sources, paths }
    }

    /// Whether a command could have written what a path leads to. A socket that is mounted by itself has no names.
    pub(super) fn leads_to(&self, path: &HostPath) -> bool {
        let fact = self.paths.get(path);
        let is_mounted = |within: &HostPath| {
            fact.is_some_and(|it| matches!(it.found, Found::Socket(_)) && it.resolved == *within)
        };
        self.file(path).is_some_and(|within| !is_mounted(within))
    }

    /// Whether a look at a path failed though there may be something: for want of descriptors or memory, say, or in a
    /// loop of links.
    pub(super) fn is_unknown(&self, path: &HostPath) -> bool {
        let found = self.paths.get(path).map(|fact| fact.found);
        matches!(found, Some(Found::Unreadable(errno)) if !NOT_THERE.contains(&errno))
    }

    /// Returns the sources, and by which other names they are known; no socket that is mounted by itself.
    pub(super) fn places(&self) -> impl Iterator<Item = &HostPath> {
        let is_source = |fact: &PathFact| self.sources.contains(&fact.resolved);
        let known = self.paths.iter().filter(move |(_, fact)| is_source(fact));
        let is_socket = |fact: &PathFact| matches!(fact.found, Found::Socket(_));
        let sockets: Vec<&HostPath> =
            known.clone().filter(|(_, it)| is_socket(it)).map(|(_, it)| &it.resolved).collect();
        let named = known.filter(move |(_, it)| !is_socket(it)).map(|(path, _)| path);
        self.sources.iter().filter(move |it| !sockets.contains(it)).chain(named)
    }

    /// Returns the source by which a command could have written a file, or a link on the way to it.
    pub(crate) fn file(&self, file: &HostPath) -> Option<&HostPath> {
        let resolved = self.paths.get(file).map(|fact| &fact.resolved);
        let mut named = [Some(file), resolved].into_iter().flatten();
        let linked = || self.link(file).map(|(_, within)| within);
        named.find_map(|path| self.source(path)).or_else(linked)
    }

    /// Returns the first link on the way to a file that a command could have made, and the source in which it lies.
    pub(super) fn link(&self, file: &HostPath) -> Option<(&'a HostPath, &HostPath)> {
        let links = self.paths.get(file)?.links.iter();
        links.map(|(link, _)| link).find_map(|link| Some((link, self.source(link)?)))
    }

    /// Returns the same of a name in a directory.
    pub(super) fn name(&self, directory: &HostPath, name: &str) -> Option<&HostPath> {
        let fact = self.paths.get(directory);
        let resolved = fact.and_then(|fact| fact.resolved.join(name).ok());
        let really = || self.source(resolved.as_ref()?);
        let file = || self.file(&directory.join(name).ok()?);
        self.file(directory).or_else(really).or_else(file)
    }

    /// Returns the directories of PATH in which no command can have put a program.
    pub(crate) fn safe_path(&self, search: Search) -> Vec<HostPath> {
        let path = search.path.into_iter();
        path.filter(|directory| self.file(directory).is_none()).collect()
    }

    /// Returns the mount by which a command may have written the program that is started by this name or
    /// path. One in a directory of PATH in which it could is passed over, and another there must be.
    pub(crate) fn program(&self, program: &str, search: &Search) -> Option<&HostPath> {
        if is_path(program) {
            return self.file(&search.by_path(program)?);
        }
        let is_there = |file: &HostPath| {
            self.paths.get(file).is_some_and(|fact| matches!(fact.found, Found::File(_)))
        };
        let found = search
            .path
            .iter()
            .filter(|directory| directory.join(program).is_ok_and(|it| is_there(&it)));
        let (open, safe): (Vec<_>, Vec<_>) =
            found.partition(|directory| self.file(directory).is_some());
        match safe.iter().find_map(|directory| self.name(directory, program)) {
            Some(linked) => Some(linked),
            None if safe.is_empty() => open.first().and_then(|directory| self.file(directory)),
            None => None,
        }
    }

    fn source(&self, path: &HostPath) -> Option<&HostPath> {
        self.sources.iter().find(|source| path.is_within(source))
    }
}

/// Returns what commands may have written, links resolved: sources of mounts that are open, files that are published
/// alone, and the project.
pub(crate) fn sources(
    (mounts, projects): (&[MountSpec], &[HostPath]),
    is_open: impl Fn(&MountSpec) -> bool,
    paths: &Paths,
) -> Vec<HostPath> {
    let mut sources: Vec<HostPath> = Vec::new();
    for path in named(mounts, projects, is_open) {
        let resolved = paths.get(&path).map_or(path, |fact| fact.resolved.clone());
        if !sources.contains(&resolved) {
            sources.push(resolved);
        }
    }
    sources
}

/// Returns the same as it is named.
fn named(
    mounts: &[MountSpec],
    projects: &[HostPath],
    is_open: impl Fn(&MountSpec) -> bool,
) -> impl Iterator<Item = HostPath> {
    let source = |spec: &MountSpec| match &spec.backend {
        BackendSpec::Physical { host } | BackendSpec::Copy { host } => Some(host.clone()),
        _ => None,
    };
    let shown = mounts.iter().filter(move |spec| is_open(spec)).filter_map(source);
    shown.chain(published_alone(mounts)).chain(projects.iter().cloned())
}

/// Returns what commands may have written, as it is named.
pub(crate) fn named_sources(
    mounts: &[MountSpec],
    projects: &[HostPath],
) -> impl Iterator<Item = HostPath> {
    named(mounts, projects, is_of_others)
}

/// Returns the host's files that private directories are published to.
pub(crate) fn published_alone(mounts: &[MountSpec]) -> impl Iterator<Item = HostPath> {
    let files = mounts.iter().filter_map(|spec| match &spec.backend {
        BackendSpec::Private { write_back, .. } => Some(write_back),
        _ => None,
    });
    files.flatten().map(GuestPath::to_host)
}

/// Whether somebody else writes what a mount shows: a command, or whoever made the project.
fn is_of_others(spec: &MountSpec) -> bool {
    spec.access != Access::Ro || spec.class == MountClass::Workspace
}
