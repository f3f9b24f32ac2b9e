//! The steps of a plan: each is one effect, and leaves nothing to decide when it is applied.

use core::net::{IpAddr, SocketAddr};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use endow_policy::{GuestPath, HostPath, Ids, Limits, Network, Protocol};
use serde::{Deserialize, Serialize};

pub use super::identity::{FileId, HostMount};

use super::earlier::Since;
use super::host::{HiddenName, LiveNames};
use super::landlock::LandlockPlan;
use super::network;
use super::seccomp::SeccompPlan;
use super::tree::TreeFact;
use super::working_copy::GitStart;

/// A place in the run's own directory, relative to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunPath(pub PathBuf);

impl Serialize for RunPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_string_lossy())
    }
}

/// What is mounted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A file or directory of the host, symbolic links resolved, and its identity.
    Host {
        /// The canonical path.
        path: HostPath,
        /// What must still be there when it is mounted.
        expect: FileId,
        /// What the mount that it is cloned from must still take away.
        #[serde(skip_serializing_if = "HostMount::is_plain")]
        mount: HostMount,
    },
    /// A directory or file of the run's own state.
    Run(RunPath),
    /// A directory of the run's own state, copied into memory: a layer above a tree that holds the
    /// state itself.
    Memory(RunPath),
    /// A tree of the cache, which nobody but endow reaches.
    Tree(HostPath),
    /// A tree of the cache whose large files are stubs, and the directory that has their bytes. It
    /// is the lowest layer of an overlay: anywhere else a stub reads as zeros or not at all, and
    /// another layer right above the bytes could name any of them.
    Stubs {
        /// The tree.
        root: HostPath,
        /// The bytes.
        data: HostPath,
    },
    /// A file or directory of the view under construction.
    Guest(GuestPath),
}

/// Where the changes of a copy-on-write mount go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Upper {
    /// The names [`UPPER`] and [`WORK`] of a directory of the run's own state.
    Run(RunPath),
    /// A file system in memory, whose root the supervisor gets.
    Memory {
        /// The most bytes it holds; `None` leaves the kernel's default.
        size_bytes: Option<u64>,
        /// The most files it holds; `None` leaves the kernel's default.
        inodes: Option<u64>,
    },
}

/// The directory of a layer that holds what was changed.
pub const UPPER: &str = "upper";
/// The directory of a layer that overlayfs works in.
pub const WORK: &str = "work";

/// A copy-on-write mount: what is changed in it is written back to its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Buffered {
    /// Its place in the view.
    pub at: GuestPath,
    /// What it shows.
    pub source: HostPath,
    /// What was found there.
    pub id: FileId,
    /// Whether it is a directory, and not a single file.
    pub directory: bool,
    /// Where the run keeps its layer.
    pub layer: RunPath,
    /// Where the run keeps the command's file, when a single one is published while the command
    /// runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<RunPath>,
    /// Whether the layer is in memory while the command runs.
    pub in_memory: bool,
    /// Names that are hidden in it, relative to it.
    pub hidden: Vec<HiddenName>,
    /// Names in it that can't be changed inside: they are of another owner or group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<PathBuf>,
    /// The beginning of an earlier run that this one goes on from; `None` for the start of this one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
}

/// A layer of an earlier run that a new one begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TakenLayer {
    /// The new layer.
    pub at: RunPath,
    /// The place of its mount among the copy-on-write mounts.
    pub number: u32,
    /// The layer that is copied, below the earlier run's directory.
    pub layer: PathBuf,
    /// The place of its mount in the earlier run.
    pub was: u32,
    /// The name of the file, when the mount is a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The place that did not exist, below the deepest directory that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited: Option<PathBuf>,
}

/// Mount attributes that are set; none is ever cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one attribute bit of mount_setattr(2)")]
pub struct MountFlags {
    /// MOUNT_ATTR_RDONLY.
    pub readonly: bool,
    /// MOUNT_ATTR_NOEXEC.
    pub noexec: bool,
    /// Device nodes below may be opened: MOUNT_ATTR_NODEV is left out.
    pub devices: bool,
    /// The whole tree of mounts below the source comes along.
    pub recursive: bool,
}

