//! Which tests a guest runs. What is left out stands here with its reason.

use crate::test::{END_TO_END, has};

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// What a minute of an emulated machine allows.
    Smoke,
    /// What an emulated machine can do in some minutes.
    Reduced,
    /// Everything that a guest can do.
    Whole,
}

/// Left out of every guest.
const NEVER: &[(&str, &str)] = &[
    ("work::", "other people's builds and agents: what is provisioned is not in the guest"),
    ("trees::oracles", "buildbox-casd and Bazel are not in the guest"),
    ("trees::real", "what is provisioned is not in the guest"),
    ("run_toolchains::", "the toolchain of Rust is not in the guest"),
];

/// Left out where Landlock has no scope of signals.
const BEFORE_6_12: &[(&str, &str)] = &[
    ("in_place::", "level `landlock` is refused before Linux 6.12"),
    ("nothing_is_claimed_where_nobody_can_listen", "is about level `landlock`"),
    ("surroundings::", "is about level `landlock`, too"),
    ("protecting_a_name_of_a_live_mount_needs_a_view", "is about level `landlock`"),
];

/// Left out where instructions are emulated: twenty times slower, what waits for a time fails, and
/// what tries hundreds of things takes hours.
const EMULATED: &[(&str, &str)] = &[
    ("doctor::", "a bound on time"),
    ("in_the_middle_of_a_rename", "is killed at times of an unemulated machine"),
    ("sync_crash", "hundreds of runs"),
    ("sync_races", "hundreds of runs"),
    ("killed::", "hundreds of runs"),
    ("trees::", "thousands of files; unit tests of `vfs` and `plan` cover what is decided"),
    ("plan::", "decides on values and asks no kernel"),
    ("learn::", "starts each run many times"),
    ("awaited::", "waits for times of an unemulated machine"),
    ("lifecycle::chain", "its control finds such a process by chance, in time"),
    ("interactive_shell_inside", "types at times of an unemulated machine"),
    ("single::", "waits for times of an unemulated machine"),
];

/// What the smallest set is.
const SMOKE: &[&str] = &[
    "run_basic::",
    "machines::delegated::",
    "run_limits::no_core",
    "run_cow::",
    "run_groups::",
    "escape::privilege::",
    "escape::descriptors::",
];

/// What is run besides where instructions are emulated: the attacks, and what the kernel does for endow.
const REDUCED: &[&str] = &[
    "attacks::",
    "build_networks::",
    "build_processes::",
    "build_settings::",
    "build_verify::",
    "escape::",
    "in_place::",
    "layers::",
    "run_closed::",
    "run_deny::",
    "run_identity::",
    "run_limits::",
    "run_live_names::",
    "run_mounts::",
    "run_root::",
    "run_signals::",
    "run_terminal::",
    "runners::linux_sandbox::",
];

/// The tests of one call of this task.
pub(super) struct Selection {
    pub(super) scope: Scope,
    /// Parts of names that the user asked for.
    pub(super) filters: Vec<String>,
    /// The kernel that they run on.
    pub(super) kernel: String,
}

impl Selection {
    /// How much that is, for the table.
    pub(super) fn words_of_scope(&self) -> &'static str {
        match (self.scope, self.filters.is_empty()) {
            (_, false) => "some tests",
            (Scope::Smoke, _) => "the smallest set of tests",
            (Scope::Reduced, _) => "the attacks and the tests of layers, as an ordinary user",
            (Scope::Whole, _) => "all tests",
        }
    }

    /// What is run, where that is not all there is.
    pub(super) fn only(&self) -> Option<String> {
        let names: Vec<String> = self.parts()?.iter().map(|part| format!("`{part}`")).collect();
        Some(names.join(", "))
    }

    /// Whether an executable has any.
    pub(super) fn takes(&self, label: &str) -> bool {
        match self.scope {
            Scope::Smoke | Scope::Reduced => label == END_TO_END,
            Scope::Whole => true,
        }
    }

    /// Whether end-to-end tests are run as root too.
    pub(super) fn as_root(&self) -> bool {
        self.scope == Scope::Whole
    }

    /// Whether a test is one of them.
    pub(super) fn wants(&self, name: &str) -> bool {
        let asked = self.asked();
        let is_asked = asked.is_empty() || asked.iter().any(|part| has(name, part));
        is_asked && !self.left_out().iter().any(|(part, _)| has(name, part))
    }

    /// The words that ask for them.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = self.asked();
        for (part, _) in self.left_out() {
            words.extend(["--skip".to_owned(), (*part).to_owned()]);
        }
        words
    }

    /// What is left out, and why.
    pub(super) fn left_out(&self) -> Vec<(&'static str, &'static str)> {
        let emulated = if self.scope == Scope::Whole { &[][..] } else { EMULATED };
        let old = if self.kernel == "6.1" { BEFORE_6_12 } else { &[] };
        let guest = if self.kernel == super::RUNNING { &[] } else { NEVER };
        guest.iter().chain(old).chain(emulated).copied().collect()
    }

    fn asked(&self) -> Vec<String> {
        let parts = self.parts().filter(|_| self.filters.is_empty());
        parts.map_or_else(
            || self.filters.clone(),
            |it| it.iter().map(|it| (*it).to_owned()).collect(),
        )
    }

    fn parts(&self) -> Option<Vec<&'static str>> {
        match self.scope {
            Scope::Smoke => Some(SMOKE.to_vec()),
            Scope::Reduced => Some([SMOKE, REDUCED].concat()),
            Scope::Whole => None,
        }
    }
}
