//! `endow why call:NAME`.

use super::answer::{Answer, Layer, Verdict};
use super::refusal::Refusal;
use crate::plan::Plan;
use crate::plan::seccomp::{self, Action, Leaf};

/// Answers for a call by name or number; `None` for a name that Linux doesn't have.
pub fn call(plan: &Plan, name: &str) -> Option<Answer> {
    let found = seccomp::answer(plan.filter()?, name)?;
    let errno = errno(found.leaf);
    let allowed = matches!(found.leaf, Leaf::Do(Action::Allow | Action::Notify));
    let about = found.group.map_or("no call of this number is known", |group| group.rule().about);
    let by_arguments = matches!(found.leaf, Leaf::Check(_));
    Some(Answer {
        subject: format!("call:{name}"),
        operation: None,
        answer: if allowed { Verdict::Allowed } else { Verdict::Denied },
        errno,
        leads_to: None,
        reason: if by_arguments {
            format!("by its arguments: {}; {about}", found.leaf)
        } else {
            about.to_owned()
        },
        rule: found.group.map(|group| format!("group {}", group.name())),
        layers: if allowed { Vec::new() } else { vec![Layer::Seccomp] },
        remedy: found.word.map(|word| remedy(allowed, word.word())),
    })
}

fn remedy(allowed: bool, word: &str) -> String {
    if allowed { format!("leave out --allow {word}") } else { format!("--allow {word}") }
}

fn errno(leaf: Leaf) -> Option<Refusal> {
    match leaf {
        Leaf::Do(Action::Errno(errno)) => Refusal::numbered(errno.number().into()),
        _ => None,
    }
}
