//! Names that users give to their runs.

use std::os::fd::OwnedFd;
use std::path::Path;

use endow_vfs::fs::OsFs;
use endow_vfs::state::{RunId, StateDir};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

use crate::cli::error::{CommandError, Kind};

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// Accepts a name for a new run: one that no other command takes for something else, and that no
/// run has which is kept.
pub(crate) fn accept(name: &str, state: &Path) -> Result<(), CommandError> {
    if !is_name(name) {
        return Err(CommandError::new(Kind::Usage, "not a name for a run")
            .about(format!("--name {name}"))
            .hint("up to 64 letters, digits, `-`, `_` and `.`, the first a letter or a digit"));
    }
    if state.symlink_metadata().is_err() {
        return Ok(());
    }
    let runs = StateDir::open(&OsFs, state)?.runs(&OsFs)?;
    match runs.iter().find(|run| run.name() == Some(name)) {
        None => Ok(()),
        Some(run) => Err(CommandError::new(Kind::Usage, "another run has this name")
            .about(format!("--name {name}"))
            .cause(format!("it is run {}", run.id))
            .hint(format!("`endow runs rm {name}` removes that one, once it is settled"))
            .hint("or choose another name")),
    }
}

/// Accepts a name once more, and keeps other processes from taking it until the run has it.
pub(crate) fn take(name: &str, state: &Path) -> Result<Option<OwnedFd>, CommandError> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let lock = match open(state.join("runs"), flags, Mode::empty()) {
        Ok(lock) => lock,
        // No other run is kept.
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(CommandError::directory(state, errno.into())),
    };
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(|errno| CommandError::directory(state, errno.into()))?;
    accept(name, state)?;
    Ok(Some(lock))
}

/// Names stand where ids, paths and options do.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    begins && name.len() <= LONGEST && name.chars().all(fits) && RunId::parse(name).is_err()
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_are_taken_for_nothing_else() {
        for name in ["a", "try-2", "v1.0_x", "0", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        let long = "x".repeat(65);
        for name in ["", "-a", ".a", "_a", "a/b", "a b", "a\n", "é", "1nb2ew00zzzzzzzz", &long] {
            assert!(!is_name(name), "{name}");
        }
    }
}
