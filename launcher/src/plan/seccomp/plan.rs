//! The decided filter of a run.

use std::collections::{BTreeMap, BTreeSet};

use endow_policy::AllowWord;
use serde::{Serialize, Serializer};

use super::action::{Action, Errno};
use super::arch::Arch;
use super::check::Check;
use super::compat;
use super::group::{Applies, Group};
use super::leaf::Leaf;
use super::observe::Observe;
use super::shared::Shared;
use super::table::{CALLS, Call};

/// What the filter of a run depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one fact that a group depends on")]
pub struct SeccompInput<'a> {
    /// The architecture of the kernel.
    pub arch: Arch,
    /// The words of `--allow`.
    pub allow: &'a BTreeSet<AllowWord>,
    /// Landlock keeps signals inside (`LANDLOCK_SCOPE_SIGNAL`).
    pub signal_scoped: bool,
    /// Landlock rules which TCP ports may be used.
    pub tcp_ports_ruled: bool,
    /// What the supervisor sees.
    pub observe: Observe,
    /// The supervisor serves addresses of the network when somebody connects to them.
    pub on_demand: bool,
    /// The supervisor prepares directories of copy-on-write mounts for being renamed.
    pub buffered: bool,
    /// Who may put a process group in the foreground of the terminal.
    pub foreground: Foreground,
    /// What the run shares with the host for want of namespaces.
    pub shared: Shared,
}

/// Who may put a process group in the foreground of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreground {
    /// Nobody: a standard stream is a pipe, so that others may be in the caller's process group.
    Refused,
    /// The command, and for the caller's group the supervisor does.
    Announced,
    /// The command, as far as the kernel lets it.
    Free,
}

/// The decided filter of a run.
///
/// The decision is by group; [`SeccompPlan::leaf`] gives it by number. A number that no call of
/// the table has is answered with [`SeccompPlan::UNKNOWN`]. What is observed changes no decision: the
/// filter then leaves it to the supervisor to give the errors that were decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeccompPlan {
    /// The architecture the numbers are of.
    pub arch: Arch,
    /// The words that were given.
    pub lifted: BTreeSet<AllowWord>,
    /// What happens to calls of this machine's 32-bit programs.
    pub foreign: Foreign,
    /// What the supervisor sees.
    #[serde(skip_serializing_if = "Observe::is_nothing")]
    pub observe: Observe,
    /// What happens to each group; those that are simply allowed are not printed.
    #[serde(serialize_with = "restricted_groups")]
    groups: BTreeMap<Group, Leaf>,
}

/// What happens to calls of this machine's 32-bit programs; those of all others are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Foreign {
    /// They kill the process.
    Killed,
    /// They pass, except for the restricted groups, which are ruled as for native calls. i386's
    /// `socketcall` passes whatever it asks for: its arguments are in memory.
    Filtered,
}

/// Decides the filter of a run.
pub fn plan(input: &SeccompInput<'_>) -> SeccompPlan {
    let foreign = if input.allow.contains(&AllowWord::ForeignArch) {
        Foreign::Filtered
    } else {
        Foreign::Killed
    };
    let groups = Group::ALL.iter().map(|group| (*group, decide(*group, input))).collect();
    let (arch, lifted, observe) = (input.arch, input.allow.clone(), input.observe);
    SeccompPlan { arch, lifted, foreign, observe, groups }
}

impl SeccompPlan {
    /// What happens to calls that the table doesn't know: what an older kernel would answer.
    pub const UNKNOWN: Leaf = Leaf::Do(Action::Errno(Errno::ENOSYS));

    /// Returns what happens to a group.
    pub fn group(&self, group: Group) -> Leaf {
        self.groups.get(&group).copied().unwrap_or(Self::UNKNOWN)
    }

    /// Returns what happens to the call with this number.
    pub fn leaf(&self, number: u32) -> Leaf {
        if self.arch.is_x32(number) {
            return Leaf::Do(Action::Kill);
        }
        Call::numbered(number, self.arch).map_or(Self::UNKNOWN, |call| self.group(call.group))
    }

