//! What is answered.

use serde::{Deserialize, Serialize, Serializer};

use super::Operation;
use super::refusal::Refusal;

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// What was asked about, as it was written.
    pub subject: String,
    /// What was to be done with it; `None` for a system call.
    pub operation: Option<Operation>,
    /// The verdict.
    pub answer: Verdict,
    /// The error that the kernel answers with.
    #[serde(serialize_with = "name")]
    pub errno: Option<Refusal>,
    /// Where the path leads, when links or a relative path lead elsewhere.
    pub leads_to: Option<String>,
    /// What decides, in words.
    pub reason: String,
    /// Who asked for it: the entry of the policy, and those that it replaced.
    pub rule: Option<String>,
    /// Every layer that refuses it by itself.
    pub layers: Vec<Layer>,
    /// What would change it: a flag, a policy line or a command.
    pub remedy: Option<String>,
}

/// The verdict of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It works.
    Allowed,
    /// The name does not exist inside.
    Absent,
    /// The kernel refuses.
    Denied,
    /// It can be read and not changed.
    ReadOnly,
    /// What is there is nothing that this can be done with.
    Impossible,
    /// Only the kernel can tell: `--verify` asks it.
    Unknown,
}

impl Verdict {
    pub(super) fn of(refusal: Option<Refusal>) -> Self {
        match refusal {
            None => Self::Allowed,
            Some(Refusal::Absent) => Self::Absent,
            Some(Refusal::ReadOnly) => Self::ReadOnly,
            Some(
                Refusal::Denied
                | Refusal::Unpermitted
                | Refusal::Unreachable
                | Refusal::NoFamily
                | Refusal::NoCall,
            ) => Self::Denied,
            Some(_) => Self::Impossible,
        }
    }

    /// Returns the verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Absent => "absent",
            Self::Denied => "denied",
            Self::ReadOnly => "read-only",
            Self::Impossible => "impossible",
            Self::Unknown => "unknown",
        }
    }
}

/// A layer that refuses something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The mount namespace shows nothing there.
    View,
    /// A mask or a cover hides it.
    Deny,
    /// Owner, permission bits and access list.
    Permissions,
    /// The mount: read-only, `noexec` or `nodev`.
    Mount,
    /// The kind of what is there.
    Kind,
    /// The Landlock ruleset.
    Landlock,
    /// The network namespace.
    Network,
    /// The system call filter.
    Seccomp,
}

impl Layer {
    /// Returns the layer's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Deny => "deny",
            Self::Permissions => "permissions",
            Self::Mount => "mount",
            Self::Kind => "kind",
            Self::Landlock => "landlock",
            Self::Network => "network",
            Self::Seccomp => "seccomp",
        }
    }
}

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn name<S: Serializer>(refusal: &Option<Refusal>, serializer: S) -> Result<S::Ok, S::Error> {
    match refusal {
        Some(refusal) => serializer.serialize_some(refusal.name()),
        None => serializer.serialize_none(),
    }
}
