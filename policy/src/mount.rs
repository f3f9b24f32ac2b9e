//! What a mount is: a place in the guest's view, what stands there, and what may be done to it.

use serde::Serialize;

use crate::{GuestPath, HostPath, Landing, Origin};

/// What the guest may do below a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Read and execute; every write is EROFS.
    Ro,
    /// Copy-on-write: writes are buffered in a layer of the run.
    Cow,
    /// Live: writes reach the source at once.
    Rw,
}

/// What stands at a mount point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum BackendSpec {
    /// A file or directory of the host.
    Physical {
        /// The source, symbolic links not resolved.
        host: HostPath,
    },
    /// A file system in memory.
    Memory {
        /// The most bytes it holds.
        size_bytes: u64,
        /// The most files and directories it holds; `None` leaves the kernel's default.
        inodes: Option<u64>,
        /// The permission bits of its root.
        mode: u32,
    },
    /// An empty directory on disk in the state of the run, gone at exit.
    Private {
        /// Host files copied in before the start, at the same place relative to home.
        seed: Vec<HostPath>,
        /// Guest files whose last content is published on the host.
        write_back: Vec<GuestPath>,
        /// The permission bits of its root.
        mode: u32,
    },
    /// A copy of a small host file, made at start: for links such as `resolv.conf`, and files
    /// that are shown in part.
    Copy {
        /// The file that is copied, symbolic links followed.
        host: HostPath,
    },
    /// A small file that endow makes, such as `passwd`.
    Made {
        /// Which one.
        made: Made,
    },
    /// The control group of the run and what is below it, by a cgroup file system of its own.
    Cgroup,
    /// A git tree.
    Git {
        /// The repository.
        repository: HostPath,
        /// The tree-ish, resolved once at start.
        rev: String,
        /// Which paths of it are shown; without a pattern all are.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        sparse: Vec<String>,
        /// Where changes go, when there can be any.
        #[serde(flatten, skip_serializing_if = "Landing::is_default")]
        landing: Landing,
    },
    /// A tree of the content-addressed store.
    Cas {
        /// `sha256:<hex>/<size>`.
        digest: String,
        /// Trees that lie one over another and together are this one, the topmost first: many mounts may
        /// share them. Without any, it is shown by itself.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        layers: Vec<String>,
    },
}

impl BackendSpec {
    /// Returns whether it is a tree of a repository or of the content-addressed store.
    pub fn is_tree(&self) -> bool {
        matches!(self, Self::Git { .. } | Self::Cas { .. })
    }

    /// Returns whether it is a directory that has nothing of the host's in it at first.
    pub fn is_made_empty(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::Private { .. })
    }
}

/// Small files that endow makes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Made {
    /// `/etc/passwd` with root, the user and nobody.
    Passwd,
    /// `/etc/group` with root, the user's group and nogroup.
    Group,
    /// `/etc/resolv.conf` that leads to the resolver inside.
    ResolvConf,
    /// `/etc/hosts` with the names of the loopback alone.
    Hosts,
    /// `~/.gitconfig` with who makes commits, of the host's git configuration, and with settings by which git
    /// runs nothing.
    Gitconfig,
    /// Patterns of the files that the user's git ignores everywhere, where there are any.
    Gitignore,
    /// Settings of codex in the place of the machine's owner's, where there are none: its own
    /// sandbox stands down.
    Codex,
    /// Settings of claude in the place of the machine's owner's, where there are none: its own
    /// sandbox stands down.
    Claude,
    /// `/run/endow/README`: what a sandbox is, for whoever reads in it.
    Readme,
    /// What the chosen editor says of itself, in the file where agents look for it.
    Editor,
    /// The socket at which chosen keys of the user's ssh-agent can be used.
    SshAgent,
    /// The socket at which bridges are served.
    Bridges,
}

/// What a command may make where the source of a mount does not exist yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Create {
    /// A single file.
    File,
    /// A directory, with all that is in it.
    Directory,
}

impl Create {
    /// Reads the word of a policy file.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::File, Self::Directory].into_iter().find(|it| it.word() == word)
    }

    /// Returns the word of the policy file.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
        }
    }
}

/// Where a mount comes from, as far as rules differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MountClass {
    /// System and program directories of the base: deny patterns don't apply.
    System,
    /// The workspace.
    Workspace,
    /// What a user or a profile granted.
    Granted,
}

/// Options of one mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option by itself")]
pub struct MountOptions {
    /// A missing source is skipped instead of refused.
    pub optional: bool,
    /// Nothing below may be executed.
    pub noexec: bool,
    /// Deny patterns don't apply below.
    pub nodeny: bool,
    /// The source is a Unix socket that can be connected to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub socket: bool,
    /// What is changed in a copy-on-write mount is dropped at the end, and never written back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub discard: bool,
    /// Where the source does not exist, what the command makes there is brought to it at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<Create>,
}

/// One mount of the resolved policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MountSpec {
    /// The place in the guest's view.
    pub at: GuestPath,
    /// What stands there.
    pub backend: BackendSpec,
    /// What the guest may do below.
    pub access: Access,
    /// The options given with it.
    pub options: MountOptions,
    /// Which rules apply to it.
    pub class: MountClass,
    /// Who asked for it.
    pub origin: Origin,
}

impl MountSpec {
    /// Returns whether what a command changes may be found in the source later.
    pub fn changes_source(&self) -> bool {
        self.access != Access::Ro && !self.options.discard
    }
}
