//! What every process of a sandbox is, whatever the policy says.

use std::collections::BTreeMap;

use endow_policy::{Level, Verdict};

use super::{Check, Known, Trial, Tried};

/// What a process saw of itself: names as in `/proc/self/status`, and `Landlock`, its rulesets.
pub type Seen = BTreeMap<String, String>;

/// Reads what a process said of itself, one `name value` a line.
pub fn seen(report: &str) -> Seen {
    let pairs = report.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Something that a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// It holds no capability, and can get none.
    NoCapabilities,
    /// No program that it starts gains privileges.
    NoNewPrivileges,
    /// A filter of system calls holds.
    Filtered,
    /// A Landlock ruleset holds.
    Landlocked,
    /// Its process numbers are not the host's.
    OwnNumbers,
}

/// What no capability looks like.
const NONE: &str = "0000000000000000";

impl Trait {
    /// Returns what it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoCapabilities => "no capabilities",
            Self::NoNewPrivileges => "no new privileges",
            Self::Filtered => "system call filter",
            Self::Landlocked => "landlock ruleset",
            Self::OwnNumbers => "process numbers of its own",
        }
    }

    /// Returns what is wrong without it.
    pub const fn wrong(self) -> &'static str {
        match self {
            Self::NoCapabilities => "capabilities are left",
            Self::NoNewPrivileges => "programs may gain privileges",
            Self::Filtered => "no system call filter holds",
            Self::Landlocked => "no Landlock ruleset holds",
            Self::OwnNumbers => "the process numbers are the host's",
        }
    }

    /// Returns whether a process that saw this of itself is so.
    pub fn holds(self, seen: &Seen, level: Level) -> bool {
        let is = |name: &str, value: &str| seen.get(name).is_some_and(|it| it == value);
        match self {
            // At level `landlock` nobody's status can be read.
            Self::NoCapabilities => {
                let bounded = level == Level::Landlock || is("CapBnd", NONE);
                bounded && is("CapEff", NONE) && is("CapPrm", NONE)
            }
            Self::NoNewPrivileges => is("NoNewPrivs", "1"),
            Self::Filtered => is("Seccomp", "2"),
            Self::Landlocked => seen.get("Landlock").is_some_and(|layers| layers != "0"),
            Self::OwnNumbers => {
                let numbers = seen.get("NSpid").map(|numbers| numbers.split_whitespace());
                numbers.and_then(Iterator::last) == Some("2")
            }
        }
    }
}

/// Returns what a process is at a level, as far as it can tell.
pub fn traits(level: Level) -> Vec<Trait> {
    let mut all = vec![Trait::NoCapabilities, Trait::NoNewPrivileges, Trait::Filtered];
    if level != Level::Landlock {
        all.push(Trait::OwnNumbers);
    }
    if level != Level::Namespaces {
        all.push(Trait::Landlocked);
    }
    all
}

pub(super) fn checks(known: &Known<'_>) -> Vec<Check> {
    let level = known.plan.enforcement.level;
    let rule = format!("level {}", level.word());
    let trials = traits(level).into_iter();
    let trials = trials.map(|it| Trial { tried: Tried::Trait(it), shall: Verdict::Allowed });
    vec![Check::new(rule, trials.collect())]
}
