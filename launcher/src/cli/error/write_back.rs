//! Errors of writing back: what becomes of the run, and what helps.

use rustix::io::Errno;

use super::{CommandError, Kind};
use crate::finish::WriteBackError;

/// Returns whether it went wrong for want of room.
pub(crate) fn is_full(error: &WriteBackError) -> bool {
    std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<Errno>())
        .any(|errno| matches!(*errno, Errno::NOSPC | Errno::DQUOT))
}

impl From<WriteBackError> for CommandError {
    fn from(error: WriteBackError) -> Self {
        let (is_full, is_begun) = (is_full(&error), error.is_begun());
        let this = Self::new(Kind::NotWrittenBack, error.to_string()).because(&error);
        let this = this.hint(if is_begun {
            "nothing is lost: what is done next with the run finishes it, and so does `endow gc`"
        } else {
            "nothing is lost: the run is kept as it is"
        });
        if is_full {
            let room = "`endow gc`, `endow discard` and `endow runs rm` make room";
            return this.hint("make room, then do it again").hint(room);
        }
        error.remedy().into_iter().fold(this, Self::hint)
    }
}
