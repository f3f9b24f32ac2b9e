//! Limits on what a run may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of a run; `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time until TERM.
    pub timeout: Option<Duration>,
    /// Time between TERM and KILL; ten seconds unless said.
    pub grace: Option<Duration>,
    /// Memory of all processes together, in bytes (cgroup v2).
    pub memory_bytes: Option<u64>,
    /// Processes and threads at one time (cgroup v2, else `RLIMIT_NPROC`).
    pub pids: Option<u64>,
    /// Open files of one process (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
    /// Size of one file in bytes (`RLIMIT_FSIZE`).
    pub file_size_bytes: Option<u64>,
    /// CPU time of one process (`RLIMIT_CPU`).
    pub cpu_time: Option<Duration>,
    /// Bytes that a buffered layer may hold.
    pub layer_size_bytes: Option<u64>,
    /// Files that a buffered layer may hold.
    pub layer_files: Option<u64>,
}
