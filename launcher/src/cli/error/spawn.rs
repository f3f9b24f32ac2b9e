//! Why a sandbox could not be started, in words.

use std::io;

use rustix::io::Errno;

use crate::apply::SpawnError;
use crate::cli::error::{CommandError, Kind};
use crate::plan::UNCOVER_PROC;

impl From<SpawnError> for CommandError {
    fn from(error: SpawnError) -> Self {
        let kind = match &error {
            SpawnError::Refused { .. }
            | SpawnError::CoveredProc { .. }
            | SpawnError::NoProc { errno: Errno::ACCESS } => Kind::Unenforceable,
            SpawnError::NotFound => Kind::NotFound,
            SpawnError::NotExecutable { .. } => Kind::NotExecutable,
            SpawnError::Threads(_) => Kind::Bug,
            _ => Kind::Setup,
        };
        let mut this = Self::new(kind, error.to_string());
        if let Some(errno) = error.errno() {
            this = this.cause(io::Error::from(errno));
        }
        match error {
            SpawnError::Refused { refusal, .. } => {
                this.hint(refusal.remedy()).hint("`endow doctor` tells more")
            }
            SpawnError::CoveredProc { .. } => {
                this.hint(UNCOVER_PROC).hint("`endow doctor` tells more")
            }
            SpawnError::NoProc { errno: Errno::ACCESS } => this
                .cause("another sandbox keeps what runs in it from /proc, as a run at level `landlock` does")
                .hint("`--require landlock` asks for the level that can be had here"),
            SpawnError::NoProc { errno: Errno::NOENT } => this.hint("mount the proc file system at /proc"),
            SpawnError::Step { hint: Some(hint), .. } => this.hint(hint),
            SpawnError::Descriptors => this.hint("raise the limit of open files, `ulimit -n`, or of processes, `ulimit -u`"),
            SpawnError::Killed => this
                .cause("a signal from outside, or the kernel where memory was short")
                .hint("run again; the kernel's log tells when it was short of memory"),
            _ => this,
        }
    }
}
