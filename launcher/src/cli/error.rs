//! Every error of the program at its top: kind, object, causes, hints.

use std::io;
use std::path::Path;

use endow_policy::{
    ComposeError, ErrorKind, FlagError, GuestPath, HostPath, Origin, ParseError, ResolveError,
};
use endow_vfs::state::StateError;
use serde::{Deserialize, Serialize};

use super::exit;
use crate::apply::PrepareError;
use crate::plan::registries::RegistryFault;
use crate::plan::ssh_agent::SshAgentFault;
use crate::plan::{Beyond, PlanError};

/// What helps a command that has that option.
pub(crate) const WITHOUT_POLICY: &str = "`--no-policy` runs without it";

/// What went wrong, for whom, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandError {
    /// Whose fault it is.
    pub(crate) kind: Kind,
    /// One line: what went wrong.
    pub(crate) message: String,
    /// What it is about: a path, a key, a flag.
    pub(crate) object: Option<String>,
    /// What led to it, one line each.
    pub(crate) causes: Vec<String>,
    /// What to do, one line each.
    pub(crate) hints: Vec<String>,
    /// A part of a file with the place marked, and all that led to it said there.
    pub(crate) excerpt: Option<String>,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// A flag or argument.
    Usage,
    /// A policy file.
    Policy,
    /// The host can't enforce what was asked.
    Unenforceable,
    /// The sandbox could not be set up.
    Setup,
    /// Something could not be written back, or taken back.
    NotWrittenBack,
    /// The command can't be executed.
    NotExecutable,
    /// The command was not found.
    NotFound,
    /// endow itself.
    Bug,
}

impl Kind {
    /// Returns the exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Usage | Self::Setup => exit::SETUP_FAILED,
            Self::Policy => exit::POLICY,
            Self::Unenforceable => exit::UNENFORCEABLE,
            Self::NotWrittenBack => exit::NOT_WRITTEN_BACK,
            Self::NotExecutable => exit::NOT_EXECUTABLE,
            Self::NotFound => exit::NOT_FOUND,
            Self::Bug => exit::BUG,
        }
    }

    /// Returns the word of JSON errors.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Policy => "policy",
            Self::Unenforceable => "unenforceable",
            Self::Setup => "setup",
            Self::NotWrittenBack => "not_written_back",
            Self::NotExecutable => "not_executable",
            Self::NotFound => "not_found",
            Self::Bug => "bug",
        }
    }
}

