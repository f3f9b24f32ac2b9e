//! Why a sandbox did not start, in words: (stage, step, errno) against the plan that was applied.

use rustix::io::Errno;

use super::message::{Stage, StepFailure};
use crate::plan::host::UsernsRefusal;
use crate::plan::step::{ConfineStep, InitStep, PayloadStep, Source};
use crate::plan::{COVERED_PROC, Plan};

/// Why a sandbox did not start. Nothing of the command has run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SpawnError {
    /// An argument or a path has a NUL byte.
    #[error("argument contains a NUL byte")]
    Nul,
    /// The process file system is missing on the host.
    #[error("can't read /proc/self/stat")]
    NoProc { errno: Errno },
    /// Another thread is alive: a bug. There are at least as many.
    #[error("{0} threads are alive before the clone")]
    Threads(u32),
    /// The host's kernel refuses what every sandbox needs.
    #[error("this host refuses {}", refusal.words())]
    Refused { refusal: UsernsRefusal, errno: Errno },
    /// The kernel makes no process file system where parts of the one that is there are covered.
    #[error("this host refuses {}", COVERED_PROC)]
    CoveredProc { errno: Errno },
    /// The command is not in the view.
    #[error("command not found")]
    NotFound,
    /// The command is there and can't be executed.
    #[error("command can't be executed")]
    NotExecutable { errno: Errno },
    /// A step failed.
    #[error("can't set up the sandbox: {step}")]
    Step { step: String, errno: Errno, hint: Option<&'static str> },
    /// A call of the launcher itself failed.
    #[error("can't start the sandbox")]
    System { errno: Errno },
    /// The supervisor had no room for a descriptor or a process without which it can't hold what was promised.
    #[error("the run was ended: endow has too few descriptors or processes")]
    Descriptors,
    /// Pid 1 ended without a word.
    #[error("pid 1 of the sandbox was killed")]
    Killed,
}

impl SpawnError {
    pub(super) fn system(errno: Errno) -> Self {
        Self::System { errno }
    }

    /// Puts a failure into words.
    pub(crate) fn of_step(failure: &StepFailure, plan: &Plan) -> Self {
        let errno = Errno::from_raw_os_error(failure.errno);
        match failure.stage {
            Stage::Clone => Self::of_clone(errno),
            Stage::Opening => of_init(&plan.opening.steps, failure, errno),
            Stage::Init => of_init(&plan.init, failure, errno),
            Stage::Confine => of_confine(failure, errno, plan),
            Stage::Payload => of_payload(failure, errno, plan),
            Stage::Exec if errno == Errno::NOENT => Self::NotFound,
            Stage::Exec => Self::NotExecutable { errno },
            Stage::Reaper => Self::Step { step: "pid 1".to_owned(), errno, hint: None },
        }
    }

    /// Puts the refusal of namespaces into words.
    pub(super) fn of_clone(errno: Errno) -> Self {
        let refusal = match errno {
            Errno::NOSPC | Errno::USERS => UsernsRefusal::Count,
            Errno::PERM | Errno::ACCESS => crate::probe::userns_refusal(),
            Errno::INVAL | Errno::NOSYS => UsernsRefusal::Absent,
            errno => return Self::System { errno },
        };
        Self::Refused { refusal, errno }
    }

    /// Returns the kernel's error, when there is one.
    pub(crate) fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused { errno, .. }
            | Self::NoProc { errno }
            | Self::CoveredProc { errno }
            | Self::NotExecutable { errno }
            | Self::Step { errno, .. }
            | Self::System { errno } => Some(*errno),
            Self::Descriptors => Some(Errno::MFILE),
            _ => None,
        }
    }
}

