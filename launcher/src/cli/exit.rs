//! The exit codes of endow itself, as docs/reference/exit-codes.md lists them.

use rustix::process::Signal;

/// The command line can't be understood.
pub(crate) const USAGE: u8 = 2;
/// A bug in endow.
pub(crate) const BUG: u8 = 70;
/// A policy file is invalid or not trusted.
pub(crate) const POLICY: u8 = 120;
/// This host can't enforce what was asked.
pub(crate) const UNENFORCEABLE: u8 = 122;
/// The command succeeded, and something was not written back.
pub(crate) const NOT_WRITTEN_BACK: u8 = 121;
/// A limit of time or of a layer ended the run.
pub(crate) const TIMED_OUT: u8 = 124;
/// The sandbox could not be set up.
pub(crate) const SETUP_FAILED: u8 = 125;
/// The command is there and can't be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The command is not in the view.
pub(crate) const NOT_FOUND: u8 = 127;
/// A signal ended the command: this and its number.
pub(crate) const SIGNAL_BASE: i32 = 128;

/// Returns the exit code of a command that a signal ended.
pub(crate) fn of_signal(signal: Signal) -> u8 {
    u8::try_from(SIGNAL_BASE + signal.as_raw()).unwrap_or(u8::MAX)
}