impl CommandError {
    /// Starts an error.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            object: None,
            causes: Vec::new(),
            hints: Vec::new(),
            excerpt: None,
        }
    }

    /// Names what it is about.
    pub(crate) fn about(mut self, object: impl ToString) -> Self {
        self.object = Some(object.to_string());
        self
    }

    /// Adds a cause.
    pub(crate) fn cause(mut self, cause: impl ToString) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// Adds what the kernel said.
    fn errno(self, errno: i32) -> Self {
        self.cause(io::Error::from_raw_os_error(errno))
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds who asked for it.
    fn asked_by(self, origin: &Origin) -> Self {
        match origin {
            Origin::Default => self,
            origin => self.cause(format!("asked for by {origin}")),
        }
    }

    /// Adds who asked for one place.
    fn twice(self, first: &Origin, second: &Origin) -> Self {
        self.cause(format!("first by {first}")).cause(format!("again by {second}"))
    }

    /// Adds every cause of an error.
    pub(crate) fn because(mut self, error: &dyn std::error::Error) -> Self {
        let mut cause = error.source();
        while let Some(error) = cause {
            self.causes.push(error.to_string());
            cause = error.source();
        }
        self
    }

    /// A directory can't be entered.
    pub(crate) fn directory(path: &Path, source: io::Error) -> Self {
        Self::new(Kind::Setup, "can't use the directory").about(path.display()).cause(source)
    }

    /// Nothing can be found from where the caller stands.
    pub(crate) fn no_current_directory(source: io::Error) -> Self {
        Self::new(Kind::Setup, "can't use the current directory")
            .cause(source)
            .hint("`cd` to a directory that exists; `endow run -C DIR` starts as if in DIR")
    }

    /// The variable for the home names no place.
    pub(crate) fn unusable_home() -> Self {
        Self::new(Kind::Setup, "not an absolute path: HOME")
            .hint("set HOME to the path of your home directory, which begins with `/`")
    }

    /// The current directory has a path that no sandbox can have.
    pub(crate) fn unusable_directory(path: &Path) -> Self {
        Self::new(Kind::Setup, "the current directory has no usable path").about(path.display())
    }

    /// A user without a home has no directory that is safe either.
    pub(crate) fn no_home(error: StateError) -> Self {
        Self::new(Kind::Setup, "there is no home, and nothing in its place can be used")
            .cause(&error)
            .because(&error)
            .hint("set HOME, or ENDOW_STATE_DIR, ENDOW_CACHE_DIR and ENDOW_CONFIG_DIR")
    }

    /// What says where the home is can't be read: another place would have other files and other hidden names.
    pub(crate) fn no_account(error: io::Error) -> Self {
        let this = Self::new(Kind::Setup, "can't read where the home is").about("/etc/passwd");
        this.cause(error).hint("run again, or set HOME")
    }

    /// A policy file can't be read.
    pub(crate) fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::new(Kind::Policy, "can't read the policy file").about(path.display()).cause(source)
    }

    /// A project file belongs to somebody else.
    pub(crate) fn foreign_policy(path: &Path) -> Self {
        Self::new(Kind::Policy, "the policy file is not yours alone")
            .about(path.display())
            .cause("it belongs to another user, or others may write it")
            .hint("`chown` and `chmod go-w` it, or name it with `-p` if you mean it")
    }

    /// A project file gives something and was not accepted.
    pub(crate) fn untrusted(error: &endow_policy::TrustError) -> Self {
        let this =
            Self::new(Kind::Policy, "the project's policy file is not trusted").about(&error.file);
        let this = error.grants.iter().fold(this, |this, grant| {
            this.cause(format!("{}: grants {}", grant.origin, grant.what))
        });
        this.hint("read it, then accept it with `endow trust`").hint(WITHOUT_POLICY)
    }

    /// A policy file is invalid.
    pub(crate) fn policy_file(error: &ParseError, text: &[u8]) -> Self {
        let excerpt = Some(super::excerpt::render(error, text));
        Self { excerpt, ..Self::invalid_file(error) }
    }

    fn invalid_file(error: &ParseError) -> Self {
        let this = Self::new(Kind::Policy, "the policy file is invalid").about(&error.file);
        let is_one = error.problems.len() == 1;
        let hints = error.problems.iter().filter_map(|problem| {
            let hint = problem.hint.as_ref()?;
            let (line, column) = (problem.line, problem.column);
            Some(if is_one { hint.clone() } else { format!("at {line}:{column}: {hint}") })
        });
        let this = hints.fold(this, Self::hint);
        error.problems.iter().fold(this, Self::cause)
    }
}

impl From<FlagError> for CommandError {
    fn from(error: FlagError) -> Self {
        let this = Self::new(Kind::Usage, error.fault.to_string()).about(&error.flag);
        match error.hint {
            Some(hint) => this.hint(hint),
            None => this,
        }
    }
}

impl From<ComposeError> for CommandError {
    fn from(error: ComposeError) -> Self {
        let this = Self::new(Kind::Policy, error.to_string());
        match &error {
            // The text of a profile that another file names is not at hand any more.
            ComposeError::Parse(error) => Self::invalid_file(error),
            ComposeError::UnknownProfile { hint, origin, .. } => {
                this.asked_by(origin).hint(hint.clone())
            }
            ComposeError::Cycle { origin, .. } => this.asked_by(origin),
            ComposeError::Place { origin, source, .. } => this.asked_by(origin).cause(source),
            ComposeError::MountedTwice { first, second, .. } => this.twice(first, second),
            ComposeError::StillAllowed { origin, .. }
            | ComposeError::KeyStillChosen { origin, .. } => {
                error.hints().into_iter().fold(this.asked_by(origin), Self::hint)
            }
            _ => this,
        }
        .blamed()
    }
}

