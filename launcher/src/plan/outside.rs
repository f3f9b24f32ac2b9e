//! Programs that endow starts outside for a run: found where no command can have put them. That is
//! neither the workspace, whatever this run may do there (an earlier one may have written it), nor
//! what a mount lets commands write.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use endow_policy::{Access, HostPath, MountClass, MountSpec};

use super::host::{ExecRequest, Found, HostFacts};
use super::planted;

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
    pub(super) fn candidates(&self, program: &str) -> Vec<HostPath> {
        if is_path(program) {
            return self.by_path(program).into_iter().collect();
        }
        self.path.iter().filter_map(|directory| directory.join(program).ok()).collect()
    }

    /// Returns the path of a program, as a shell in `/` reads it.
    fn by_path(&self, program: &str) -> Option<HostPath> {
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
const HOME: [&str; 3] = ["~", "$HOME", "${HOME}"];

/// Whether it is looked for nowhere.
pub(super) fn is_path(program: &str) -> bool {
    program.contains('/') || HOME.contains(&program)
}

/// Takes each `..` with the name before it away.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            clean.pop();
        } else {
            clean.push(part);
        }
    }
    clean
}

/// Where commands may have put something.
#[derive(Debug)]
pub(super) struct Reach<'a> {
    /// The sources of such mounts, links resolved.
    pub(super) sources: Vec<&'a HostPath>,
    host: &'a HostFacts,
}

impl<'a> Reach<'a> {
    /// Returns what the mounts of a policy leave open.
    pub(super) fn new(mounts: &[MountSpec], host: &'a HostFacts) -> Self {
        Self { sources: planted::sources(mounts.iter().filter(|it| is_of_others(it)), host), host }
    }

    /// Returns the mount by which a command could have written a file, or a link on the way to it.
    pub(super) fn file(&self, file: &HostPath) -> Option<&'a HostPath> {
        let fact = self.host.paths.get(file);
        let named = [Some(file), fact.map(|fact| &fact.resolved)];
        let mut named = named.into_iter().flatten();
        let linked = || Some(planted::any(fact?, &self.sources)?.within);
        named.find_map(|path| self.source(path)).or_else(linked)
    }

    /// Returns the same of a name in a directory.
    pub(super) fn name(&self, directory: &HostPath, name: &str) -> Option<&'a HostPath> {
        let fact = self.host.paths.get(directory);
        let resolved = fact.and_then(|fact| fact.resolved.join(name).ok());
        let really = || self.source(resolved.as_ref()?);
        let file = || self.file(&directory.join(name).ok()?);
        self.file(directory).or_else(really).or_else(file)
    }

    /// Returns the directories of PATH in which no command can have put a program.
    pub(super) fn safe_path(&self, request: &ExecRequest) -> Vec<HostPath> {
        let path = Search::of(&request.environment).path.into_iter();
        path.filter(|directory| self.file(directory).is_none()).collect()
    }

    /// Returns the mount by which a command may have written the program that is started by this name or
    /// path. One in a directory of PATH in which it could is passed over, and another there must be.
    pub(super) fn program(&self, program: &str, search: &Search) -> Option<&'a HostPath> {
        if is_path(program) {
            return self.file(&search.by_path(program)?);
        }
        let is_there = |file: &HostPath| {
            self.host.paths.get(file).is_some_and(|fact| matches!(fact.found, Found::File(_)))
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

    fn source(&self, path: &HostPath) -> Option<&'a HostPath> {
        self.sources.iter().find(|source| path.is_within(source)).copied()
    }
}

/// Whether somebody else writes what a mount shows: a command, or whoever made the project.
pub(super) fn is_of_others(spec: &MountSpec) -> bool {
    spec.access != Access::Ro || spec.class == MountClass::Workspace
}
