//! Why no plan can be made.

use endow_policy::{GuestPath, HostPath, Level, MountSpec, Origin, Registry};

use super::registries::RegistryFault;
use super::ssh_agent::SshAgentFault;
use super::tree::TreeFault;

/// Why no plan can be made. Nothing has been touched when it is returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The source of a mount does not exist.
    #[error("no such file or directory: {path}")]
    MissingSource { path: HostPath, origin: Origin },
    /// The source of a mount can't be looked at.
    #[error("source can't be read: {path}")]
    UnreadableSource { path: HostPath, errno: i32, origin: Origin },
    /// What is to be connected to is something else.
    #[error("not a socket: {path}")]
    NoSocket { path: HostPath, origin: Origin },
    /// What is to be buffered holds nothing.
    #[error("can't buffer changes of a device, socket or pipe: {path}")]
    Unbuffered { path: HostPath, origin: Origin },
    /// A source lies behind a link that a command may have made.
    #[error("link leads out of a writable mount: {link}")]
    PlantedLink { link: HostPath, to: HostPath, within: HostPath, origin: Origin },
    /// Two entries of one source stand at one path, to which links led.
    #[error("mounted twice: {at}")]
    MountedTwice { at: GuestPath, first: Origin, second: Origin },
    /// A link brings an empty directory over what the command works on.
    #[error("link leads to the workspace: {link}")]
    EmptiedByLink { link: GuestPath, to: GuestPath, origin: Origin },
    /// A policy file lies behind a link that a command may change.
    #[error("policy file is named by a link in a writable mount: {file}")]
    PolicyByLink { file: HostPath, link: HostPath, within: HostPath, to: HostPath },
    /// A mount point would have to be made where endow makes no names.
    #[error("mount point does not exist: {at}")]
    NoMountPoint { at: GuestPath, within: GuestPath },
    /// What stands at `/` is made by endow, or is a tree.
    #[error("only a tree can stand at /")]
    Root { origin: Origin },
    /// What stands there is of every view's own making.
    #[error("every view has its own {at}")]
    Own { at: GuestPath, origin: Origin },
    /// A mount point lies in a directory that is hidden, in a mount where endow makes no names.
    #[error("mount point is hidden: {at}")]
    HiddenMountPoint { at: GuestPath, hidden: GuestPath },
    /// A path can't be put below another.
    #[error("path can't be placed: {at}")]
    NoPlace { at: GuestPath, origin: Origin },
    /// What does not exist yet can only be made in a private directory of its own.
    #[error("nothing can be made there: {at}")]
    NotPrivate { at: GuestPath, origin: Origin },
    /// A seed lies outside the directory that it is for.
    #[error("seed is not below its directory: {seed}")]
    SeedElsewhere { seed: HostPath, at: GuestPath, origin: Origin },
    /// A directory with a mount below it can't be buffered.
    #[error("can't buffer changes of a directory with a mount below it: {path}")]
    MountBelow { path: HostPath, below: HostPath, origin: Origin },
    /// A directory of another owner or group can't be buffered.
    #[error("can't buffer changes of a directory of another owner or group: {path}")]
    ForeignRoot { path: HostPath, owner: (u32, u32), origin: Origin },
    /// A run can't go on from an earlier one.
    #[error("can't go on from run {run}: {at}")]
    NotAsEarlier { run: String, at: GuestPath, reason: &'static str },
    /// The name of a tree leads to none that can be shown.
    #[error("{}", fault.message)]
    NoTree { at: GuestPath, fault: TreeFault, origin: Origin },
    /// The hosts of a registry are not known.
    #[error("can't tell the hosts of `registry:{}`", registry.word())]
    Registry { registry: Registry, fault: RegistryFault, origin: Origin },
    /// The view shows the file in which a secret is.
    #[error("the command would see secret {name}: {file}")]
    SecretShown { name: String, file: HostPath, at: GuestPath, origin: Origin },
    /// The file in which a secret is lies behind a link that others may change.
    #[error("secret {name} is named by a link that may be planted: {link}")]
    SecretByLink { name: String, link: HostPath, within: HostPath, to: HostPath, origin: Origin },
    /// A program that writes a secret's value lies where a command may have written it.
    #[error("a command could change what writes secret {name}: {program}")]
    SecretProgram { name: String, program: String, within: HostPath, origin: Origin },
    /// What says who asks a server of results lies where a command may have written it.
    #[error("a command could change what `{key}` of [remote] names: {what}")]
    RemoteInReach { key: &'static str, what: String, within: HostPath, origin: Origin },
    /// A secret is to have a descriptor that the caller passes.
    #[error("descriptor is passed already: {number}")]
    DescriptorTwice { number: i32, origin: Origin },
    /// Bridges have no room in the view.
    #[error("no place for the socket of bridges: /run/endow")]
    NoPlaceForBridges { origin: Origin },
    /// Keys of the ssh-agent can't be used.
    #[error("{fault}")]
    SshAgent { fault: SshAgentFault, origin: Origin },
    /// A device that every command needs is missing on the host.
    #[error("host device is missing: {0}")]
    NoDevice(String),
    /// A device that every command needs can't be looked at.
    #[error("host device can't be looked at: {path}")]
    UnreadableDevice { path: String, errno: i32 },
    /// The start directory has no place in the view.
    #[error("directory has no place in the view: {0}")]
    NoStart(GuestPath),
    /// The host can't reach the level that is required.
    #[error("this host can't enforce level `{}`", wanted.word())]
    Level { wanted: Level, missing: &'static str, remedy: &'static str },
    /// The policy asks for what a level does not have.
    #[error("the policy needs more than level `{}`", level.word())]
    Beyond { level: Level, keys: Vec<Beyond>, inside: bool },
    /// Nested namespaces lift what keeps root's command from the host's kernel.
    #[error("as root, `--allow userns` would give the command the host")]
    NestedAsRoot,
    /// A limit or rule can't be enforced here.
    #[error("this host can't enforce: {word}")]
    Unenforceable { word: &'static str, reason: String },
    /// Nested namespaces keep what is covered later from a live mount.
    #[error("names of live mounts can't be kept covered with `--allow userns`")]
    NestedLive { word: &'static str, reason: String },
    /// No loss has this name.
    #[error("unknown word of best-effort: {word}")]
    UnknownLoss { word: String, known: String },
    /// The probe was not asked about a path: a bug.
    #[error("path was not probed: {0}")]
    Unprobed(HostPath),
    /// The probe was not asked about a registry: a bug.
    #[error("registry was not asked about: {}", .0.word())]
    UnaskedRegistry(Registry),
}

/// One entry of a policy that a level does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// The entry, and why not.
    pub what: String,
    /// Who asked for it; `None` where the entry itself tells.
    pub origin: Option<Origin>,
}

impl std::fmt::Display for Beyond {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        self.origin.as_ref().map_or(Ok(()), |origin| write!(f, " ({origin})"))
    }
}

impl PlanError {
    /// Returns what it is about, where that is what its words end with.
    pub fn object(&self) -> Option<String> {
        Some(match self {
            Self::MissingSource { path, .. }
            | Self::UnreadableSource { path, .. }
            | Self::NoSocket { path, .. }
            | Self::Unbuffered { path, .. }
            | Self::MountBelow { path, .. }
            | Self::ForeignRoot { path, .. }
            | Self::PlantedLink { link: path, .. }
            | Self::SecretByLink { link: path, .. }
            | Self::PolicyByLink { file: path, .. }
            | Self::SecretShown { file: path, .. }
            | Self::SeedElsewhere { seed: path, .. }
            | Self::Unprobed(path) => path.to_string(),
            Self::MountedTwice { at, .. }
            | Self::NoMountPoint { at, .. }
            | Self::HiddenMountPoint { at, .. }
            | Self::NoPlace { at, .. }
            | Self::NotPrivate { at, .. }
            | Self::NotAsEarlier { at, .. }
            | Self::NoStart(at) => at.to_string(),
            Self::SecretProgram { program: name, .. }
            | Self::RemoteInReach { what: name, .. }
            | Self::UnreadableDevice { path: name, .. }
            | Self::UnknownLoss { word: name, .. }
            | Self::NoDevice(name) => name.clone(),
            Self::Unenforceable { word, .. } | Self::NestedLive { word, .. } => (*word).to_owned(),
            Self::DescriptorTwice { number, .. } => number.to_string(),
            _ => return None,
        })
    }

    pub(super) fn no_place(spec: &MountSpec) -> Self {
        Self::NoPlace { at: spec.at.clone(), origin: spec.origin.clone() }
    }
}
