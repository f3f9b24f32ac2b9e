//! `[[expect]]`: what the policy itself asks to be tried.

use endow_policy::{Expected, Policy, Tried as Asked};

use super::{Check, Trial, Tried};
use crate::plan::why::Operation;

pub(super) fn checks(policy: &Policy) -> Vec<Check> {
    policy.expect.iter().map(check).collect()
}

fn check(expected: &Expected) -> Check {
    let (word, tried) = match &expected.tried {
        Asked::Read(at) => ("read", Tried::Path(at.clone(), Operation::Read)),
        Asked::Write(at) => ("write", Tried::Path(at.clone(), Operation::Write)),
        Asked::Execute(at) => ("execute", Tried::Path(at.clone(), Operation::Execute)),
        Asked::Connect(host, port) => ("connect", Tried::Server(host.clone(), *port)),
    };
    let Expected { object, is: shall, origin, .. } = expected;
    let rule = format!("expect {word} {object} is {} ({origin})", shall.word());
    Check::new(rule, vec![Trial { tried, shall: *shall }])
}
