//! The sandbox that most runs have, opened before anything is read: the kernel makes its namespaces meanwhile. A run
//! that needs another one drops it.

use std::ffi::{OsStr, OsString};

use endow_policy::Ids;
use rustix::process::{getegid, geteuid};

use super::args;
use crate::apply::{self, Begun};
use crate::plan;

/// Options that most likely make it of no use: another network, output that is captured, and no run at all.
const OTHERS: [&str; 6] = ["--net", "--json", "--help", "-h", "--version", "-V"];

/// Opens it where the arguments look like those of a run. One that can't be opened says so when it is opened for a
/// policy.
pub(super) fn open(arguments: &[OsString]) -> Option<Begun> {
    let own = Ids { uid: geteuid().as_raw(), gid: getegid().as_raw() };
    may_serve(arguments).then(|| apply::begin(&plan::usual_opening(own), None).ok()).flatten()
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
    fn runs_with_the_usual_sandbox_are_known() {
        let may = |words: &[&str]| {
            let words = [&["endow"], words].concat();
            may_serve(&words.into_iter().map(OsString::from).collect::<Vec<_>>())
        };
        assert!(
            may(&["--", "true"]) && may(&["run", "true"]) && may(&["--ro", "/x", "--", "true"])
        );
        assert!(may(&["run", "--", "curl", "--json", "{}"]), "that is the command's");
        assert!(
            !may(&["run", "--net=host", "--", "true"]) && !may(&["--net", "host", "--", "true"])
        );
        assert!(!may(&["run", "--help"]) && !may(&["--json", "--", "true"]));
        assert!(!may(&["plan", "--", "true"]) && !may(&["--version"]) && !may(&[]));
    }
}
