//! What the host is like, as values: a plan depends on nothing else of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use endow_policy::{HostPath, MountClass, MountSpec, PatternRule, Policy};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::Earlier;
use super::registries::Registries;
use super::seccomp::Observe;
use super::step::{FileId, HostMount};
use super::tree::{TreeFact, TreeFault};

/// Host paths as found. They are asked for by name alone, many times for each mount.
pub type Paths = FxHashMap<HostPath, PathFact>;

/// Answers to the read-only questions of `probe`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostFacts {
    /// What the kernel offers.
    pub kernel: KernelFacts,
    /// Who runs endow.
    pub user: UserFacts,
    /// Every host path that the policy names, as found.
    pub paths: Paths,
    /// The policy files that this run was made of, but for a project's, as they were named.
    pub policies: Vec<HostPath>,
    /// Names hidden by deny patterns, for each physical mount that has any, by its source.
    pub hidden: BTreeMap<HostPath, HiddenNames>,
    /// What stands in the way of buffering, for each directory that is mounted copy-on-write, by
    /// its source.
    pub buffered: BTreeMap<HostPath, BufferedFact>,
    /// Trees of repositories and of the content-addressed store, by [`tree_name`](super::tree_name).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub trees: BTreeMap<String, Result<TreeFact, TreeFault>>,
    /// The hosts of each registry that the policy names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub registries: Registries,
    /// Entries of the kernel's process file system that must be covered, as found here.
    pub proc_entries: Vec<ProcEntry>,
    /// The terminal behind the standard streams.
    pub terminal: Option<HostPath>,
    /// The standard streams, as far as a rule is needed to open them again.
    pub streams: Vec<StreamFact>,
    /// Whether a standard stream is a pipe, as in a pipeline.
    pub pipeline: bool,
    /// Content of the small files that endow copies or makes, by source path or name.
    pub contents: BTreeMap<String, Vec<u8>>,
    /// The repositories of each mount that has any of which something is covered, by the mount's source.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub repositories: BTreeMap<HostPath, RepositoryFacts>,
    /// The protected names of each live mount, by the mount's source.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub live_names: BTreeMap<HostPath, LiveNames>,
    /// All patterns of protected names in the mounts to which such names lead, or git's settings, from elsewhere, by
    /// the mount's source: in others those of the policy hold.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub led: BTreeMap<HostPath, Vec<PatternRule>>,
    /// Whether resource limits of a control group can be set here.
    pub cgroup: CgroupFact,
    /// The level at which an outer endow runs this one.
    pub outer_level: Option<String>,
}

impl HostFacts {
    /// Returns the patterns of protected names in the mounts of a source.
    pub fn protecting<'a>(&'a self, policy: &'a Policy, source: &HostPath) -> &'a [PatternRule] {
        self.led.get(source).unwrap_or(&policy.protect)
    }
}

/// The kernel and its files, which every plan asks about.
#[derive(Clone, Debug)]
pub struct KernelFiles {
    /// What the kernel offers.
    pub kernel: KernelFacts,
    /// Devices and the terminal, as found.
    pub paths: Paths,
    /// Entries of the kernel's process file system that must be covered, as found here.
    pub proc_entries: Vec<ProcEntry>,
    /// The terminal behind the standard streams.
    pub terminal: Option<HostPath>,
    /// The level at which an outer endow runs this one.
    pub outer_level: Option<String>,
}

/// What the kernel offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelFacts {
    /// Major and minor version.
    pub version: (u32, u32),
    /// The machine's architecture, as `uname -m` names it.
    pub arch: String,
    /// The Landlock ABI; 0 when Landlock is absent or off.
    pub landlock_abi: u32,
    /// Why user namespaces are refused; `None` when nothing speaks against them.
    pub userns_refused: Option<UsernsRefusal>,
    /// Whether seccomp filters can be installed.
    pub seccomp: bool,
    /// Whether the process file system here shows everything, so that a fresh one may be mounted.
    pub proc_mountable: bool,
}

impl KernelFacts {
    /// Returns whether mounts can be moved into a tree that is not attached yet (Linux 6.15).
    pub fn builds_detached(&self) -> bool {
        self.version >= (6, 15)
    }

    /// Returns whether an ordinary user's overlay takes a layer of data, which has the bytes of stubs
    /// and none of the names (Linux 6.16).
    pub fn takes_data_layers(&self) -> bool {
        self.version >= (6, 16)
    }
}

/// Why an ordinary user gets no user namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsernsRefusal {
    /// `kernel.unprivileged_userns_clone` is 0.
    DebianSysctl,
    /// `user.max_user_namespaces` is 0.
    Count,
    /// AppArmor takes the capabilities away (Ubuntu 23.10 and later).
    AppArmor,
    /// A seccomp filter in front refuses, as container engines install.
    Seccomp,
    /// The user has no number in the user namespace that endow is started in.
    Unmapped,
    /// The root is no mount's: the kernel makes none there.
    Chroot,
    /// The kernel was built without them.
    Absent,
}

