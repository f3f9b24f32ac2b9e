//! Answers for which the view is not looked at.

use std::path::Path;

use super::Operation;
use super::answer::{Answer, Layer, Verdict};
use super::refusal::Refusal;

/// At level `landlock` no Unix socket is made, whatever the path leads to.
pub(super) fn no_socket(path: &Path) -> Answer {
    let reason = "at level `landlock` no Unix socket can be made: nothing else keeps their paths";
    let layers = vec![Layer::Seccomp];
    refused(path, Operation::Connect, (Refusal::NoFamily, reason, layers))
}

/// No call of the kernel takes an empty path for a name.
pub(super) fn no_path(operation: Operation) -> Answer {
    refused(Path::new(""), operation, (Refusal::Absent, "the path is empty", Vec::new()))
}

fn refused(
    path: &Path,
    operation: Operation,
    (refusal, reason, layers): (Refusal, &str, Vec<Layer>),
) -> Answer {
    Answer {
        subject: path.to_string_lossy().into_owned(),
        operation: Some(operation),
        answer: Verdict::of(Some(refusal)),
        errno: Some(refusal),
        leads_to: None,
        reason: reason.to_owned(),
        rule: None,
        layers,
        remedy: None,
    }
}