/// Host-side work before any process exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum PrepareStep {
    /// Makes an empty directory in the run's state.
    MakeDir { at: RunPath, mode: u32 },
    /// Makes an empty file in the run's state.
    MakeFile { at: RunPath, mode: u32 },
    /// Notes which directories of the host the command changes at once, for runs that begin meanwhile.
    Live { roots: Vec<HostPath> },
    /// Makes a socket in the run's state that listens; whoever serves it gets it.
    Listen { at: RunPath },
    /// Copies a host file into a private directory.
    Seed { from: HostPath, to: RunPath },
    /// Makes the upper and the work directory of a copy-on-write mount; the upper one is the
    /// mount's root, so it has the mode and the times of `like`.
    Layer {
        at: RunPath,
        like: HostPath,
        /// What must still be at `like`.
        expect: FileId,
    },
    /// Makes the place for the record of a live workspace.
    Checkpoint { at: RunPath },
    /// Fills layers with copies of those of an earlier run.
    GoOn {
        /// That run's directory.
        from: HostPath,
        layers: Vec<TakenLayer>,
    },
    /// Copies a single file that is mounted copy-on-write to where the command finds it, and makes
    /// the layer that is written back by.
    CopyFile {
        at: RunPath,
        layer: RunPath,
        from: HostPath,
        /// What must still be at `from`.
        expect: FileId,
    },
    /// Notes where the command makes what does not exist at `to` yet, and makes the layer that it
    /// becomes.
    Await { at: RunPath, layer: RunPath, to: HostPath },
    /// Notes where the command makes a single file that is published and does not exist at `to` yet, and makes its
    /// layer.
    AwaitFile { at: RunPath, layer: RunPath, to: HostPath },
    /// Makes sure that a tree is in the cache and stays there: makes it when it is not, and takes
    /// others away then, so that all together have at most so many bytes.
    Tree { tree: TreeFact, cache_bytes: u64 },
    /// Makes the upper and the work directory of a copy-on-write mount of a tree, and the git
    /// directory of a commit.
    TreeLayer {
        at: RunPath,
        #[serde(skip_serializing_if = "Option::is_none")]
        git: Option<GitStart>,
    },
    /// Makes a layer of nothing but mount points and the directories that lead to them.
    Points { at: RunPath, points: Vec<MaskPoint> },
    /// Makes a control group with limits; the clone starts pid 1 in it.
    Cgroup(CgroupPlan),
    /// Builds a mask layer: directories like those of `like`, a whiteout for each hidden name,
    /// and the mount points that are missing there.
    Mask {
        at: RunPath,
        like: HostPath,
        /// What must still be at `like`.
        expect: FileId,
        hide: Vec<PathBuf>,
        points: Vec<MaskPoint>,
    },
}

/// The control group of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CgroupPlan {
    /// The group below which it is made.
    pub parent: HostPath,
    /// Its name.
    pub name: String,
    /// Controllers that the parent must hand down first.
    pub enable: Vec<String>,
    /// Files of the group, and what is written into each.
    pub limits: Vec<(String, String)>,
}

/// A mount point that a mask layer provides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MaskPoint {
    /// The path relative to the mount.
    pub path: PathBuf,
    /// Whether it is a directory.
    pub directory: bool,
}

