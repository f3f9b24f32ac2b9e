//! What command lines of other sandboxes ask for.

use std::path::PathBuf;

use endow_policy::Ids;

/// What no option of endow asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amendment {
    /// Which numbers user and group have inside; `None` for their own.
    pub(crate) ids: Option<Ids>,
    /// SIGINT does what SIGTERM does.
    pub(crate) interrupt_ends: bool,
    /// The command line is another sandbox's. The environment is the command's: it gets all of it and nothing else,
    /// and neither the user nor endow's own directories are read from it. What it may write it may write, under
    /// whatever name.
    pub(crate) is_foreign: bool,
}

/// What a command line of another sandbox asks for, beside the command.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherSandbox {
    /// What is shown read-only, and where.
    pub(crate) fixed: Vec<(PathBuf, PathBuf)>,
    /// What is shown live, at its own place.
    pub(crate) writable: Vec<PathBuf>,
    /// Where memory is.
    pub(crate) memory: Vec<PathBuf>,
    /// Where the command starts.
    pub(crate) chdir: PathBuf,
    /// The name of the host; its own where there is none.
    pub(crate) hostname: Option<String>,
    /// No network but a loopback; else the host's.
    pub(crate) is_offline: bool,
    /// Seconds until it is ended.
    pub(crate) timeout_s: Option<u32>,
    /// Seconds between TERM and KILL.
    pub(crate) grace_s: u32,
}

/// Where an action is executed, and as whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionPlace {
    /// Where its tree is.
    pub(crate) place: PathBuf,
    /// Where the command starts.
    pub(crate) directory: PathBuf,
    /// The action is somebody else's: its tree is all that there is, and its environment is whole.
    pub(crate) is_foreign: bool,
    /// Which numbers user and group have inside; `None` for their own.
    pub(crate) ids: Option<Ids>,
    /// What of the host is shown read-only, and where.
    pub(crate) fixed: Vec<(PathBuf, PathBuf)>,
    /// What of the host is shown live, and where.
    pub(crate) live: Vec<(PathBuf, PathBuf)>,
    /// Seconds between TERM and KILL, when its time is over.
    pub(crate) grace_s: Option<u32>,
}

impl ActionPlace {
    /// Where actions of builds are executed.
    pub(crate) fn of_builds(place: &str) -> Self {
        Self { place: place.into(), directory: place.into(), ..Self::default() }
    }
}
