//! What servers say.

mod asked;
mod messages;
