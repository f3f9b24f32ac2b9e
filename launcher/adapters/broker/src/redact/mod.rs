//! Searching what comes back for what must not come back.

mod body;
pub(crate) mod encoded;
mod needles;
mod redactor;

use std::time::Duration;

pub(crate) use body::RedactedBody;
pub(crate) use needles::Needles;
pub(crate) use redactor::Redactor;

/// How long nothing may come before the end of what came is passed on, as far as it can be.
pub(crate) const IDLE: Duration = Duration::from_millis(50);
