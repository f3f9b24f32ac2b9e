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
    /// An action of `endow build`, which sees a file of the project and one directory of the host.
    Action,
}

/// All of them.
pub(super) const KINDS: &[Kind] = &[Kind::Default, Kind::Agent, Kind::Copy, Kind::Action];
/// Those of `endow run`, for what an action has nothing of.
pub(super) const RUNS: &[Kind] = &[Kind::Default, Kind::Agent, Kind::Copy];
/// Those in which the workspace is a copy that is written back.
pub(super) const COPIES: &[Kind] = &[Kind::Default, Kind::Copy];

/// All that there is in the project but sockets and pipes, which no tree of contents can have.
const INPUTS: &str = "{.env,.ssh/*,.git/**,below/**,real/**,sub/**}";

impl Kind {
    /// Returns where the project is inside.
    pub(super) fn project(self, scene: &Scene) -> String {
        match self {
            Self::Action => "/build".to_owned(),
            _ => scene.path("home/project"),
        }
    }

    /// Returns endow's command and its options; each kind shows one directory read-only.
    pub(super) fn words(self, scene: &Scene) -> Vec<String> {
        let own: &[&str] = match self {
            Self::Default => &["run", "--ro", "ROOT/granted"],
            Self::Agent => {
                &["run", "--profile", "claude", "--workspace", "rw", "--ro", "ROOT/granted"]
            }
            Self::Copy => &[
                "run",
                "--workspace",
                "cow",
                "--sync",
                "apply",
                "--cow",
                "ROOT/copied",
                "--ro",
                "ROOT/granted",
            ],
            Self::Action => {
                &["build", "--no-cache", "-j1", "--input", INPUTS, "--tool", "ROOT/granted"]
            }
        };
        own.iter().map(|word| word.replace("ROOT", &scene.root())).collect()
    }
}