/// Where AppArmor restricts user namespaces, they are made but their capabilities are not there:
/// the first thing that needs one fails.
fn of_init(steps: &[InitStep], failure: &StepFailure, errno: Errno) -> SpawnError {
    let step = usize::try_from(failure.step).ok().and_then(|number| steps.get(number));
    let refused = matches!(errno, Errno::PERM | Errno::ACCESS);
    match step {
        Some(InitStep::IdMaps { .. } | InitStep::NewRoot | InitStep::AttachRoot) if refused => {
            SpawnError::Refused { refusal: crate::probe::userns_refusal(), errno }
        }
        Some(InitStep::NewProc) if refused => SpawnError::CoveredProc { errno },
        Some(step) => {
            SpawnError::Step { step: step.to_string(), errno, hint: init_hint(step, errno) }
        }
        None => SpawnError::System { errno },
    }
}

fn init_hint(step: &InitStep, errno: Errno) -> Option<&'static str> {
    match (step, errno) {
        (_, Errno::STALE) => Some("the source was replaced while the sandbox started; run again"),
        (InitStep::Bind { .. }, Errno::NOENT) => {
            Some("a name went away while the sandbox started; run again")
        }
        (InitStep::Bind { .. } | InitStep::Overlay { .. }, Errno::LOOP) => {
            Some("a part of the source's path became a symbolic link; run again")
        }
        (InitStep::Overlay { lower, .. }, Errno::INVAL) if lower.iter().any(is_root) => Some(
            "the host's root has mounts below it, /proc and others, and the kernel makes no layer of such; one is needed, with or without `nodeny`, since endow's own directories are hidden: grant directories of it, such as --ro /host/usr=/usr",
        ),
        (InitStep::Overlay { .. }, Errno::INVAL) => Some(
            "it can't be a layer of an overlay, which hides names: a mount lies below it, or its file system can't, or that of endow's state (ENDOW_STATE_DIR; `endow doctor` tells); grant directories in it, or with `nodeny` what has none of endow's own directories in it",
        ),
        _ => None,
    }
}

fn is_root(layer: &Source) -> bool {
    matches!(layer, Source::Host { path, .. } if path.is_root())
}

fn of_confine(failure: &StepFailure, errno: Errno, plan: &Plan) -> SpawnError {
    let step = usize::try_from(failure.step).ok().and_then(|number| plan.confine.get(number));
    let words = match step {
        Some(ConfineStep::Landlock(landlock)) => {
            let rule = failure.detail.checked_sub(1).and_then(|rule| usize::try_from(rule).ok());
            match rule.and_then(|rule| landlock.rules.get(rule)) {
                Some(rule) => format!("landlock rule for {}", rule.at),
                None => "landlock".to_owned(),
            }
        }
        Some(step) => step.to_string(),
        None => "confinement".to_owned(),
    };
    let hint = match errno {
        Errno::STALE => Some("it was replaced while the sandbox started; run again"),
        Errno::DQUOT => {
            Some("leave out `--allow keyring`, or free keys: `keyctl show`, /proc/key-users")
        }
        _ => None,
    };
    SpawnError::Step { step: words, errno, hint }
}

/// What helps when a descriptor can't be sent.
fn on_the_way(errno: Errno) -> Option<&'static str> {
    let hint = "programs of this user have more open files on their way through sockets (unix(7), \
                ETOOMANYREFS) than the limit of open files: raise --open-files, or end them";
    (errno == Errno::TOOMANYREFS).then_some(hint)
}

fn of_payload(failure: &StepFailure, errno: Errno, plan: &Plan) -> SpawnError {
    let step = usize::try_from(failure.step).ok().and_then(|number| plan.payload.get(number));
    let (words, hint) = match step {
        Some(PayloadStep::Seccomp(_)) => ("seccomp".to_owned(), on_the_way(errno)),
        Some(step @ PayloadStep::ChangeDir { .. }) => {
            (step.to_string(), Some("name a directory of the view with --chdir"))
        }
        Some(step) => (step.to_string(), None),
        None => ("payload".to_owned(), None),
    };
    SpawnError::Step { step: words, errno, hint }
}