impl CommandError {
    /// What a flag asked for is a mistake of the command line, not of a file.
    fn blamed(mut self) -> Self {
        let by_flag = self.causes.iter().any(|cause| cause.contains("by --"));
        if by_flag && self.kind == Kind::Policy {
            self.kind = Kind::Usage;
        }
        self
    }
}

impl From<ResolveError> for CommandError {
    fn from(error: ResolveError) -> Self {
        let kind = match error.kind() {
            ErrorKind::Policy => Kind::Policy,
            ErrorKind::Setup => Kind::Setup,
        };
        let mut this = Self::new(kind, error.to_string());
        if let ResolveError::Unavailable { origin, .. }
        | ResolveError::HostNetwork { origin, .. }
        | ResolveError::TakenTwice { origin, .. }
        | ResolveError::PublishedTwice { origin, .. } = &error
        {
            this = this.asked_by(origin);
        }
        if let ResolveError::WorkspaceRefused { reason, .. } = &error {
            this = this.cause(reason);
        }
        error.hints().into_iter().fold(this, Self::hint)
    }
}

impl CommandError {
    fn no_tree(self, origin: &Origin) -> Self {
        self.asked_by(origin).hint(
            "grant the directories below it, or a tree with its own programs: `--cas /=DIGEST`",
        )
    }

    fn no_socket(self, path: &HostPath, origin: &Origin) -> Self {
        self.asked_by(origin)
            .hint(format!("`--ro {path}` or `--rw {path}` shows a file or a directory"))
    }

    fn unbuffered(self, path: &HostPath, origin: &Origin) -> Self {
        self.asked_by(origin)
            .hint(format!("`--rw {path}` shows it live; `--socket {path}` is for sockets"))
    }

    /// Every view has it, and needs it.
    fn own(self, origin: &Origin) -> Self {
        self.asked_by(origin).hint("leave it out, or mount at another place: `--ro GUEST=PATH`")
    }

    fn nested_live(self, word: &str, reason: &str) -> Self {
        self.cause(reason)
            .hint("take it copy-on-write: `--workspace cow`, `--cow PATH`")
            .hint(format!("or accept the loss: `--best-effort {word}`"))
    }

    fn hidden_point(self, hidden: &GuestPath) -> Self {
        self.cause(format!("it lies in {hidden}, which is hidden: nothing stands there"))
            .hint("re-admit that name with a pattern `!NAME`, or mount somewhere else")
    }

    /// What does not exist yet has no room where it was asked for.
    fn not_private(self, origin: &Origin) -> Self {
        self.cause("`create` needs a place in a private directory, with nothing mounted in it")
            .asked_by(origin)
            .hint("create it on the host, or add the option `optional`")
    }

    /// Names the keys that nothing enforces without namespaces, and ways out.
    fn beyond(self, keys: &[Beyond], inside: bool) -> Self {
        let this = keys.iter().fold(self, Self::cause);
        let this = this.hint("take these out of the policy: without namespaces, a grant stands at its own path and is open as a whole");
        if inside {
            this.hint("or start the outer endow with `--allow userns`")
        } else {
            this.hint("or run without `--require landlock`")
        }
    }

    fn nested_as_root(self) -> Self {
        self.cause("nested namespaces can have no covers over /proc, and root may write kernel settings there: /proc/sys/kernel/core_pattern starts programs outside")
            .hint("run endow as an ordinary user, or leave the word `userns` out")
    }

