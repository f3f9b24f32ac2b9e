//! One file a command; each only joins stages.

pub(crate) mod apply;
pub(crate) mod cas;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod discard;
pub(crate) mod doctor;
pub(crate) mod du;
pub(crate) mod gc;
pub(crate) mod init;
pub(crate) mod learn;
pub(crate) mod man;
pub(crate) mod plan;
pub(crate) mod profile;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod trim;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod verify;
pub(crate) mod why;
