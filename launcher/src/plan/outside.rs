//! Programs that endow starts outside for a run: found where no command can have put them. That is
//! neither the workspace, whatever this run may do there (an earlier one may have written it), nor
//! what a mount lets commands write.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use endow_policy::{Access, HostPath, MountClass, MountSpec, Policy};

use super::host::{ExecRequest, HostFacts};
use super::planted;

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
    pub(super) fn safe_path(&self, policy: &Policy, request: &ExecRequest) -> Vec<HostPath> {
        let path = search_path(policy, request).into_iter();
        path.filter(|directory| self.file(directory).is_none()).collect()
    }

    fn source(&self, path: &HostPath) -> Option<&'a HostPath> {
        self.sources.iter().find(|source| path.is_within(source)).copied()
    }
}

/// Whether somebody else writes what a mount shows: a command, or whoever made the project.
pub(super) fn is_of_others(spec: &MountSpec) -> bool {
    spec.access != Access::Ro || spec.class == MountClass::Workspace
}

/// Returns the directories in which a program is looked for outside. A relative one starts where
/// the command does.
pub(super) fn search_path(policy: &Policy, request: &ExecRequest) -> Vec<HostPath> {
    let path = request.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_bytes()).unwrap_or_default();
    let directory = |entry: &[u8]| {
        HostPath::new(OsStr::from_bytes(entry)).unwrap_or_else(|_| policy.chdir.to_host())
    };
    path.split(|byte| *byte == b':').map(directory).collect()
}

/// Returns the files that a program's name may stand for: its path, or one in each directory.
pub(super) fn candidates(program: &str, search: &[HostPath]) -> Vec<HostPath> {
    match HostPath::new(program) {
        Ok(path) => vec![path],
        Err(_) => search.iter().filter_map(|directory| directory.join(program).ok()).collect(),
    }
}
