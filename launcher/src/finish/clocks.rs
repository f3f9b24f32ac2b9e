//! Whether the clock was set back since a run began: then times tell nothing of what changed outside.

use endow_vfs::state::{Clocks, Moment, Record};
use endow_vfs::sync::Clock;
use rustix::time::{ClockId, clock_gettime};

/// Reads the clocks.
pub(crate) fn clocks() -> Clocks {
    let read = |clock| Moment::from(clock_gettime(clock));
    Clocks { real: read(ClockId::Realtime), boot: read(ClockId::Boottime), set_back: false }
}

/// Says what became of the clock since a run began; a record without a word of it is older than
/// this question.
pub(crate) fn clock_since(record: &Record) -> Clock {
    match &record.clocks {
        Some(then) if then.was_set_back(&clocks()) => Clock::SetBack,
        _ => Clock::Steady,
    }
}

/// Notes at the end of a run what the clock has become: it may be set right before the next command
/// looks.
pub(super) fn note(record: &mut Record) {
    let is_set_back = clock_since(record) == Clock::SetBack;
    if let Some(clocks) = &mut record.clocks {
        clocks.set_back = is_set_back;
    }
}
