//! Searching what comes back for what must not come back.

mod body;
pub(crate) mod encoded;
mod needles;
mod redactor;

pub(crate) use body::RedactedBody;
pub(crate) use needles::Needles;
pub(crate) use redactor::Redactor;
