//! Whether an operation on what a path leads to works: every layer that refuses it, in the order
//! in which the kernel asks them.

use endow_policy::GuestPath;

use super::Operation;
use super::answer::Layer;
use super::entry::{EntryKind, Readonly};
use super::node::{Identity, Missing, Node, NodeOrigin};
use super::refusal::Refusal;
use super::rights::{self, EXECUTE, READ, WRITE};
use super::view::View;
use super::walk::Place;
use crate::plan::host::UserFacts;
use crate::plan::landlock::{LandlockPlan, Rights};

/// The right to make a regular file.
const MAKE_FILE: Rights = Rights(1 << 8);

/// What an operation meets, in the kernel's order: the first is its error.
pub(super) type Refusals = Vec<(Refusal, Layer)>;

/// Who asks, and what rules.
pub(super) struct Judge<'v, 'a> {
    pub(super) view: &'v View<'a>,
    pub(super) user: &'v UserFacts,
    pub(super) rules: &'v Rules,
}

impl Judge<'_, '_> {
    /// Decides about what a path leads to.
    pub(super) fn decide(&self, place: &Place, operation: Operation) -> Refusals {
        match (place, operation) {
            (Place::Found(node), Operation::Read) => self.read(node),
            (Place::Found(node), Operation::Write) if node.entry.is_directory() => {
                self.make_in(node, self.behind(node, EXECUTE))
            }
            (Place::Found(node), Operation::Write) => self.write(node),
            (Place::Found(node), Operation::Execute) => self.execute(node),
            (Place::Found(node), Operation::Connect) => self.connect(node),
            (Place::Vacant { slash: false, parent, .. }, Operation::Write) => {
                // Whether the name can be looked up behind a mask was asked on the way.
                self.make_in(parent, None)
            }
            (Place::Vacant { at, why, .. }, operation) => self.vacant(at, why, operation),
        }
    }

    fn read(&self, node: &Node) -> Refusals {
        let directory = node.entry.is_directory();
        let needed = if directory { Rights::READ_DIR } else { Rights::READ_FILE };
        let is_socket = matches!(node.entry.kind, EntryKind::Socket { .. });
        refusals([
            device(node),
            self.bits(node, READ),
            self.ruled(&node.at, needed),
            is_socket.then_some((Refusal::NoDevice, Layer::Kind)),
            self.behind(node, READ),
        ])
    }

    /// What a mask stands before is looked at with the rights of pid 1, and opened for reading
    /// whatever it is for.
    fn behind(&self, node: &Node, wanted: u32) -> Option<(Refusal, Layer)> {
        let real = node.behind.as_ref()?;
        let opened = rights::permits_mounter(real, self.user, wanted);
        (!opened).then_some((Refusal::Denied, Layer::Permissions))
    }

    fn write(&self, node: &Node) -> Refusals {
        let entry = &node.entry;
        let is_file = entry.kind == EntryKind::File;
        let is_socket = matches!(entry.kind, EntryKind::Socket { .. });
        let readonly = |level: Readonly| {
            (is_file && entry.readonly == level).then_some((Refusal::ReadOnly, Layer::Mount))
        };
        refusals([
            device(node),
            readonly(Readonly::FileSystem),
            entry.frozen.then_some((Refusal::Unpermitted, Layer::Permissions)),
            self.bits(node, WRITE),
            readonly(Readonly::Mount),
            self.ruled(&node.at, Rights::WRITE_FILE),
            is_socket.then_some((Refusal::NoDevice, Layer::Kind)),
        ])
    }

    /// Making a file: a read-only mount is asked before the directory's bits.
    fn make_in(&self, directory: &Node, opened: Option<(Refusal, Layer)>) -> Refusals {
        let entry = &directory.entry;
        if !entry.is_directory() {
            return vec![(Refusal::NotDirectory, Layer::Kind)];
        }
        let readonly = entry.readonly != Readonly::No;
        refusals([
            self.bits(directory, EXECUTE),
            opened,
            readonly.then_some((Refusal::ReadOnly, Layer::Mount)),
            self.ruled(&directory.at, MAKE_FILE.and(Rights::WRITE_FILE)),
            entry.frozen.then_some((Refusal::Unpermitted, Layer::Permissions)),
            self.bits(directory, WRITE),
        ])
    }

