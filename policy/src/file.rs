//! One policy file, profile or command line as written: nothing merged, no variable replaced.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    Access, Action, BridgesTable, BuildRoot, Expectation, HostPath, Landing, Level, Made,
    MountOptions, NetworkTable, SecretTable, SshAgentTable, Stated, SyncTable,
};

/// Where a [`PolicyFile`] stands among the layers, and so what it may say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// A profile that is part of endow: may use `copy` and `made`, its mounts are optional.
    Builtin,
    /// A user's profile.
    Profile,
    /// The user's `policy.toml`: may have `[project]` tables.
    User,
    /// The `endow.toml` of a project.
    Project,
    /// A file named by `-p`.
    #[default]
    Explicit,
    /// The flags of the command line.
    Flags,
}

/// What one source says: the image of the TOML file, every entry with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyFile {
    /// The file's name as the user would write it, or the profile's name.
    pub name: Arc<str>,
    /// Which kind of source this is.
    pub kind: FileKind,
    /// The directory that relative paths start from; `None` is the current directory.
    pub directory: Option<HostPath>,
    /// Profiles below this file; `!name` takes one back out.
    pub extends: Vec<Stated<String>>,
    /// The table `[workspace]`.
    pub workspace: WorkspaceTable,
    /// The table `[mounts]`.
    pub mounts: Vec<MountEntry>,
    /// The table `[deny]`.
    pub deny: PatternTable,
    /// The table `[protect]`.
    pub protect: PatternTable,
    /// The table `[env]`.
    pub env: EnvTable,
    /// The table `[network]`.
    pub network: NetworkTable,
    /// The table `[secrets]`.
    pub secrets: SecretTable,
    /// The table `[ssh_agent]`.
    pub ssh_agent: SshAgentTable,
    /// The table `[bridges]`.
    pub bridges: BridgesTable,
    /// The table `[limits]`.
    pub limits: LimitsTable,
    /// The table `[process]`.
    pub process: ProcessTable,
    /// The table `[require]`.
    pub require: RequireTable,
    /// The table `[sync]`.
    pub sync: SyncTable,
    /// The table `[state]`, which only the user's file may have.
    pub state: StateTable,
    /// The tables `[[expect]]`.
    pub expect: Vec<Expectation>,
    /// The value of `--chdir`.
    pub chdir: Option<Stated<OsString>>,
    /// The tables `[project."PATH"]` of the user file, by the path as written.
    pub project: Vec<(Stated<OsString>, PolicyFile)>,
    /// Keys that are well formed but whose feature this version doesn't have.
    pub unavailable: Vec<Stated<String>>,
    /// The tables `[[action]]`, which grant nothing but their tools.
    pub actions: Vec<Action>,
    /// What stands at `/` of every action; `None` for a repository is the project's own.
    pub build_root: Option<Stated<BuildRoot<Option<OsString>>>>,
    /// Whether results that depend on the host's programs are shared.
    pub share_host_root: Option<Stated<bool>>,
    /// The table `[remote]`.
    pub remote: crate::RemoteTable,
}

/// What the workspace is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceTable {
    /// What may be done to it.
    pub access: Option<Stated<WorkspaceAccess>>,
    /// Which directory it is.
    pub root: Option<Stated<WorkspaceRoot>>,
    /// Whether what a live one held is recorded.
    pub checkpoint: Option<Stated<bool>>,
}

/// The access of the workspace, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkspaceAccess {
    /// The workspace is not granted.
    None,
    /// The workspace is granted so.
    Granted(Access),
}

/// Which directory the workspace is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceRoot {
    /// The git work tree that holds the current directory, else that directory.
    Git,
    /// The current directory.
    Cwd,
    /// A directory by its path, as written.
    Path(OsString),
}

/// One entry of `[mounts]`, or one mount flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// The place in the guest's view, as written.
    pub at: Stated<OsString>,
    /// What shall stand there.
    pub source: MountSource,
    /// What may be done below; the source's own default when nothing is said.
    pub access: Access,
    /// The options.
    pub options: MountOptions,
    /// Why a profile has it.
    pub reason: Option<String>,
}