    fn registry(self, fault: &RegistryFault, origin: &Origin) -> Self {
        self.cause(fault)
            .asked_by(origin)
            .hint(fault.remedy())
            .hint("or name the hosts themselves: `--net HOST`")
    }

    fn secret_by_link(self, within: &HostPath, to: &HostPath, origin: &Origin) -> Self {
        self.cause(format!("it leads to {to}, and others write in {within}"))
            .asked_by(origin)
            .hint(format!("name the file itself: {to}"))
    }

    fn planted(self, within: &HostPath, origin: &Origin) -> Self {
        self.cause(format!(
            "it would be found in {within}, where a command, of this run or an earlier one, may write"
        ))
        .asked_by(origin)
        .hint("write the path of one that lies elsewhere")
    }

    fn secret_shown(self, at: &GuestPath, origin: &Origin) -> Self {
        self.cause(format!("it stands at {at}"))
            .asked_by(origin)
            .hint("hide it there with a `deny` pattern, or move it out of what is granted")
    }

    fn no_place_for_bridges(self, origin: &Origin) -> Self {
        self.cause("a directory of the host is mounted there, in which endow makes no names")
            .asked_by(origin)
            .hint("grant that directory read-only, or leave it out")
    }

    fn ssh_agent(self, fault: &SshAgentFault, origin: &Origin) -> Self {
        let this = fault.cause().into_iter().fold(self, Self::cause).asked_by(origin);
        fault.remedies().iter().fold(this, |this, remedy| this.hint(*remedy))
    }

    fn by_link(self, link: &HostPath, within: &HostPath, to: &HostPath) -> Self {
        self.cause(format!("a command that may write {within} could change the link {link}"))
            .hint(format!("name the file itself: {to}"))
    }
}

const SAME: &str = "run it from the same place with the same grants";

