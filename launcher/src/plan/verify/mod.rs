//! What `endow verify` tries in a sandbox: for each rule, questions to the kernel and what shall come of
//! each.
//!
//! What a rule forbids is taken from the policy, not from the steps of the plan: a plan that does less
//! than the policy says is found, too. What works is what `why` answers, for permission bits
//! and the kind of a file are no rules.

mod calls;
mod expected;
mod mounts;
mod names;
mod network;
mod state;

use endow_policy::{GuestPath, Policy};
use serde::Serialize;

use super::Plan;
use super::host::HostFacts;
use super::why::{Answer, Operation, Questions, Verdict};

pub use state::{Seen, Trait, traits};

/// A rule, and what is tried because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The rule, with who wrote it.
    pub rule: String,
    /// What is tried.
    pub trials: Vec<Trial>,
    /// What of it is not tried, and why.
    pub untried: Option<String>,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What is tried.
    pub tried: Tried,
    /// What shall come of it.
    pub shall: Shall,
}

/// What is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// An operation on a path.
    Path(GuestPath, Operation),
    /// A connection to a host at a TCP port.
    Server(String, u16),
    /// A system call with arguments by which nothing is done.
    Call(&'static str),
    /// What the process is, as the kernel tells it.
    Trait(Trait),
}

/// What shall come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shall {
    /// It works.
    Allowed,
    /// The kernel refuses, or there is nothing of this name.
    Denied,
    /// There is nothing of this name.
    Absent,
}

/// What the kernel says where it refuses: EPERM, ENOENT, EACCES, EROFS, ENOSYS, EPROTONOSUPPORT,
/// EAFNOSUPPORT, ENETUNREACH, ECONNRESET, ECONNREFUSED, EHOSTUNREACH.
const REFUSED: [i32; 11] = [1, 2, 13, 30, 38, 93, 97, 101, 104, 111, 113];

/// ENOENT.
const ABSENT: i32 = 2;

impl Shall {
    /// Returns whether an answer of the kernel is as it shall be: an error number, 0 for what worked.
    pub fn holds(self, errno: i32) -> bool {
        match self {
            Self::Allowed => errno == 0,
            Self::Denied => REFUSED.contains(&errno),
            Self::Absent => errno == ABSENT,
        }
    }

    /// Returns the word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Absent => "absent",
        }
    }

    /// Returns what `why` answers; `None` where that is no rule, or only the kernel knows.
    fn of(answer: &Answer) -> Option<Self> {
        match answer.answer {
            Verdict::Allowed => Some(Self::Allowed),
            Verdict::Absent => Some(Self::Absent),
            Verdict::Denied | Verdict::ReadOnly => Some(Self::Denied),
            Verdict::Impossible | Verdict::Unknown => None,
        }
    }
}

impl Check {
    fn new(rule: impl Into<String>, trials: Vec<Trial>) -> Self {
        Self { rule: rule.into(), trials, untried: None }
    }

    fn untried(rule: impl Into<String>, why: impl Into<String>) -> Self {
        Self { untried: Some(why.into()), ..Self::new(rule, Vec::new()) }
    }
}

/// What is known of the run.
struct Known<'a> {
    plan: &'a Plan,
    policy: &'a Policy,
    host: &'a HostFacts,
    questions: &'a Questions<'a>,
    listening: Option<u16>,
}

/// Returns what is to be tried for each rule, in the order of the policy file's tables. Somebody listens
/// at a port of the host's loopback meanwhile.
pub fn checks(
    (plan, policy, host): (&Plan, &Policy, &HostFacts),
    questions: &Questions<'_>,
    listening: Option<u16>,
) -> Vec<Check> {
    let known = Known { plan, policy, host, questions, listening };
    let parts = [
        mounts::checks(&known),
        names::hidden(&known),
        names::protected(&known),
        network::checks(&known),
        calls::checks(&known),
        state::checks(&known),
        expected::checks(policy),
    ];
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_holds_only_as_it_shall() {
        let held =
            |errno| [Shall::Allowed, Shall::Denied, Shall::Absent].map(|shall| shall.holds(errno));
        assert_eq!(held(0), [true, false, false]);
        assert_eq!(held(2), [false, true, true]);
        assert_eq!(held(30), [false, true, false]);
        // EBADF, EINVAL: nothing was refused, the question was wrong.
        assert_eq!((held(9), held(22)), ([false; 3], [false; 3]));
    }
}
