//! What is allowed: policy files, their layers, and the resolved [`Policy`], as pure values.
//!
//! The pipeline of this crate is `parse` (text to [`PolicyFile`]), `compose` (layers to one
//! file, with the origin of every entry) and `resolve` (variables out, [`Policy`] in). Nothing
//! here reads a file, the environment or the clock: callers hand in text and [`Vars`].

mod environment;
mod limits;
mod mount;
mod network;
mod origin;
mod path;
mod pattern;
mod policy;
mod process;
mod require;
mod vars;

pub use environment::EnvironmentRules;
pub use limits::Limits;
pub use mount::{Access, BackendSpec, Made, MountClass, MountOptions, MountSpec};
pub use network::Network;
pub use origin::Origin;
pub use path::{GuestPath, HostPath, PathError};
pub use pattern::PatternRule;
pub use policy::Policy;
pub use process::{AllowWord, ProcessRules};
pub use require::{Level, Require};
pub use vars::Vars;