    /// Decides about a call as the kernel shows it: the architecture of its caller, its number and
    /// its arguments.
    pub fn decide(&self, audit: u32, number: u32, args: [u64; 6]) -> Action {
        if audit == self.arch.audit() {
            return self.leaf(number).decide(args);
        }
        let leaves = self.compat_leaves().filter(|_| audit == self.arch.audit_32bit());
        let Some(leaves) = leaves else { return Action::Kill };
        leaves.get(&number).copied().unwrap_or(Self::UNKNOWN).decide(args)
    }

    /// Returns what group a call is in that the filter announces, be it of a 32-bit program.
    pub fn group_of(&self, audit: u32, number: u32) -> Option<Group> {
        if audit == self.arch.audit() {
            return Call::numbered(number, self.arch).map(|call| call.group);
        }
        let mut compat = compat::restricted(self.arch).filter(|_| audit == self.arch.audit_32bit());
        compat.find(|(known, _)| *known == number).map(|(_, group)| group)
    }

    /// Returns what the filter does with each known number.
    pub fn leaves(&self) -> BTreeMap<u32, Leaf> {
        let leaf = |call: &Call| Some((call.number(self.arch)?, self.installed(call.group)));
        CALLS.iter().filter_map(leaf).collect()
    }

    pub(super) fn installed(&self, group: Group) -> Leaf {
        self.observe.installed(group, self.group(group))
    }

    /// Returns the same filter for a host where nobody can listen.
    #[must_use]
    pub fn unobserved(&self) -> Self {
        let mut plain = Self { observe: Observe::Nothing, ..self.clone() };
        let control = plain.groups.get_mut(&Group::DeviceControl);
        if let Some(leaf @ Leaf::Check(Check::RequestsAtTerminal)) = control {
            *leaf = Leaf::Check(Check::Requests);
        }
        plain
    }

    /// Returns what the filter does with the calls of 32-bit programs, unless all kill. Nothing of
    /// theirs is observed.
    pub fn compat_leaves(&self) -> Option<BTreeMap<u32, Leaf>> {
        if self.foreign == Foreign::Killed {
            return None;
        }
        let mut leaves: BTreeMap<_, _> =
            compat::passing().map(|number| (number, Leaf::ALLOW)).collect();
        let (restricted, plain) = (compat::restricted(self.arch), self.unobserved());
        leaves.extend(restricted.map(|(number, group)| (number, plain.group(group))));
        Some(leaves)
    }

    /// Tells whether the filter has a listener.
    pub fn notifies(&self) -> bool {
        self.groups.keys().any(|group| self.installed(*group).notifies())
    }
}

fn decide(group: Group, input: &SeccompInput<'_>) -> Leaf {
    input.shared.leaf(group).unwrap_or_else(|| decide_apart(group, input))
}

/// Decides for a run whose namespaces keep apart what they are about.
fn decide_apart(group: Group, input: &SeccompInput<'_>) -> Leaf {
    let rule = group.rule();
    let lift = rule.lift.filter(|lift| input.allow.contains(&lift.word));
    match (lift, rule.applies) {
        (Some(lift), _) => lift.leaf,
        (None, Applies::StricterWithTcpRules(leaf)) if input.tcp_ports_ruled => leaf,
        (None, Applies::ByForeground { refused, announced }) => match input.foreground {
            Foreground::Refused => refused,
            Foreground::Announced => announced,
            Foreground::Free => rule.default,
        },
        (None, applied) if applies(applied, input) => rule.default,
        (None, _) => Leaf::ALLOW,
    }
}

fn applies(applies: Applies, input: &SeccompInput<'_>) -> bool {
    match applies {
        Applies::Always | Applies::StricterWithTcpRules(_) | Applies::ByForeground { .. } => true,
        Applies::WithoutSignalScope => !input.signal_scoped,
        Applies::WithTcpRules => input.tcp_ports_ruled,
        Applies::WhenObserved | Applies::WhenExplained => false,
        Applies::WhenConnecting => input.on_demand,
        Applies::WhenBuffered => input.buffered,
    }
}

fn restricted_groups<S: Serializer>(
    groups: &BTreeMap<Group, Leaf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(groups.iter().filter(|(_, leaf)| **leaf != Leaf::ALLOW))
}
