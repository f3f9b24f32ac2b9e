//! What every view has: the process file system, devices and terminals.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use endow_policy::{GuestPath, HostPath};

use super::PlanError;
use super::host::{Found, PathFact, ProcCover};
use super::place::Placed;
use super::step::{HostMount, InitStep, MountFlags, Source};
use super::view::{Builder, DATA_ONLY};

/// The host devices that every command may use.
pub const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/ptmx", "pts/ptmx"),
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// Directories that are of every view's own making.
const OWN: [&str; 3] = ["/proc", "/dev", "/dev/pts"];

/// Returns whether a place is in one of them.
pub(super) fn is_kernels(at: &GuestPath) -> bool {
    OWN.iter().any(|own| at.as_path().starts_with(own))
}

/// Returns whether a grant is of a device that every view has there anyway.
pub(super) fn is_given(at: &GuestPath, source: &HostPath) -> bool {
    let is_it = |name: &str| at.as_path() == Path::new("/dev").join(name);
    at.as_bytes() == source.as_bytes() && DEVICES.iter().any(|name| is_it(name))
}

/// A file system that only holds names: its size is that of one page.
const NAMES_ONLY_BYTES: u64 = 4096;

impl Builder<'_> {
    /// Mounts a process file system; covers what shows or changes the host, unless nested
    /// namespaces are allowed, which any cover would prevent from mounting their own.
    pub(super) fn proc(&mut self, nested_allowed: bool) -> Result<(), PlanError> {
        let at = fixed("/proc");
        self.directory(&at, 0o555)?;
        self.step(InitStep::Proc { at: at.clone() });
        self.mounted(&at, false);
        if nested_allowed {
            return Ok(());
        }
        self.step(InitStep::NoNestedUserns);
        for entry in &self.host.proc_entries {
            self.cover(fixed(&format!("/proc/{}", entry.name)), entry.cover);
        }
        Ok(())
    }

    /// Refuses a mount over what endow makes and needs itself, and at a place below that is none inside: of a
    /// process, a terminal, or of nothing.
    pub(super) fn refuse_own(&self, placed: &Placed) -> Result<(), PlanError> {
        let at = &placed.spec.at;
        let is_own = OWN.iter().any(|own| at.as_path() == Path::new(own));
        let below = at.as_path().strip_prefix("/proc").ok();
        let name = below.and_then(|below| below.iter().next());
        let is_process = |name: &OsStr| name.as_bytes().iter().all(u8::is_ascii_digit);
        let is_led = |name: &OsStr| name == "self" || name == "thread-self";
        let is_process = name.is_some_and(|name| is_process(name) || is_led(name));
        let is_missing = |fact: &PathFact| fact.found == Found::Missing;
        let is_missing =
            below.is_some_and(|_| self.host.paths.get(&at.to_host()).is_none_or(is_missing));
        let is_terminal = at.as_path().starts_with("/dev/pts");
        if is_own || is_missing || is_process || is_terminal {
            return Err(PlanError::Own { at: at.clone(), origin: placed.spec.origin.clone() });
        }
        Ok(())
    }

    /// Shows the control group of the run and no other: the root of a cgroup file system is that of
    /// the namespace it is mounted in, cgroup_namespaces(7).
    pub(super) fn group(&mut self, at: &GuestPath) -> Result<(), PlanError> {
        self.directory(at, 0o755)?;
        self.step(InitStep::Cgroup { at: at.clone() });
        self.mounted(at, false);
        Ok(())
    }

    fn cover(&mut self, at: GuestPath, cover: ProcCover) {
        let step = match cover {
            ProcCover::EmptyDirectory => InitStep::Tmpfs {
                at,
                size_bytes: NAMES_ONLY_BYTES,
                inodes: Some(1),
                mode: 0o555,
                flags: DATA_ONLY,
            },
            ProcCover::EmptyFile => {
                let null = HostPath::new("/dev/null").ok();
                let found = null.as_ref().and_then(|path| self.host.paths.get(path));
                match (null, found.and_then(|fact| fact.found.id())) {
                    (Some(path), Some(expect)) => InitStep::Bind {
                        source: Source::Host { path, expect, mount: HostMount::default() },
                        at,
                        flags: DATA_ONLY,
                    },
                    _ => return,
                }
            }
            ProcCover::ReadOnly => {
                InitStep::Bind { source: Source::Guest(at.clone()), at, flags: DATA_ONLY }
            }
        };
        self.step(step);
    }

    /// Makes `/dev`: six devices, terminals of its own, and the usual links.
    pub(super) fn devices(&mut self) -> Result<(), PlanError> {
        let dev = fixed("/dev");
        self.directory(&dev, 0o755)?;
        if !self.is_fresh(&dev) {
            self.step(InitStep::Tmpfs {
                at: dev.clone(),
                size_bytes: NAMES_ONLY_BYTES,
                inodes: Some(32),
                mode: 0o755,
                flags: MountFlags::default(),
            });
            self.mounted(&dev, true);
        }
        for name in DEVICES {
            self.device(&fixed(&format!("/dev/{name}")), &format!("/dev/{name}"))?;
        }
        self.terminals()?;
        for (at, to) in DEVICE_LINKS {
            self.symlink(&fixed(at), PathBuf::from(to))?;
        }
        Ok(())
    }

    fn terminals(&mut self) -> Result<(), PlanError> {
        if let Some(terminal) = self.host.terminal.clone() {
            self.device(&fixed("/dev/console"), &terminal.to_string())?;
        }
        let pts = fixed("/dev/pts");
        self.directory(&pts, 0o755)?;
        self.step(InitStep::Devpts { at: pts.clone() });
        self.mounted(&pts, false);
        Ok(())
    }

    fn device(&mut self, at: &GuestPath, host: &str) -> Result<(), PlanError> {
        let no_device = || PlanError::NoDevice(host.to_owned());
        let path = HostPath::new(host).map_err(|_| no_device())?;
        let found = self.host.paths.get(&path).map(|fact| fact.found);
        let expect = match found {
            Some(Found::Special(expect)) => expect,
            Some(Found::Unreadable(errno)) => {
                return Err(PlanError::UnreadableDevice { path: host.to_owned(), errno });
            }
            _ => return Err(no_device()),
        };
        self.file(at)?;
        let flags = MountFlags { devices: true, noexec: true, ..MountFlags::default() };
        let source = Source::Host { path, expect, mount: HostMount::default() };
        self.step(InitStep::Bind { source, at: at.clone(), flags });
        Ok(())
    }
}

pub(super) fn fixed(path: &str) -> GuestPath {
    GuestPath::new(path).expect("a fixed path is absolute and normal")
}