/// What shall stand at a mount point, paths as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountSource {
    /// Nothing: what a weaker layer granted here is removed.
    Removed,
    /// A file or directory of the host.
    Host {
        /// Its path; `None` is the same path as the guest's.
        host: Option<OsString>,
    },
    /// A file system in memory.
    Memory {
        /// The most bytes it holds.
        size_bytes: u64,
        /// The most files it holds.
        inodes: Option<u64>,
        /// The permission bits of its root.
        mode: u32,
    },
    /// An empty directory on disk, gone at exit.
    Private {
        /// Host files copied in before the start.
        seed: Vec<Stated<String>>,
        /// The permission bits of its root.
        mode: u32,
    },
    /// The control group of the run.
    Cgroup,
    /// A git tree.
    Git {
        /// The repository; `None` is the workspace's.
        repository: Option<OsString>,
        /// The tree-ish.
        rev: String,
        /// Which paths of it are shown; without a pattern all are.
        sparse: Vec<String>,
        /// Where changes go, when there can be any.
        landing: Landing,
    },
    /// A tree of the content-addressed store.
    Cas {
        /// `sha256:<hex>/<size>`.
        digest: String,
    },
    /// A copy of a small host file; `None` is the same path as the guest's.
    Copy {
        /// Its path.
        host: OsString,
    },
    /// A small file that endow makes.
    Made {
        /// Which one.
        made: Made,
    },
}

/// The tables `[deny]` and `[protect]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternTable {
    /// Patterns in order; a leading `!` re-admits.
    pub patterns: Vec<Stated<String>>,
    /// Whether the built-in list counts.
    pub defaults: Option<Stated<bool>>,
}

/// The table `[env]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvTable {
    /// Names and patterns that pass; `!X` removes X.
    pub pass: Vec<Stated<String>>,
    /// Names with their value.
    pub set: Vec<(Stated<OsString>, OsString)>,
    /// Names and patterns that don't pass by pattern; `!X` removes X.
    pub drop: Vec<Stated<String>>,
    /// Everything passes but what `drop` names (`--env-all`).
    pub pass_all: Option<Stated<bool>>,
}

/// The table `[limits]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitsTable {
    /// Wall-clock time until TERM.
    pub timeout: Option<Stated<Duration>>,
    /// Time between TERM and KILL.
    pub grace: Option<Stated<Duration>>,
    /// Memory of all processes together, in bytes.
    pub memory: Option<Stated<u64>>,
    /// Processes and threads at one time.
    pub pids: Option<Stated<u64>>,
    /// Open files of one process.
    pub open_files: Option<Stated<u64>>,
    /// Size of one file in bytes.
    pub file_size: Option<Stated<u64>>,
    /// CPU time of one process.
    pub cpu_time: Option<Stated<Duration>>,
    /// Bytes that a buffered layer may hold.
    pub layer_size: Option<Stated<u64>>,
    /// Files that a buffered layer may hold.
    pub layer_files: Option<Stated<u64>>,
}

/// What a program has open from the start, and one more for its filter.
const OPEN_FILES_LEAST: u64 = 4;

impl LimitsTable {
    /// Returns the keys of limits under which nothing runs, with these, and why.
    pub(crate) fn too_low(&self) -> Vec<(&'static str, u64, &'static str)> {
        let time = |limit: &Option<Stated<Duration>>| limit.as_ref().map(|l| l.value.is_zero());
        let count = |limit: &Option<Stated<u64>>| limit.as_ref().map(|l| l.value == 0);
        let all = [
            ("timeout", time(&self.timeout)),
            ("memory", count(&self.memory)),
            ("pids", count(&self.pids)),
            ("open_files", count(&self.open_files)),
            ("cpu_time", time(&self.cpu_time)),
            ("layer_size", count(&self.layer_size)),
            ("layer_files", count(&self.layer_files)),
        ];
        let zeros = all.iter().filter(|(_, zero)| *zero == Some(true));
        let zeros = zeros.map(|(key, _)| (*key, 0, "a limit of zero lets nothing run"));
        let files = self.open_files.as_ref().map(|files| files.value);
        let few = files.filter(|files| (1..OPEN_FILES_LEAST).contains(files));
        let few = few.map(|few| ("open_files", few, "fewer than 4 open files let nothing run"));
        zeros.chain(few).collect()
    }
}

/// The table `[state]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateTable {
    /// The most runs that keep what is needed to undo them.
    pub runs: Option<Stated<u64>>,
    /// For how many days they keep it.
    pub days: Option<Stated<u64>>,
    /// The most bytes of it.
    pub size: Option<Stated<u64>>,
    /// The most bytes of cached trees, and of the content-addressed store.
    pub cache: Option<Stated<u64>>,
}

/// The table `[process]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessTable {
    /// Words of `--allow`; `!WORD` removes one.
    pub allow: Vec<Stated<String>>,
    /// The command starts in a session of its own.
    pub new_session: Option<Stated<bool>>,
    /// The host name inside.
    pub hostname: Option<Stated<String>>,
}

/// The table `[require]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequireTable {
    /// The level that must be reached.
    pub level: Option<Stated<Level>>,
    /// Losses accepted by name; `!WORD` removes one.
    pub best_effort: Vec<Stated<String>>,
}
