//! Explains what a run asked for, by the questions that `endow why` asks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use endow_policy::GuestPath;

use crate::cli::stages::Planned;
use crate::plan::dots::without_dots;
use crate::plan::why::{Denial, HostTree, Layer, Questions, Subject};
use crate::probe::{has_abstract_outside, listens_outside, protects_links};
use crate::supervise::Asked;
use crate::sys::sockets;

/// Prepares to ask about the sandbox of a run.
pub(crate) fn questions<'a>(planned: &'a Planned, tree: &'a dyn HostTree) -> Questions<'a> {
    let (plan, policy) = (&planned.plan, &planned.found.policy);
    Questions::new(plan, policy, &planned.host, tree, protects_links())
}

/// Explains why something is refused; `is_there` tells whether the view has a path by now.
pub(crate) fn explain(
    planned: &Planned,
    questions: &Questions<'_>,
    asked: &Asked,
    is_there: bool,
) -> Option<Denial> {
    match asked {
        // What `..` leads to through a link is not told.
        Asked::Path(need, path) => {
            questions.denial(&without_dots(Path::new(path)), *need, is_there)
        }
        Asked::Address(to) => {
            let (plan, policy) = (&planned.plan, &planned.found.policy);
            let at_loopback = || Denial::of_loopback(plan, policy, *to);
            let is_there = || to.ip().is_loopback() && listens_outside(*to);
            // Who asks a name server of the host's wants the names.
            Denial::of_address(plan, policy, *to).or_else(|| is_there().then(at_loopback).flatten())
        }
        Asked::Abstract(name) => abstract_socket(planned, questions, name),
    }
}

/// Explains why a path is absent below `at`, where a part of the directory `of` is shown: the rest of it
/// was left out.
pub(crate) fn left_out(asked: &Asked, at: &Path, of: &Path) -> Option<Denial> {
    let Asked::Path(need, path) = asked else { return None };
    let path = without_dots(Path::new(path));
    let outside = of.join(path.strip_prefix(at).ok()?);
    outside.symlink_metadata().ok()?;
    let (subject, operation) = (Subject::Path(path.into_os_string()), Some(need.operation()));
    Some(Denial { subject, operation, layer: Layer::View, rule: None, remedy: None })
}

/// Servers of a display have the same name twice: abstract, and as a file.
fn abstract_socket(planned: &Planned, questions: &Questions<'_>, name: &[u8]) -> Option<Denial> {
    if !has_abstract_outside(name) {
        return None;
    }
    let path = Path::new(OsStr::from_bytes(name));
    let file = GuestPath::new(path).ok().filter(|_| questions.is_there_outside(path));
    Some(Denial::of_abstract(&planned.plan, sockets::written(name), file.as_ref()))
}
