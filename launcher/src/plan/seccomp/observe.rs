//! What the supervisor gets to see of a run.

use serde::Serialize;

use super::action::Action;
use super::group::{Applies, Group};
use super::leaf::Leaf;

/// What is announced to the supervisor, besides what it prepares. Nothing of it is ever decided anew:
/// a call that the plan refuses gets the plan's error, and all others go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Observe {
    /// Nothing.
    #[default]
    Nothing,
    /// Refused calls, started programs and connections.
    Calls,
    /// Names of files too, but for what realpath(3) asks about them.
    Paths,
    /// All names of files.
    All,
}

impl Observe {
    /// Returns whether nothing is observed.
    pub fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }

    /// Returns what the filter does with a group of calls about which `leaf` was decided.
    pub(super) fn installed(self, group: Group, leaf: Leaf) -> Leaf {
        if self.announces(group) {
            match self {
                Self::All => Leaf::Do(Action::Notify),
                _ => group.rule().default,
            }
        } else if self != Self::Nothing && group.is_told() {
            leaf.announced()
        } else {
            leaf
        }
    }

    /// Returns whether calls of a group are seen that are not refused.
    fn announces(self, group: Group) -> bool {
        match group.rule().applies {
            Applies::WhenObserved | Applies::WhenConnecting => self != Self::Nothing,
            Applies::WhenExplained | Applies::WhenBuffered => self >= Self::Paths,
            Applies::Always
            | Applies::StricterWithTcpRules(_)
            | Applies::ByForeground { .. }
            | Applies::WithoutSignalScope
            | Applies::WithTcpRules => false,
        }
    }
}