/// Steps of pid 1 that build the view. Guest paths are relative to the new root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum InitStep {
    /// Writes setgroups, uid_map and gid_map: the user's own ids, and which these are inside; nothing else.
    IdMaps {
        uid: u32,
        gid: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        inside: Option<Ids>,
    },
    /// Makes the root file system in memory.
    NewRoot,
    /// Makes a process file system for the new pid namespace, which is mounted nowhere yet.
    NewProc,
    /// Makes a terminal file system, which is mounted nowhere yet.
    NewDevpts,
    /// Attaches the root, so that mounts can be moved below it and it can become the root.
    AttachRoot,
    /// Makes a directory.
    Mkdir { at: GuestPath, mode: u32 },
    /// Makes an empty file, as a mount point.
    Touch { at: GuestPath },
    /// Makes a symbolic link.
    Symlink { at: GuestPath, to: PathBuf },
    /// Makes a file with content.
    Write {
        at: GuestPath,
        #[serde(skip)]
        content: Vec<u8>,
        mode: u32,
    },
    /// Mounts a host, run or guest path.
    Bind { source: Source, at: GuestPath, flags: MountFlags },
    /// Mounts a file system in memory.
    Tmpfs { at: GuestPath, size_bytes: u64, inodes: Option<u64>, mode: u32, flags: MountFlags },
    /// Mounts layers, topmost first: read-only, or below an upper one that takes every change.
    Overlay { lower: Vec<Source>, upper: Option<Upper>, at: GuestPath, flags: MountFlags },
    /// Mounts the process file system.
    Proc { at: GuestPath },
    /// Mounts the control group of the run.
    Cgroup { at: GuestPath },
    /// Mounts the terminal file system.
    Devpts { at: GuestPath },
    /// Makes a mount that stands read-only.
    Seal { at: GuestPath },
    /// Opens a directory of the view for the supervisor, which looks at what is left there.
    HandOut { at: GuestPath },
    /// Brings the loopback interface up.
    LoopbackUp,
    /// Makes a range of addresses local to the network namespace.
    LocalRange { address: IpAddr, prefix_len: u8 },
    /// Makes a socket at an address, which the supervisor gets.
    Serve { protocol: Protocol, at: SocketAddr },
    /// Makes sockets without an address, which the supervisor gets.
    SpareSockets { count: u16 },
    /// Sets the host name.
    Hostname { name: String },
    /// Makes the new root the root and detaches the old one.
    Pivot,
    /// Forbids nested user namespaces by count.
    NoNestedUserns,
}

impl InitStep {
    /// Returns whether it takes something that is only there when the run is prepared.
    pub(super) fn takes_prepared(&self) -> bool {
        match self {
            Self::Bind { source, .. } => !matches!(source, Source::Host { .. } | Source::Guest(_)),
            Self::Overlay { .. } => true,
            _ => false,
        }
    }
}

/// Steps of pid 1 that give up power; the command inherits all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum ConfineStep {
    /// Sends the namespaces' descriptors to the supervisor.
    SendNamespaces,
    /// Joins a new session keyring; a full quota is reported, not fatal.
    NewSessionKeyring,
    /// Joins a new session keyring for a command that may use keyrings: without one the start fails.
    UsableSessionKeyring,
    /// Becomes the parent of processes whose own has ended: there is no pid namespace.
    AdoptOrphans,
    /// Empties the ambient, effective, permitted and inheritable sets: without a user namespace
    /// nobody may empty the others, and under `no_new_privs` nothing fills these again.
    ClearCapabilities,
    /// Empties the bounding, ambient, effective, permitted and inheritable sets.
    DropCapabilities,
    /// Keeps all of them, for the command too.
    #[cfg(feature = "test-switches")]
    KeepCapabilities,
    /// PR_SET_NO_NEW_PRIVS.
    NoNewPrivs,
    /// Enforces the Landlock ruleset.
    Landlock(LandlockPlan),
    /// Makes sure that no signal reaches the supervisor: what pid 1 sends to all processes then
    /// reaches those of the run alone.
    ProveScope,
    /// Outlives the supervisor for as long as it takes to end the run: the end of the socket tells.
    EndWithSocket,
    /// PR_SET_DUMPABLE 0: nothing inside can trace pid 1 or read its memory.
    NotDumpable,
    /// Overwrites the argument and environment strings of pid 1.
    WipeArguments,
}