impl From<PlanError> for CommandError {
    fn from(error: PlanError) -> Self {
        let kind = kind_of(&error);
        let this = Self::new(kind, error.to_string());
        match error {
            PlanError::MissingSource { origin, .. } => {
                this.asked_by(&origin).hint("create it first, or add the option `optional`")
            }
            PlanError::UnreadableDevice { errno, .. } => this.errno(errno),
            PlanError::UnreadableSource { errno, origin, .. } => this.errno(errno).asked_by(&origin),
            PlanError::NoSocket { path, origin } => this.no_socket(&path, &origin),
            PlanError::Unbuffered { path, origin } => this.unbuffered(&path, &origin),
            PlanError::PlantedLink { to, within, origin, .. } => this
                .cause(format!("it leads to {to}"))
                .cause(format!("a command that may write {within} could have made it"))
                .asked_by(&origin)
                .hint(format!("if you made it, grant {to} itself; otherwise remove the link")),
            PlanError::MountedTwice { first, second, .. } => this.twice(&first, &second),
            PlanError::PolicyByLink { link, within, to, .. } => this.by_link(&link, &within, &to),
            PlanError::NoMountPoint { within, .. } => this
                .cause(format!("it lies in {within}, where endow creates no names"))
                .hint("create it on the host, or mount somewhere else"),
            PlanError::Root { origin } => this.no_tree(&origin),
            PlanError::Own { origin, .. } => this.own(&origin),
            PlanError::NotPrivate { origin, .. } => this.not_private(&origin),
            PlanError::HiddenMountPoint { hidden, .. } => this.hidden_point(&hidden),
            PlanError::MountBelow { path, below, origin } => this
                .cause(format!("mounted below it: {below}"))
                .asked_by(&origin)
                .hint(format!("`--rw {path}` shows both live; or unmount {below}, or grant directories beside it")),
            PlanError::ForeignRoot { path, owner, origin } => this
                .cause(format!("it belongs to user {} and group {}; inside there are only your own user and first group", owner.0, owner.1))
                .asked_by(&origin)
                .hint(format!("`chown` it to yourself and your first group, or show it with `--rw {path}` or `--ro {path}`")),
            PlanError::NotAsEarlier { reason, .. } => this.cause(reason).hint(SAME),
            PlanError::Level { missing, remedy, .. } => this
                .cause(format!("missing: {missing}"))
                .hint(remedy)
                .hint("`endow doctor` tells more"),
            PlanError::Beyond { keys, inside, .. } => this.beyond(&keys, inside),
            PlanError::NestedAsRoot => this.nested_as_root(),
            PlanError::Unenforceable { word, reason } => {
                this.cause(reason).hint(format!("`--best-effort {word}` accepts the loss"))
            }
            PlanError::NestedLive { word, reason } => this.nested_live(word, &reason),
            PlanError::UnknownLoss { known, .. } => this.hint(format!("known are: {known}")),
            PlanError::NoStart(_) => this.hint("name a directory of the view with `--chdir`"),
            PlanError::SeedElsewhere { origin, at, .. } => {
                this.asked_by(&origin).hint(format!("seeds of {at} must lie below it"))
            }
            PlanError::NoTree { at, fault, origin } => {
                let this = this.cause(format!("mounted at {at}")).asked_by(&origin);
                fault.hint.into_iter().fold(this, Self::hint)
            }
            PlanError::Registry { fault, origin, .. } => this.registry(&fault, &origin),
            PlanError::SecretShown { at, origin, .. } => this.secret_shown(&at, &origin),
            PlanError::SecretByLink { within, to, origin, .. } => {
                this.secret_by_link(&within, &to, &origin)
            }
            PlanError::SecretProgram { within, origin, .. }
            | PlanError::RemoteInReach { within, origin, .. } => this.planted(&within, &origin),
            PlanError::DescriptorTwice { origin, .. } => {
                this.asked_by(&origin).hint("leave out `--keep-fd`, or choose another `fd`")
            }
            PlanError::NoPlaceForBridges { origin } => this.no_place_for_bridges(&origin),
            PlanError::SshAgent { fault, origin } => this.ssh_agent(&fault, &origin),
            PlanError::NoPlace { origin, .. } => this.asked_by(&origin),
            PlanError::NoDevice(_) => this.hint("every view has it: make it on the host"),
            PlanError::Unprobed(_) | PlanError::UnaskedRegistry(_) => this,
        }
    }
}

/// Returns the kind of a refusal to plan.
fn kind_of(error: &PlanError) -> Kind {
    match error {
        PlanError::Level { .. }
        | PlanError::Beyond { .. }
        | PlanError::NestedAsRoot
        | PlanError::NestedLive { .. }
        | PlanError::MountBelow { .. }
        | PlanError::Unenforceable { .. } => Kind::Unenforceable,
        PlanError::Unprobed(_) | PlanError::UnaskedRegistry(_) => Kind::Bug,
        PlanError::MountedTwice { second, .. } if !second.is_flag() => Kind::Policy,
        PlanError::PolicyByLink { .. } => Kind::Policy,
        PlanError::UnknownLoss { .. } | PlanError::NotAsEarlier { .. } => Kind::Usage,
        _ => Kind::Setup,
    }
}

impl From<PrepareError> for CommandError {
    fn from(error: PrepareError) -> Self {
        let this = Self::new(Kind::Setup, error.to_string()).because(&error);
        match error {
            PrepareError::Swapped(_) => this.hint("run again"),
            PrepareError::Mask(_) => {
                this.hint("ENDOW_STATE_DIR names a directory on ext4, xfs or btrfs, which can hold what hides names")
            }
            PrepareError::State(error) if error.is_full() => {
                this.hint("`endow runs` lists runs; `endow discard`, `endow runs rm` and `endow gc` make room")
            }
            PrepareError::State(_) => {
                this.hint("ENDOW_STATE_DIR names another directory, yours alone")
            }
            _ => this,
        }
    }
}