/// Who runs endow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserFacts {
    /// The effective user id.
    pub uid: u32,
    /// The effective group id.
    pub gid: u32,
    /// Groups beyond the first, which a user namespace can't drop.
    pub groups: Vec<u32>,
    /// The hard limits, above which nobody may set any.
    pub most: HardLimits,
}

/// The hard limits of whoever runs endow (getrlimit(2)); without one, the largest number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HardLimits {
    /// Open files of a process.
    pub open_files: u64,
    /// Processes and threads of the user.
    pub processes: u64,
    /// Bytes of a file.
    pub file_size: u64,
    /// Seconds of processor time of a process.
    pub cpu_time: u64,
    /// Bytes of a core dump.
    pub core: u64,
}

/// A host path as found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathFact {
    /// The path with all symbolic links resolved.
    pub resolved: HostPath,
    /// The symbolic links met on the way: where each lies and what it says.
    pub links: Vec<(HostPath, PathBuf)>,
    /// What is there.
    pub found: Found,
    /// What the mount takes away that it is reached by.
    #[serde(skip_serializing_if = "HostMount::is_plain")]
    pub mount: HostMount,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// A directory.
    Directory(FileId),
    /// A regular file.
    File(FileId),
    /// A socket.
    Socket(FileId),
    /// A device or a pipe.
    Special(FileId),
    /// Nothing.
    Missing,
    /// The error that stands in the way of looking, by number.
    Unreadable(i32),
}

impl Found {
    /// Returns the identity of what is there.
    pub fn id(self) -> Option<FileId> {
        match self {
            Self::Directory(id) | Self::File(id) | Self::Socket(id) | Self::Special(id) => Some(id),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }

    /// Returns whether it is a directory; `None` when nothing is there.
    pub fn is_directory(self) -> Option<bool> {
        self.id().map(|_| matches!(self, Self::Directory(_)))
    }
}

/// What overlayfs can't do with a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BufferedFact {
    /// Mounts of the host below it.
    pub mounts: Vec<HostPath>,
    /// Its owner and group, where they are not the user's own.
    pub owner: Option<(u32, u32)>,
    /// Names in it of another owner or group that the user may change all the same.
    pub foreign: Vec<PathBuf>,
}

/// What the walk of names found below one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HiddenNames {
    /// Hidden names relative to the source, sorted.
    pub names: Vec<HiddenName>,
    /// Names that protect patterns match in a live mount, or that lead to such; and directories of
    /// git's in every mount: relative to the source, sorted.
    #[serde(skip_serializing_if = "Noted::is_nothing")]
    pub noted: Noted,
    /// How many entries were looked at.
    pub entries: u64,
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
    /// Directories that could not be read.
    pub unreadable: Vec<PathBuf>,
    /// The error, by number, that kept the source itself from being walked: what must be hidden in
    /// it is not known.
    pub failed: Option<i32>,
    /// Mounts of the host lie below, so that no layer can stand before the source; asked where
    /// there are sockets.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mounts_below: bool,
}

/// What the walk of names found besides, and does not hide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Noted {
    /// Names, and whether each is a directory.
    pub names: Vec<(PathBuf, bool)>,
    /// All links, of a walk at the end: over others they may lead to such names, or into a directory of git's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PathBuf>,
    /// Directories of git's that are no `.git`.
    pub repositories: Vec<PathBuf>,
    /// Directories that nobody may look into, of a walk at the end.
    #[serde(skip)]
    pub closed: Vec<PathBuf>,
    /// What else such a walk left out: directories that are nested too deep; the root where there are too
    /// many to name.
    #[serde(skip)]
    pub missed: Vec<PathBuf>,
    /// Whether every directory was looked into.
    pub whole: bool,
}

impl Noted {
    /// Returns whether there is nothing.
    pub fn is_nothing(&self) -> bool {
        self.names.is_empty() && self.links.is_empty() && self.repositories.is_empty()
    }
}

/// One hidden name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HiddenName {
    /// The path relative to the source.
    pub path: PathBuf,
    /// Whether it is a directory.
    pub directory: bool,
    /// The index of the rule that hides it; `None` for endow's own directories, which no option
    /// can show, and for sockets.
    pub rule: Option<usize>,
    /// Whether it is a socket behind which a process of the host may listen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub socket: bool,
}

impl HiddenName {
    /// Returns whether it is hidden in a mount: what the user shows on purpose is not.
    pub fn is_for(&self, spec: &MountSpec) -> bool {
        self.is_own() || !(spec.options.nodeny || spec.class == MountClass::System)
    }

    /// Returns whether it is one of endow's own directories, or one that nobody could look into.
    pub fn is_own(&self) -> bool {
        self.rule.is_none() && !self.socket
    }
}

