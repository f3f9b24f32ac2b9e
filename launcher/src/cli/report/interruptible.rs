//! Waits of the end of a run that a user may break off.

use rustix::process::Signal;

use crate::sys::signal::{self, SignalSet};

/// The signals by which somebody asks a program to end.
const ASKING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// While it stands, signals end endow as any program: the run is over, and what is written to a pipe may wait
/// for its reader for ever. Those that came before were meant for the command.
#[derive(Debug)]
pub(crate) struct Interruptible(Option<SignalSet>);

impl Interruptible {
    /// Lets signals through from now on.
    pub(crate) fn begin() -> Self {
        let numbers = ASKING.map(Signal::as_raw);
        let asking = numbers.into_iter().fold(SignalSet::default(), SignalSet::with);
        if let Ok(came) = signal::descriptor(asking) {
            while signal::read(&came).is_some() {}
        }
        let blocked = signal::blocked();
        let open = numbers.into_iter().fold(blocked, SignalSet::without);
        Self(signal::set_mask(open).ok())
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            let _ = signal::set_mask(before);
        }
    }
}
