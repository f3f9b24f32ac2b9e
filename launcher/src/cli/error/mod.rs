//! Every error of the program at its top: kind, object, causes, hints.

pub(crate) mod excerpt;
mod plan;
pub(crate) mod spawn;
mod store;
pub(crate) mod write_back;

use std::io;
use std::path::Path;

use endow_policy::{
    ComposeError, ErrorKind, FlagError, Grant, Origin, ParseError, ResolveError, causes,
};
use endow_vfs::state::StateError;
use serde::{Deserialize, Serialize};

use super::exit;
use crate::apply::PrepareError;
pub(crate) use store::of_store;

/// What helps a command that has that option.
pub(crate) const WITHOUT_POLICY: &str = "`--no-policy` runs without it";

/// The error of a process that has as many files open as it may.
const MANY_FILES: i32 = rustix::io::Errno::MFILE.raw_os_error();

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

    /// Starts an error whose words may end with what it is about.
    pub(crate) fn naming(
        kind: Kind,
        error: &impl std::error::Error,
        object: Option<String>,
    ) -> Self {
        let text = error.to_string();
        let parts = object.and_then(|object| {
            let words = text.strip_suffix(&object)?.strip_suffix(": ")?;
            Some((words.to_owned(), object))
        });
        match parts {
            Some((words, object)) => Self::new(kind, words).about(object),
            None => Self::new(kind, text),
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
        let this = self.cause(io::Error::from_raw_os_error(errno));
        if errno == MANY_FILES {
            return this.hint("raise the limit of open files, `ulimit -n`");
        }
        this
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds where a program of endow's own comes from, which was not found.
    pub(crate) fn lacking(self, program: &str) -> Self {
        self.hint(format!("install the package `{program}`, which is part of endow, beside it"))
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
        self.causes.extend(causes(error).skip(1).map(ToString::to_string));
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
        let this = this.granting(&error.grants);
        this.hint("read it, then accept it with `endow trust`").hint(WITHOUT_POLICY)
    }

    /// Adds what a project file would give.
    pub(crate) fn granting(self, grants: &[Grant]) -> Self {
        grants.iter().fold(self, |this, grant| {
            this.cause(format!("{}: grants {}", grant.origin, grant.what))
        })
    }

    /// A policy file is invalid.
    pub(crate) fn policy_file(error: &ParseError, text: &[u8]) -> Self {
        let excerpt = Some(excerpt::render(error, text));
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

/// Starts an error with all that led to it.
pub(crate) fn failed(what: &str, error: &dyn std::error::Error) -> CommandError {
    causes(error).fold(CommandError::new(Kind::Setup, what), CommandError::cause)
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
        let kind = match error.kind() {
            ErrorKind::Policy => Kind::Policy,
            ErrorKind::Setup => Kind::Usage,
        };
        let this = Self::naming(kind, &error, error.object());
        match &error {
            // The text of a profile that another file names is not at hand any more.
            ComposeError::Parse(error) => Self::invalid_file(error),
            ComposeError::UnknownProfile { hint, origin, .. } => {
                this.asked_by(origin).hint(hint.clone())
            }
            ComposeError::Cycle { origin, .. } => this.asked_by(origin),
            ComposeError::Place { origin, source, .. } => {
                let this = this.asked_by(origin).cause(source);
                error.hints().into_iter().fold(this, Self::hint)
            }
            ComposeError::MountedTwice { first, second, .. } => this.twice(first, second),
            ComposeError::StillAllowed { origin, .. }
            | ComposeError::TooManyPatterns { origin, .. }
            | ComposeError::KeyStillChosen { origin, .. } => {
                error.hints().into_iter().fold(this.asked_by(origin), Self::hint)
            }
            _ => this,
        }
    }
}

impl From<ResolveError> for CommandError {
    fn from(error: ResolveError) -> Self {
        let kind = match error.kind() {
            ErrorKind::Policy => Kind::Policy,
            ErrorKind::Setup => Kind::Setup,
        };
        let mut this = Self::naming(kind, &error, Some(error.object()));
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

#[cfg(test)]
mod tests {
    use endow_policy::{GuestPath, HostPath};

    use super::*;
    use crate::plan::PlanError;

    #[test]
    fn object_is_told_beside_the_words() {
        let path = HostPath::new("/no: such").expect("a path");
        let error = PlanError::MissingSource { path, origin: Origin::Default };
        let error = CommandError::from(error);
        assert_eq!(error.message, "no such file or directory");
        assert_eq!(error.object.as_deref(), Some("/no: such"));
        let reason = String::new();
        let error = CommandError::from(PlanError::Unenforceable { word: "memory", reason });
        assert_eq!(error.message, "this host can't enforce");
        assert_eq!(error.object.as_deref(), Some("memory"));
        let at = GuestPath::new("/proc").expect("a path");
        let error = CommandError::from(PlanError::Own { at, origin: Origin::Default });
        assert_eq!((error.message.as_str(), error.object), ("every view has its own /proc", None));
    }

    #[test]
    fn who_wrote_it_is_to_blame_whatever_it_is_called() {
        let kind = |origin: Origin| {
            let hint = String::new();
            let error = ComposeError::UnknownProfile { name: "x".to_owned(), hint, origin };
            CommandError::from(error).kind
        };
        assert_eq!(kind(Origin::Flag("--profile x".into())), Kind::Usage);
        assert_eq!(kind(Origin::Flag("--profile x".into()).of_word("x")), Kind::Usage);
        for name in ["policy.toml", "by --policy.toml"] {
            assert_eq!(kind(Origin::File { name: name.into(), line: 1 }), Kind::Policy, "{name}");
        }
    }
}
