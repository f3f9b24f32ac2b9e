//! The kinds of sandbox in which each attack is made.

use super::scene::Scene;

/// A kind of sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// What `endow -- COMMAND` makes, without an option.
    Default,
    /// An agent's profile, with its hosts, in a project that is live.
    Agent,
    /// Everything that can be written is a copy, which is written back.
    Copy,
}

/// All of them.
pub(super) const KINDS: &[Kind] = &[Kind::Default, Kind::Agent, Kind::Copy];
/// Those in which the workspace is a copy that is written back.
pub(super) const COPIES: &[Kind] = &[Kind::Default, Kind::Copy];

impl Kind {
    /// Returns the options of `endow run`; each kind also shows one directory read-only.
    pub(super) fn options(self, scene: &Scene) -> Vec<String> {
        let own: &[&str] = match self {
            Self::Default => &[],
            Self::Agent => &["--profile", "claude", "--workspace", "rw"],
            Self::Copy => &["--workspace", "cow", "--sync", "apply", "--cow", "ROOT/copied"],
        };
        let filled = own.iter().map(|word| word.replace("ROOT", &scene.root()));
        filled.chain(["--ro".to_owned(), scene.granted()]).collect()
    }
}
