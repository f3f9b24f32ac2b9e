//! The process that started endow.

/// Ends endow, and with it the run, when the process that started it ends.
pub(crate) fn die_with_parent() {
    let kill = Some(rustix::process::Signal::KILL);
    let _ = rustix::process::set_parent_process_death_signal(kill);
}
