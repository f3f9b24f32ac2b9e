//! What no command of a policy may have written: variables, files and directories of the host.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use endow_policy::{HostPath, MountClass, MountSpec, Vars};

use super::super::{paths, small_file};
use crate::plan::host::{Found, PathFact, Paths};
use crate::plan::registries::RegistryFault;
use crate::plan::{self, Reach, Search, variables};

/// The largest configuration that is read, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// The most entries of a directory that are looked at.
const ENTRIES_MAX: usize = 1024;

/// The host, but for what a command of the policy may write.
#[derive(Debug)]
pub(super) struct Outside<'a> {
    /// Sources of the workspace and of mounts for writing, and the project, links resolved.
    writable: Vec<HostPath>,
    environment: &'a [(OsString, OsString)],
    home: Option<&'a HostPath>,
}

impl<'a> Outside<'a> {
    /// Leaves out what the mounts of a policy let a command write, and the project around the caller.
    pub(super) fn new(
        mounts: &[MountSpec],
        paths: &Paths,
        environment: &'a [(OsString, OsString)],
        vars: &'a Vars,
    ) -> Self {
        let is_open =
            |spec: &MountSpec| spec.changes_source() || spec.class == MountClass::Workspace;
        let projects = endow_policy::projects(vars);
        let writable = plan::sources((mounts, &projects), is_open, paths);
        Self { writable, environment, home: vars.home.as_ref() }
    }

