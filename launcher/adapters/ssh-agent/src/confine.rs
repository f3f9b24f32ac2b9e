//! Landlock: of files, the process needs none but the agent's socket.
//!
//! Connecting to a socket with a path needs no right of Landlock up to the version used here. A later
//! version has such a right; the one named here must stay below it, or allow the agent's socket.
//!
//! A program that asks the user lives in the same domain. So that it can start and reach a display,
//! reading, executing, devices and the network stay as they are when there is one; it can write to
//! `/dev/null` only, and signal nobody outside.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    PathFdError, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};

/// What such a process still needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// No file at all.
    Nothing,
    /// To read and to execute, for a program that asks.
    Reading,
}

/// A ruleset that can't be made or entered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfineError {
    /// Landlock objects.
    #[error("the ssh-agent filter can't be confined")]
    Ruleset(#[from] RulesetError),
    /// There is no `/dev/null`.
    #[error("the ssh-agent filter finds no /dev/null")]
    Null(#[from] PathFdError),
}

/// Confines the calling thread, and so all threads and programs that it starts. What an older
/// kernel doesn't know is left out: this is a second line behind a process that opens no file.
pub(crate) fn confine(reach: Reach) -> Result<(), ConfineError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(refused(reach))?
        .scope(Scope::Signal)?;
    match reach {
        Reach::Nothing => {
            let ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V7))?;
            ruleset.scope(Scope::AbstractUnixSocket)?.create()?.restrict_self()?;
        }
        Reach::Reading => {
            let write = AccessFs::WriteFile | AccessFs::Truncate;
            let null = PathBeneath::new(PathFd::new("/dev/null")?, write);
            ruleset.create()?.add_rule(null)?.restrict_self()?;
        }
    }
    Ok(())
}

fn refused(reach: Reach) -> BitFlags<AccessFs> {
    let all = AccessFs::from_all(ABI::V7);
    match reach {
        Reach::Nothing => all,
        Reach::Reading => all & !(AccessFs::from_read(ABI::V7) | AccessFs::IoctlDev),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The domain is the thread's, which ends with it.
    fn confined<T: Send>(reach: Reach, tried: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                confine(reach).expect("confined");
                tried()
            });
            thread.join().expect("tried")
        })
    }

    #[test]
    fn nothing_can_be_read_or_made() {
        let dir = tempfile::tempdir().expect("a directory");
        let made = dir.path().join("made");
        let tried = || (std::fs::read("/etc/passwd").is_ok(), std::fs::write(&made, "").is_ok());
        assert_eq!(tried(), (true, true), "the control");
        std::fs::remove_file(&made).expect("removed");
        assert_eq!(confined(Reach::Nothing, tried), (false, false));
        assert_eq!(confined(Reach::Reading, tried), (true, false));
    }

    #[test]
    fn socket_with_a_path_can_be_reached() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("agent");
        let _listener = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        let reached = || std::os::unix::net::UnixStream::connect(&path).is_ok();
        assert!(confined(Reach::Nothing, reached));
    }

    #[test]
    fn program_that_asks_runs_and_writes_to_null_only() {
        let status = |script: &str| {
            let run = || std::process::Command::new("sh").args(["-c", script]).status();
            confined(Reach::Reading, run).expect("started").success()
        };
        assert!(status("echo x >/dev/null && cat /etc/passwd >/dev/null"));
        assert!(!status("(echo x >/dev/full || echo y >/dev/shm/endow-ssh-agent) 2>/dev/null"));
    }
}
