//! What the sandboxes of most runs begin with, made before anything is read. A run that needs another one drops it.

use std::ffi::{OsStr, OsString};

use endow_policy::Ids;
use rustix::process::{getegid, geteuid};

use super::descriptors;
use crate::apply::{self, Begun};
use crate::cli::args;
use crate::plan;

/// Options with which an early pid 1 is of no use: output that is captured, and no run at all.
const OTHERS: [&str; 5] = ["--json", "--help", "-h", "--version", "-V"];

/// Makes pid 1 early where the arguments look like those of a run, and the caller left nothing open that it would
/// hold as long as the arguments are read. Where that fails, it is tried again for a policy, and told.
pub(crate) fn open(arguments: &[OsString]) -> Option<Begun> {
    let own = Ids { uid: geteuid().as_raw(), gid: getegid().as_raw() };
    let may_serve = may_serve(arguments) && descriptors::is_nothing_inherited();
    may_serve.then(|| apply::begin(&plan::first_opening(own), None).ok()).flatten()
}

fn may_serve(arguments: &[OsString]) -> bool {
    let mut options = arguments.iter().skip(1).take_while(|it| *it != "--");
    let is_other =
        |it: &OsStr| OTHERS.iter().any(|other| it.as_encoded_bytes().starts_with(other.as_bytes()));
    args::is_run(arguments) && !options.any(|it| is_other(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_known_by_their_arguments() {
        let may = |words: &[&str]| {
            let words = [&["endow"], words].concat();
            may_serve(&words.into_iter().map(OsString::from).collect::<Vec<_>>())
        };
        assert!(
            may(&["--", "true"]) && may(&["run", "true"]) && may(&["--ro", "/x", "--", "true"])
        );
        assert!(may(&["run", "--", "curl", "--json", "{}"]), "that is the command's");
        assert!(!may(&["run", "--help"]) && !may(&["--json", "--", "true"]));
        assert!(!may(&["plan", "--", "true"]) && !may(&["--version"]) && !may(&[]));
    }
}
