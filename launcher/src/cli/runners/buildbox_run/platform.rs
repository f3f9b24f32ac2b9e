//! Where an action wants to run, and whether that is here.

use std::env::consts::ARCH;

use endow_policy::Ids;
use rustix::process::{getegid, geteuid};

use crate::cli::error::{CommandError, Kind};

/// The instruction sets of which an action can run programs, in the words of the Remote Execution API. The filter of system
/// calls ends those of another architecture, 32-bit ones of this machine's among them.
fn instruction_sets() -> &'static [&'static str] {
    match ARCH {
        "x86_64" => &["x86-64"],
        "aarch64" => &["aarch64"],
        _ => &[],
    }
}

/// What can be asked for, a line each.
pub(super) fn capabilities() -> String {
    let sets = instruction_sets().iter().map(|set| format!("platform:ISA={set}"));
    let others = ["platform:unixUID", "platform:unixGID"].map(str::to_owned);
    let first = ["no-logs-capture", "bind-mount", "platform:OSFamily=linux"].map(str::to_owned);
    first.into_iter().chain(sets).chain(others).map(|line| line + "\n").collect()
}

/// Reads the properties of an action: which numbers user and group have, `None` for their own. A property that is not
/// understood is refused: what it asks for would be missing.
pub(super) fn ids(properties: &[(String, String)]) -> Result<Option<Ids>, CommandError> {
    let (mut uid, mut gid) = (None, None);
    for (name, value) in properties {
        let is_kept = match (name.as_str(), value.as_str()) {
            ("OSFamily", family) => family.eq_ignore_ascii_case("linux"),
            ("ISA", set) => instruction_sets().contains(&set),
            ("unixUID", number) => number.parse().map(|number| uid = Some(number)).is_ok(),
            ("unixGID", number) => number.parse().map(|number| gid = Some(number)).is_ok(),
            // Who writes an action is not who says what it may reach.
            ("network", "off") => true,
            _ => false,
        };
        if !is_kept {
            let error = CommandError::new(Kind::Unenforceable, "the action can't run here");
            return Err(error.about(format!("{name}={value}")).cause("endow has no such place"));
        }
    }
    let own = Ids { uid: geteuid().as_raw(), gid: getegid().as_raw() };
    let is_asked = uid.is_some() || gid.is_some();
    Ok(is_asked.then(|| Ids { uid: uid.unwrap_or(own.uid), gid: gid.unwrap_or(own.gid) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(properties: &[(&str, &str)]) -> Result<Option<Ids>, String> {
        let properties: Vec<_> = properties
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        ids(&properties).map_err(|error| error.object.unwrap_or_default())
    }

    #[test]
    fn what_is_here_is_given_and_all_else_refused() {
        let isa = *instruction_sets().last().expect("one");
        let all = [("ISA", isa), ("OSFamily", "Linux"), ("unixGID", "5"), ("unixUID", "0")];
        assert_eq!(asked(&all), Ok(Some(Ids { uid: 0, gid: 5 })));
        assert_eq!(asked(&[("network", "off")]), Ok(None));
        assert_eq!(asked(&[]), Ok(None));
        for other in [
            ("ISA", "sparc"),
            ("ISA", "x86-32"),
            ("OSFamily", "macos"),
            ("unixUID", "me"),
            ("network", "on"),
            ("chrootRootDigest", "x"),
            ("remoteApisSocketPath", "s"),
            ("capability", "x"),
        ] {
            assert_eq!(asked(&[other]), Err(format!("{}={}", other.0, other.1)));
        }
    }
}