/// Last steps of the command's process before it is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum PayloadStep {
    /// Starts a session of its own.
    NewSession,
    /// Sets soft and hard limit of one resource.
    Rlimit { resource: Rlimit, soft: u64, hard: u64 },
    /// Gives the signal mask and dispositions back that the caller had.
    RestoreSignals,
    /// Dies with pid 1, for there is no pid namespace that would end.
    DieWithReaper,
    /// Enters a Landlock domain below pid 1's: no signal of the command reaches pid 1.
    OwnDomain,
    /// Changes to the directory where the command starts.
    ChangeDir { to: GuestPath },
    /// Installs the seccomp filter.
    Seccomp(SeccompPlan),
}

/// Resources that are limited per process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rlimit {
    /// Size of core dumps.
    Core,
    /// CPU seconds.
    Cpu,
    /// Size of a file.
    Fsize,
    /// Open files.
    Nofile,
    /// Processes of the user in this user namespace.
    Nproc,
}

/// What runs at the end of the payload steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecSpec {
    /// A program of the view: candidates in the order in which they are tried.
    Command {
        /// Argument vector, byte-exact.
        #[serde(skip)]
        argv: Vec<OsString>,
        /// The paths that are tried, in order.
        candidates: Vec<PathBuf>,
    },
    /// endow's own guest-side code, from a sealed file in memory.
    Helper {
        /// The word that selects the helper, and its arguments.
        argv: Vec<OsString>,
    },
}

/// What the supervisor does while the command runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SupervisePlan {
    /// Limits that the supervisor itself keeps.
    pub limits: Limits,
    /// Over-mounts that are renewed when the host replaces the file below.
    pub renew: Vec<Renew>,
    /// Live mounts in which protected names must not come into being.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<Guard>,
    /// The run dies with the process that started it.
    pub die_with_parent: bool,
    /// SIGINT of a process is passed on as SIGTERM.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupt_ends: bool,
    /// What is served in the network namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
}

impl SupervisePlan {
    /// Returns whether addresses are served when somebody connects to them.
    pub fn serves_on_demand(&self) -> bool {
        self.network.as_ref().is_some_and(network::is_on_demand)
    }
}

/// A covered name of a live mount, covered again when the host replaces it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Renew {
    /// The source of the mount on the host.
    pub source: HostPath,
    /// The place of the mount in the guest's view.
    pub at: GuestPath,
    /// The name, relative to both.
    pub path: PathBuf,
    /// What covers it.
    pub cover: Cover,
}

impl Renew {
    /// Returns the directory on the host in which the name lies.
    pub fn directory(&self) -> Option<HostPath> {
        self.source.join(&self.path).ok()?.parent()
    }

    /// Returns the last name.
    pub fn name(&self) -> Option<&OsStr> {
        self.path.file_name()
    }

    /// Returns the place in the guest's view when its directory on the host is `directory`.
    pub fn place_in(&self, directory: &Path) -> Option<PathBuf> {
        let below = directory.strip_prefix(self.source.as_path()).ok()?;
        Some(self.at.as_path().join(below).join(self.name()?))
    }
}

/// A live mount in which protected names must not come into being: those that do are moved to a
/// layer of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Guard {
    /// Its place in the view.
    pub at: GuestPath,
    /// What it shows.
    pub source: HostPath,
    /// What was found there.
    pub id: FileId,
    /// Where the run keeps what is taken away.
    pub layer: RunPath,
    /// Protected names that were there, and where others would appear.
    pub names: LiveNames,
    /// Names in it that the command does not see.
    pub hidden: Vec<HiddenName>,
}

/// What stands over a name of a live mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cover {
    /// An empty file or directory that nobody may open.
    Hidden,
    /// The file or directory itself, read-only.
    Itself,
}

/// Work after the last process is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum FinishStep {
    /// Writes back what was changed in copy-on-write mounts.
    WriteBack,
    /// Removes the run's directory, unless changes or undo data are kept in it.
    RemoveRun,
}
