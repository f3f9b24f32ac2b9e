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

use endow_policy::{GuestPath, Policy, Verdict};

use super::Plan;
use super::host::HostFacts;
use super::why::{self, Answer, Operation, Questions, Refusal};

pub use state::{Seen, Trait, seen, traits};

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
    pub shall: Verdict,
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

/// Returns whether an answer of the kernel is as it shall be: an error number, 0 for what worked.
pub fn holds(shall: Verdict, errno: i32) -> bool {
    let refusal = Refusal::numbered(errno);
    match shall {
        Verdict::Allowed => errno == 0,
        Verdict::Denied => refusal.is_some_and(is_kept_away),
        Verdict::Absent => refusal == Some(Refusal::Absent),
    }
}

/// Whether an error says that something is kept away, and not that the question was wrong.
const fn is_kept_away(refusal: Refusal) -> bool {
    use Refusal::{Absent, Denied, ReadOnly, Unpermitted};
    use Refusal::{NoCall, NoFamily, NoProtocol, NoWay, Reset, Unheard, Unreachable};
    let of_files = matches!(refusal, Unpermitted | Absent | Denied | ReadOnly);
    let of_calls = matches!(refusal, NoCall | NoProtocol | NoFamily);
    of_files || of_calls || matches!(refusal, Unreachable | Reset | Unheard | NoWay)
}

/// Returns what `why` answers; `None` where that is no rule, or only the kernel knows.
fn answered(answer: &Answer) -> Option<Verdict> {
    match answer.answer {
        why::Verdict::Allowed => Some(Verdict::Allowed),
        why::Verdict::Absent => Some(Verdict::Absent),
        why::Verdict::Denied | why::Verdict::ReadOnly => Some(Verdict::Denied),
        why::Verdict::Impossible | why::Verdict::Unknown => None,
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
        let all = [Verdict::Allowed, Verdict::Denied, Verdict::Absent];
        let held = |errno| all.map(|shall| holds(shall, errno));
        assert_eq!(held(0), [true, false, false]);
        assert_eq!(held(2), [false, true, true]);
        assert_eq!(held(30), [false, true, false]);
        // EBADF, EINVAL: nothing was refused, the question was wrong.
        assert_eq!((held(9), held(22)), ([false; 3], [false; 3]));
    }
}
