//! Why a system call is allowed or refused: `endow why call:NAME`.

use endow_policy::AllowWord;
use serde::Serialize;

use super::group::Group;
use super::leaf::Leaf;
use super::plan::SeccompPlan;
use super::table::Call;

/// What a plan says about one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The call's name, when the table has the number.
    pub name: Option<&'static str>,
    /// The call's number, when it exists on the plan's architecture.
    pub number: Option<u32>,
    /// What happens to it.
    pub leaf: Leaf,
    /// The group that decides.
    pub group: Option<Group>,
    /// The word that would change it, or did.
    pub word: Option<AllowWord>,
}

/// Answers for a call by its name or number; `None` for a name that Linux doesn't have.
pub fn answer(plan: &SeccompPlan, call: &str) -> Option<Answer> {
    match call.parse::<u32>() {
        Ok(number) => Some(by_number(plan, number)),
        Err(_) => Call::named(call).map(|call| by_call(plan, call)),
    }
}

fn by_number(plan: &SeccompPlan, number: u32) -> Answer {
    let unknown = Answer {
        name: None,
        number: Some(number),
        leaf: plan.leaf(number),
        group: None,
        word: None,
    };
    Call::numbered(number, plan.arch).map_or(unknown, |call| by_call(plan, call))
}

fn by_call(plan: &SeccompPlan, call: &Call) -> Answer {
    let number = call.number(plan.arch);
    Answer {
        name: Some(call.name),
        number,
        leaf: number.map_or(SeccompPlan::UNKNOWN, |_| plan.group(call.group)),
        group: Some(call.group),
        word: call.group.rule().lift.map(|lift| lift.word),
    }
}