    fn execute(&self, node: &Node) -> Refusals {
        if node.entry.is_directory() {
            return refusals([self.bits(node, EXECUTE)]);
        }
        let other = node.entry.kind != EntryKind::File;
        refusals([
            other.then_some((Refusal::Denied, Layer::Kind)),
            node.entry.noexec.then_some((Refusal::Denied, Layer::Mount)),
            self.bits(node, EXECUTE),
            self.ruled(&node.at, Rights::EXECUTE),
            self.behind(node, READ),
        ])
    }

    /// Landlock has no right for sockets with a name up to ABI 7.
    fn connect(&self, node: &Node) -> Refusals {
        let entry = &node.entry;
        let is_tree = entry.is_directory() || entry.kind == EntryKind::File;
        let readonly = is_tree && entry.readonly == Readonly::FileSystem;
        let deaf = entry.kind != EntryKind::Socket { reachable: true };
        refusals([
            readonly.then_some((Refusal::ReadOnly, Layer::Mount)),
            entry.frozen.then_some((Refusal::Unpermitted, Layer::Permissions)),
            self.bits(node, WRITE),
            deaf.then_some((Refusal::Unheard, Layer::Kind)),
        ])
    }

    /// Nothing is there; where a rule would refuse it as well, both layers keep it.
    fn vacant(&self, at: &GuestPath, why: &Missing, operation: Operation) -> Refusals {
        let layer = if *why == Missing::Hidden { Layer::Deny } else { Layer::View };
        let needed = match operation {
            Operation::Read => Rights::READ_FILE,
            Operation::Write => Rights::WRITE_FILE,
            Operation::Execute => Rights::EXECUTE,
            Operation::Connect => Rights(0),
        };
        let parent = at.parent().unwrap_or_else(GuestPath::root);
        refusals([Some((Refusal::Absent, layer)), self.ruled(&parent, needed)])
    }

    fn bits(&self, node: &Node, wanted: u32) -> Option<(Refusal, Layer)> {
        let covered = node.origin == NodeOrigin::Cover;
        let layer = if covered { Layer::Deny } else { Layer::Permissions };
        let permitted = !covered && rights::permits(&node.entry, self.user, wanted);
        (!permitted).then_some((Refusal::Denied, layer))
    }

    fn ruled(&self, at: &GuestPath, needed: Rights) -> Option<(Refusal, Layer)> {
        let needed = needed.within(self.rules.handled);
        let allowed = self.rules.allowed(at, self.view);
        (!allowed.contains(needed)).then_some((Refusal::Denied, Layer::Landlock))
    }
}

fn refusals<const N: usize>(all: [Option<(Refusal, Layer)>; N]) -> Refusals {
    all.into_iter().flatten().collect()
}

fn device(node: &Node) -> Option<(Refusal, Layer)> {
    let closed = node.entry.kind == EntryKind::Device && node.entry.nodev;
    closed.then_some((Refusal::Denied, Layer::Mount))
}

/// Landlock's rules, by the files that they are tied to.
pub(super) struct Rules {
    handled: Rights,
    by_file: Vec<(Identity, Rights)>,
}

impl Rules {
    /// Finds the file behind each rule, as the kernel does when the rule is made.
    pub(super) fn new(plan: Option<&LandlockPlan>, view: &View<'_>) -> Self {
        let Some(plan) = plan else { return Self { handled: Rights(0), by_file: Vec::new() } };
        let file = |at: &GuestPath| view.look(at).ok().map(|node| node.identity);
        let rules = plan.rules.iter();
        let by_file = rules.filter_map(|rule| Some((file(&rule.at)?, rule.rights))).collect();
        Self { handled: plan.handled, by_file }
    }

    /// Returns what the rules at `at` and above it allow together.
    fn allowed(&self, at: &GuestPath, view: &View<'_>) -> Rights {
        let above = std::iter::successors(Some(at.clone()), GuestPath::parent);
        let files = above.filter_map(|at| view.look(&at).ok());
        files.fold(Rights(0), |allowed, node| allowed.and(self.of(&node.identity)))
    }

    fn of(&self, file: &Identity) -> Rights {
        let own = self.by_file.iter().filter(|(of, _)| of == file);
        own.fold(Rights(0), |allowed, (_, rights)| allowed.and(*rights))
    }
}