/// What of the repositories in a mount is covered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RepositoryFacts {
    /// Where settings are, and their text without credentials; in a live mount without what runs
    /// programs either.
    #[serde(skip)]
    pub settings: Vec<(PathBuf, Vec<u8>)>,
    /// Which of these hold credentials.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub credentials: BTreeSet<PathBuf>,
    /// Directories of hooks of a live mount, and links to such: where in the mount.
    pub hooks: Vec<PathBuf>,
    /// Linked work trees that are there, in the mount or elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub work_trees: Vec<WorkTree>,
}

/// A work tree that is linked to a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WorkTree {
    /// Where in the mount the repository keeps what belongs to it.
    pub kept: PathBuf,
    /// Where its `.git` is, as the repository says: from the root, or from there.
    pub said: PathBuf,
    /// The same without links.
    pub real: HostPath,
}

impl RepositoryFacts {
    /// Returns the linked work trees.
    pub fn work_trees(&self) -> &[WorkTree] {
        &self.work_trees
    }

    /// Returns where the settings are of which the command has copies.
    pub fn copied(&self) -> BTreeSet<&Path> {
        self.settings.iter().map(|(place, _)| place.as_path()).collect()
    }
}

/// Protected names of a live mount, relative to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LiveNames {
    /// What patterns see before a path: `.git` where the mount is a directory of git's.
    #[serde(skip_serializing_if = "is_empty")]
    pub prefix: PathBuf,
    /// Those that are there, at the root and along the ways; and where links among them lead.
    pub there: Vec<PathBuf>,
    /// Directories that lead to protected names, and are none.
    pub ways: Vec<PathBuf>,
    /// Those further down: what the walk noted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deep: Vec<DeepName>,
    /// Protected names that are there at or below one of those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<PathBuf>,
    /// Directories of git's that these are in, which may be moved as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub git_dirs: Vec<DeepName>,
    /// Directories from one of those to such a name, or to where one may come.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deep_ways: Vec<PathBuf>,
    /// Directories of the caller's PATH.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramDirectory>,
    /// Whether the whole tree was walked: what is not among these was not there.
    pub whole: bool,
}

/// A directory of the caller's PATH in a mount that a command can change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramDirectory {
    /// Where, in the mount.
    pub path: PathBuf,
    /// Links on the way to it, in the mount, and what they say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<(PathBuf, PathBuf)>,
    /// The programs in it.
    #[serde(skip)]
    pub there: Vec<OsString>,
    /// Those that come later, and are not in the mount.
    pub later: Vec<PathBuf>,
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// A name further down in a live mount. The directories that lead to it may be moved: what stands at
/// its path later need not be it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DeepName {
    /// Where, in the mount.
    pub path: PathBuf,
    /// What stands there.
    pub id: FileId,
    /// The directory that it is in.
    pub above: FileId,
}

/// An entry of the process file system that is covered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcEntry {
    /// The name below `/proc`.
    pub name: String,
    /// How it is covered.
    pub cover: ProcCover,
}

/// How an entry of the process file system is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcCover {
    /// An empty file in its place.
    EmptyFile,
    /// An empty directory in its place.
    EmptyDirectory,
    /// Itself, read-only.
    ReadOnly,
}

/// A standard stream that is a file or a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamFact {
    /// 0, 1 or 2.
    pub number: i32,
    /// Whether it is open for reading.
    pub read: bool,
    /// Whether it is open for writing.
    pub write: bool,
    /// Whether it is a device, as a terminal is.
    pub device: bool,
}

/// Whether a control group can be made for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CgroupFact {
    /// The directory in which the user may make groups.
    pub parent: Option<HostPath>,
    /// The controllers that can be used there.
    pub controllers: Vec<String>,
    /// Those of them that must be handed down first.
    pub enable: Vec<String>,
    /// Why there is none, in words.
    pub reason: String,
    /// Whether the group of a run is below the root of all groups, so that it can be shown alone.
    pub is_own: bool,
}

/// What to run, apart from the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecRequest {
    /// The command and its arguments.
    pub argv: Vec<OsString>,
    /// The name of the run.
    pub run: String,
    /// Variables that say who and where the user is: HOME, USER and such.
    pub identity: Vec<(&'static str, OsString)>,
    /// The caller's environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The directories of the project around the caller, shown or not: an earlier run may have written there.
    pub projects: Vec<HostPath>,
    /// Descriptors to hand over besides the standard streams.
    pub keep: Vec<i32>,
    /// Standard output and error are pipes of endow's own.
    pub captured: bool,
    /// The run dies with the process that started endow.
    pub die_with_parent: bool,
    /// The run's directory on the host, for what stands there without a view.
    pub directory: Option<HostPath>,
    /// The run whose changes this one begins with.
    pub earlier: Option<Earlier>,
    /// What the supervisor is to see.
    pub observe: Observe,
    /// Nothing that the command sees tells this run from another of the same command.
    pub is_repeatable: bool,
}