    /// Returns the caller's environment.
    pub(super) fn environment(&self) -> &'a [(OsString, OsString)] {
        self.environment
    }

    /// Returns a variable that says something.
    pub(super) fn variable(&self, name: &str) -> Option<&'a OsStr> {
        let is_it = |(key, value): &&(OsString, OsString)| key == name && !value.is_empty();
        self.environment.iter().find(is_it).map(|(_, value)| value.as_os_str())
    }

    /// Returns a variable that says something, as text.
    pub(super) fn text_variable(&self, name: &str) -> Option<String> {
        self.variable(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// Returns a path below the user's home.
    pub(super) fn home(&self, below: &str) -> Option<PathBuf> {
        self.home.map(|home| home.as_path().join(below))
    }

    /// Reads a configuration; `None` where there is none, and for a device such as `/dev/null`.
    pub(super) fn text(&self, path: &Path) -> Result<Option<String>, RegistryFault> {
        let unreadable =
            |reason: String| RegistryFault::Unreadable { path: path.display().to_string(), reason };
        let Some(fact) = self.look(path)? else { return Ok(None) };
        match fact.found {
            Found::Special(_) => return Ok(None),
            Found::File(_) => {}
            _ => return Err(unreadable("it is not a regular file".to_owned())),
        }
        let bytes = small_file::read(fact.resolved.as_path(), FILE_MAX);
        let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns the names in a directory, sorted; none where there is none.
    pub(super) fn names(&self, path: &Path) -> Result<Vec<OsString>, RegistryFault> {
        let Some(fact) = self.look(path)? else { return Ok(Vec::new()) };
        let unreadable = |error: std::io::Error| RegistryFault::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        };
        let entries = fs::read_dir(fact.resolved.as_path()).map_err(unreadable)?;
        let names = entries.take(ENTRIES_MAX).map(|entry| Ok(entry?.file_name()));
        let mut names = names.collect::<std::io::Result<Vec<_>>>().map_err(unreadable)?;
        names.sort();
        Ok(names)
    }

    /// Looks at a path; `None` where nothing is.
    ///
    /// # Errors
    /// A command may have written what is there, or a link on the way to it.
    pub(super) fn look(&self, path: &Path) -> Result<Option<PathFact>, RegistryFault> {
        let unreadable =
            |reason: String| RegistryFault::Unreadable { path: path.display().to_string(), reason };
        let host = HostPath::new(path).map_err(|error| unreadable(error.to_string()))?;
        let mut found = Paths::default();
        paths::look_at_all(&mut found, [host.clone()]);
        let Some(fact) = found.remove(&host) else { return Ok(None) };
        match fact.found {
            Found::Missing => Ok(None),
            Found::Unreadable(errno) => {
                let error = std::io::Error::from_raw_os_error(errno);
                // A user has no way to what lies behind a closed directory of another's.
                let closed = error.kind() == ErrorKind::PermissionDenied;
                if closed { Ok(None) } else { Err(unreadable(error.to_string())) }
            }
            _ if self.may_be_written(&host, &fact) => Err(RegistryFault::Writable { path: host }),
            _ => Ok(Some(fact)),
        }
    }

    /// Returns the names of variables that lead to where a command may write.
    pub(super) fn withheld(&self) -> Vec<String> {
        let search = Search::of(self.environment);
        let paths = super::super::look_at(variables::named(self.environment, &search));
        variables::withheld(self.environment, &Reach::of(self.writable.clone(), &paths), &search)
    }

    /// Returns whether a command may write a path itself.
    pub(super) fn is_writable(&self, path: &HostPath) -> bool {
        self.writable.iter().any(|writable| path.is_within(writable))
    }

    fn may_be_written(&self, path: &HostPath, fact: &PathFact) -> bool {
        let mut links = fact.links.iter().map(|(link, _)| link);
        self.is_writable(path)
            || self.is_writable(&fact.resolved)
            || links.any(|link| self.is_writable(link))
    }
}

/// Makes an outside for tests: a home, what is writable, and an environment.
#[cfg(test)]
pub(super) mod testing {
    use super::*;

    use super::super::address::{Named, rules};

    /// Returns the hosts that a tool's answer comes to, or the fault, in words.
    pub(crate) fn told(found: Result<Vec<Named>, RegistryFault>) -> Result<Vec<String>, String> {
        let found = found.and_then(|named| rules(&named)).map_err(|fault| fault.to_string())?;
        Ok(found.iter().map(ToString::to_string).collect())
    }

    /// A directory that stands for the host.
    pub(crate) struct Host {
        root: tempfile::TempDir,
        home: HostPath,
        environment: Vec<(OsString, OsString)>,
        writable: Vec<HostPath>,
    }

    impl Host {
        /// Makes one with an empty home and an empty directory for programs.
        pub(crate) fn new() -> Self {
            let root = tempfile::tempdir().expect("a directory");
            let path = root.path().canonicalize().expect("a path");
            let home = HostPath::new(path.join("home")).expect("a path");
            let environment = vec![("PATH".into(), path.join("bin").into_os_string())];
            Self { root, home, environment, writable: Vec::new() }
        }

        /// Writes a file below the root.
        pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
            let path = self.path(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(&path, text).expect("written");
            path
        }

        /// Writes a program that a shell runs, and returns where.
        pub(crate) fn program(&self, path: &str, script: &str) -> PathBuf {
            use std::os::unix::fs::PermissionsExt;
            let path = self.write(path, &format!("#!/bin/sh\n{script}\n"));
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
            path
        }

        /// Returns a path below the root.
        pub(crate) fn path(&self, path: &str) -> PathBuf {
            self.root.path().canonicalize().expect("a path").join(path)
        }

        /// Sets a variable.
        pub(crate) fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
            self.environment.retain(|(key, _)| key != name);
            self.environment.push((name.into(), value.as_ref().to_owned()));
        }

        /// Lets a command write below a path.
        pub(crate) fn open(&mut self, path: &str) {
            self.writable.push(HostPath::new(self.path(path)).expect("a path"));
        }

        /// Returns what is outside of a sandbox here.
        pub(crate) fn outside(&self) -> Outside<'_> {
            Outside {
                writable: self.writable.clone(),
                environment: &self.environment,
                home: Some(&self.home),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::testing::Host;
    use super::*;

    fn check(host: &Host, path: &str, expected: Result<Option<&str>, &str>) {
        let read = host.outside().text(&host.path(path)).map_err(|fault| match fault {
            RegistryFault::Writable { .. } => "writable",
            RegistryFault::Unreadable { .. } => "unreadable",
            _ => "other",
        });
        assert_eq!(read, expected.map(|text| text.map(str::to_owned)), "{path}");
    }

    #[test]
    fn what_a_command_may_write_is_not_read() {
        let mut host = Host::new();
        host.write("home/.npmrc", "outside");
        host.write("home/project/.npmrc", "inside");
        symlink(host.path("home/project/.npmrc"), host.path("home/link")).expect("a link");
        symlink(host.path("home/.npmrc"), host.path("home/project/back")).expect("a link");
        symlink("project/back", host.path("home/there-and-back")).expect("a link");
        check(&host, "home/link", Ok(Some("inside")));
        host.open("home/project");
        check(&host, "home/.npmrc", Ok(Some("outside")));
        for path in ["home/project/.npmrc", "home/link", "home/project/back", "home/there-and-back"]
        {
            check(&host, path, Err("writable"));
        }
        check(&host, "home/project/none", Ok(None));
    }

    #[test]
    fn what_is_no_configuration_is_not_read() {
        let host = Host::new();
        host.write("home/directory/file", "");
        symlink("/dev/null", host.path("home/null")).expect("a link");
        symlink("loop", host.path("home/loop")).expect("a link");
        let large = fs::File::create(host.path("home/large")).expect("made");
        large.set_len(FILE_MAX + 1).expect("large");
        check(&host, "home/null", Ok(None));
        check(&host, "home/none/none", Ok(None));
        for path in ["home/directory", "home/loop", "home/large"] {
            check(&host, path, Err("unreadable"));
        }
        let relative = host.outside().text(Path::new("home/.npmrc"));
        assert!(matches!(relative, Err(RegistryFault::Unreadable { .. })), "{relative:?}");
    }
}
