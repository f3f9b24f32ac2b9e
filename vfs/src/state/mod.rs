//! The state directory: one directory for each run, locked while the run lives.
//!
//! ```text
//! <state>/runs/<id>/                 0700, its own exclusive flock(2) held by the supervisor
//! <state>/runs/<id>/layers/000/p<n>  a private directory: gone with the run
//! <state>/runs/<id>/layers/000/m<n>  a copy-on-write mount's upper and work: something to keep
//! <state>/runs/<id>/mask/<n>         a mask layer: gone with the run
//! <state>/runs/.new-<id>             a run being made
//! ```

mod dir;
mod error;
mod id;
mod own_dirs;
mod run;
mod sweep;

pub use dir::{StateDir, make_private};
pub use error::StateError;
pub use id::{RunId, RunIdError};
pub use own_dirs::{Contained, EndowDirs, OwnDir, OwnDirsError, Relation};
pub use run::RunDir;
pub use sweep::{Sweep, Swept};

#[cfg(test)]
mod tests;
