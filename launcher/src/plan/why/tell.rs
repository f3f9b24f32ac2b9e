//! From a question about a path to an answer in words: who decided, and what would change it.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use endow_policy::{BackendSpec, GuestPath, HostPath, Made, MountClass, Policy, ProtectSet};

use super::Operation;
use super::answer::{Answer, Layer, Verdict};
use super::decide::{Judge, Refusals, Rules};
use super::denied::{deny, undeny};
use super::entry::HostTree;
use super::leads::wanted;
use super::node::{Missing, Node, NodeOrigin};
use super::plain;
use super::protected::{protects, unmade, unprotect};
use super::refusal::Refusal;
use super::view::View;
use super::walk::{Lost, Place, Walk};
use crate::plan::Plan;
use crate::plan::awaited::AwaitedMount;
use crate::plan::host::{HiddenName, HostFacts};
use crate::plan::place::Placed;
use crate::plan::step::ConfineStep;

/// Of what a mount waits for.
const AWAITED: &str =
    "the host has nothing there yet: what the command makes is brought to it at the end";

/// Answers questions about one plan.
pub struct Questions<'a> {
    pub(super) plan: &'a Plan,
    pub(super) policy: &'a Policy,
    pub(super) host: &'a HostFacts,
    pub(super) tree: &'a dyn HostTree,
    pub(super) view: View<'a>,
    rules: Rules,
    protected_links: bool,
    /// The protect patterns, as soon as they are asked for.
    pub(super) protect: OnceCell<BTreeMap<HostPath, ProtectSet>>,
}

/// What came of a question, before it is put into words.
pub(super) struct Outcome {
    pub(super) refusals: Refusals,
    /// The place that decides.
    pub(super) at: GuestPath,
    node: Option<Node>,
    pub(super) why: Option<Missing>,
    unknown: bool,
    /// A part before the last stands in the way.
    lost: bool,
    /// Where the whole path leads then, as far as that can be told.
    pub(super) wanted: Option<GuestPath>,
}

impl<'a> Questions<'a> {
    /// Prepares to answer; `protected_links` is `fs.protected_symlinks` of the kernel.
    pub fn new(
        plan: &'a Plan,
        policy: &'a Policy,
        host: &'a HostFacts,
        tree: &'a dyn HostTree,
        protected_links: bool,
    ) -> Self {
        let view = View::new(plan, &host.user, tree);
        let landlock = plan.confine.iter().find_map(|step| match step {
            ConfineStep::Landlock(landlock) => Some(landlock),
            _ => None,
        });
        let rules = Rules::new(landlock, &view);
        let protect = OnceCell::new();
        Self { plan, policy, host, tree, view, rules, protected_links, protect }
    }

    /// Answers for a path of the view, absolute or from where the command starts.
    pub fn path(&self, path: &Path, operation: Operation) -> Answer {
        if operation == Operation::Connect && self.plan.opening.namespaces.is_none() {
            return plain::no_socket(path);
        }
        if path.as_os_str().is_empty() {
            return plain::no_path(operation);
        }
        let outcome = self.outcome(path, operation);
        let refusal = outcome.refusals.first().map(|(refusal, _)| *refusal);
        let mut layers: Vec<Layer> = outcome.refusals.iter().map(|(_, layer)| *layer).collect();
        layers.sort_unstable();
        layers.dedup();
        let at = outcome.at.as_path();
        Answer {
            subject: path.to_string_lossy().into_owned(),
            operation: Some(operation),
            answer: if outcome.unknown { Verdict::Unknown } else { Verdict::of(refusal) },
            errno: refusal,
            leads_to: (!outcome.lost && at != path).then(|| at.to_string_lossy().into_owned()),
            reason: place(&outcome) + &self.reason(&outcome, operation),
            rule: match self.protecting_unmade(&outcome, operation) {
                Some(rule) => Some(protects(rule)),
                None => self.rule(&outcome),
            },
            layers,
            remedy: self.remedy(&outcome, operation),
        }
    }

    pub(super) fn outcome(&self, path: &Path, operation: Operation) -> Outcome {
        let user = &self.host.user;
        match self.walk(path) {
            Err(lost) => Outcome::lost(*lost),
            Ok(place) => {
                let judge = Judge { view: &self.view, user, rules: &self.rules };
                let refusals = judge.decide(&place, operation);
                Outcome::decided(place, refusals)
            }
        }
    }

    pub(super) fn walk(&self, path: &Path) -> Result<Place, Box<Lost>> {
        let (view, user) = (&self.view, &self.host.user);
        let walk = Walk { view, user, protected_links: self.protected_links };
        walk.resolve(&self.policy.chdir, path)
    }

    pub(super) fn covering(&self, at: &GuestPath) -> Option<&Placed> {
        self.plan.placement.covering(at)
    }

    /// Returns the mount that waits for its source, and to which a place belongs.
    fn awaited(&self, at: &GuestPath) -> Option<&AwaitedMount> {
        self.plan.placement.awaited.iter().find(|it| at.is_within(&it.spec.at))
    }

    /// Who asked for what stands there: the origin chain of the mount, or of the deny rule.
    pub(super) fn rule(&self, outcome: &Outcome) -> Option<String> {
        if outcome.is_hidden() {
            let (pattern, origin) = self.hiding_rule(&outcome.at)?;
            return Some(format!("deny {pattern} ({origin})"));
        }
        if let Some(rule) = self.protecting(outcome) {
            return Some(protects(rule));
        }
        if let Some(awaited) = self.awaited(&outcome.at) {
            return Some(format!("{} ({})", awaited.spec.at, awaited.spec.origin));
        }
        let placed = self.covering(&outcome.at)?;
        let spec = self.policy.mounts.iter().find(|spec| is_of(spec, placed))?;
        let chain = endow_policy::explain(self.policy, &spec.at).map(|cover| cover.chain());
        Some(format!("{} ({})", spec.at, chain.unwrap_or_else(|| spec.origin.to_string())))
    }

    /// Whether a place is hidden because a socket of the host is there.
    fn is_socket(&self, at: &GuestPath) -> bool {
        let name = self.hidden_name(at);
        name.is_some_and(|name| name.socket)
    }

    /// Whether a place is hidden because the walk of names could not look there.
    fn is_unsearched(&self, at: &GuestPath) -> bool {
        let found = || {
            let placed = self.covering(at)?;
            let unsearched = &self.host.hidden.get(&placed.source.as_ref()?.path)?.unreadable;
            let below = at.below(&placed.spec.at)?;
            Some(unsearched.iter().any(|path| below.starts_with(path)))
        };
        found().unwrap_or_default()
    }

    fn hidden_name(&self, at: &GuestPath) -> Option<&HiddenName> {
        let placed = self.covering(at)?;
        let source = placed.source.as_ref()?;
        let below = at.below(&placed.spec.at)?;
        let names = &self.host.hidden.get(&source.path)?.names;
        names.iter().find(|name| below.starts_with(&name.path))
    }

    /// Returns the pattern that hides a place, and who wrote it.
    fn hiding_rule(&self, at: &GuestPath) -> Option<(String, String)> {
        let rule = self.policy.deny.get(self.hidden_name(at)?.rule?)?;
        Some((rule.pattern.clone(), rule.origin.to_string()))
    }

    fn reason(&self, outcome: &Outcome, operation: Operation) -> String {
        let Some((refusal, layer)) = outcome.refusals.first() else {
            return if outcome.unknown {
                "what is there changes from process to process: --verify asks the kernel".to_owned()
            } else {
                let later = (operation == Operation::Write).then(|| self.later(&outcome.at));
                self.shown(&outcome.at) + &later.flatten().unwrap_or_default()
            };
        };
        match (layer, refusal) {
            (Layer::View | Layer::Deny, _) => {
                let later = unmade(outcome, operation).and_then(|at| self.later(at));
                self.why_missing(outcome) + &later.unwrap_or_default()
            }
            (Layer::Permissions, _) => {
                outcome.node.as_ref().map_or_else(String::new, |node| self.bits(node))
            }
            (Layer::Mount, Refusal::ReadOnly) if self.protecting(outcome).is_some() => {
                "it is protected: somebody outside runs it, or is led by it".to_owned()
            }
            (Layer::Mount, Refusal::ReadOnly) => {
                format!("{} is read-only", self.mount_name(&outcome.at))
            }
            (Layer::Mount, _) if operation == Operation::Execute => {
                format!("nothing in {} may be executed", self.mount_name(&outcome.at))
            }
            (Layer::Mount, _) => "devices of this mount can't be opened".to_owned(),
            (Layer::Landlock, _) if self.is_ungranted(outcome) => {
                "the host has it, and no grant opens it".to_owned()
            }
            (Layer::Landlock, _) => "no rule of the Landlock ruleset allows it".to_owned(),
            (_, Refusal::Unheard) if outcome.node.as_ref().is_some_and(Node::is_socket) => {
                "a layer lies before this socket: nobody who listens on it is reached through that"
                    .to_owned()
            }
            (_, refusal) => refusal.words().to_owned(),
        }
    }

    fn shown(&self, at: &GuestPath) -> String {
        if self.awaited(at).is_some() {
            return AWAITED.to_owned();
        }
        let covering = self.covering(at);
        match covering.map(|placed| (&placed.spec.backend, &placed.source)) {
            Some((_, Some(source))) if covering.is_some_and(|it| it.spec.options.discard) => {
                format!(
                    "the view shows {source} there, and drops what is changed",
                    source = source.path
                )
            }
            Some((_, Some(source))) => format!("the view shows {} there", source.path),
            Some((BackendSpec::Git { .. }, _)) => "a git tree, as it was at the start".to_owned(),
            Some((BackendSpec::Cas { .. }, _)) => "a content-addressed tree".to_owned(),
            Some((BackendSpec::Cgroup, _)) => "the control group of the run".to_owned(),
            Some((BackendSpec::Memory { .. }, _)) => "memory of the run's own".to_owned(),
            Some((BackendSpec::Made { made: Made::SshAgent }, _)) => {
                "chosen keys of the ssh-agent are served there".to_owned()
            }
            Some((BackendSpec::Made { made: Made::Bridges }, _)) => {
                "the bridges of this run are served there".to_owned()
            }
            Some((BackendSpec::Private { .. }, _)) => "a private directory of the run".to_owned(),
            _ => "a part of every view".to_owned(),
        }
    }

    fn mount_name(&self, at: &GuestPath) -> String {
        self.covering(at)
            .map_or_else(|| "the root of the view".to_owned(), |it| it.spec.at.to_string())
    }

    fn why_missing(&self, outcome: &Outcome) -> String {
        let text = match outcome.why {
            _ if outcome.is_hidden() && self.is_socket(&outcome.at) => {
                "a process of the host may listen behind this socket"
            }
            _ if outcome.is_hidden() && self.is_unsearched(&outcome.at) => {
                "it lies in a directory that can't be looked through for names to hide: one that can't be \
                 read, or is nested too deep (128 directories, or a path of 3072 bytes)"
            }
            _ if outcome.is_hidden() && self.hiding_rule(&outcome.at).is_none() => {
                "endow's own directories are in no view"
            }
            _ if outcome.is_hidden() => "a deny pattern hides it",
            Some(Missing::NotThere) => "the host has no such name there either",
            Some(Missing::Unreadable(_)) => "the host can't be asked",
            _ if self.awaited(&outcome.at).is_some() => AWAITED,
            _ if self.host_has(&outcome.at) => "the host has it, and no grant shows it",
            _ => "nothing is mounted there",
        };
        text.to_owned()
    }

    fn bits(&self, node: &Node) -> String {
        let entry = &node.entry;
        let owner = if entry.uid == self.host.user.uid {
            String::new()
        } else {
            ", who is nobody inside".to_owned()
        };
        let frozen = if entry.frozen { ", which is immutable" } else { "" };
        let list = if entry.acl.is_empty() { "" } else { " and an access list" };
        let letters = entry.letters();
        format!(
            "{} has the bits {letters}{list}, of user {}{owner}{frozen}; no capability is left inside",
            node.at, entry.uid
        )
    }

    /// Without a view everything is there, and Landlock opens what is granted.
    pub(super) fn is_ungranted(&self, outcome: &Outcome) -> bool {
        self.plan.opening.namespaces.is_none() && self.covering(&outcome.at).is_none()
    }

    pub(super) fn host_has(&self, at: &GuestPath) -> bool {
        self.tree.look(&at.to_host()).is_ok()
    }

    pub(super) fn remedy(&self, outcome: &Outcome, operation: Operation) -> Option<String> {
        if outcome.unknown {
            return None;
        }
        let Some((_, layer)) = outcome.refusals.first() else {
            return self.prevention(outcome, operation);
        };
        match layer {
            Layer::Deny if self.is_socket(&outcome.at) => self.socket(&outcome.at),
            Layer::Deny => self.hiding_rule(&outcome.at).map(|(pattern, _)| undeny(&pattern)),
            Layer::Kind if operation == Operation::Connect => self.deaf(outcome),
            Layer::View => match self.protecting_unmade(outcome, operation) {
                Some(rule) => Some(unprotect(rule)),
                None => self.grant(outcome, operation),
            },
            Layer::Landlock if self.is_ungranted(outcome) => self.grant(outcome, operation),
            Layer::Permissions => {
                outcome.node.as_ref().and_then(|node| self.chmod(node, operation))
            }
            Layer::Mount if operation == Operation::Execute => self.without_noexec(&outcome.at),
            Layer::Mount | Layer::Landlock => match self.protecting(outcome) {
                Some(rule) => Some(unprotect(rule)),
                None => self.writable(outcome, operation),
            },
            _ => None,
        }
    }

    /// A flag that opens a socket which is hidden.
    fn socket(&self, at: &GuestPath) -> Option<String> {
        let host = self.host_path(at)?;
        let at = quoted(at);
        Some(match quoted(&host.to_guest()) {
            host if host == at => format!("--socket {at}"),
            host => format!("--socket {at}={host}"),
        })
    }

    /// Through a layer nobody is reached who listens on a socket of the host.
    fn deaf(&self, outcome: &Outcome) -> Option<String> {
        outcome.node.as_ref().filter(|node| node.is_socket())?;
        self.socket(&outcome.at)
    }

    /// What belongs to somebody else the user can't change, and should not.
    /// Whether the host's permissions refuse it as well, to this user for good.
    fn is_of_others(&self, outcome: &Outcome) -> bool {
        let is_refused = outcome.refusals.iter().any(|(_, layer)| *layer == Layer::Permissions);
        let owner = outcome.node.as_ref().map(|node| node.entry.uid);
        is_refused && owner.is_some_and(|owner| owner != self.host.user.uid)
    }

    fn chmod(&self, node: &Node, operation: Operation) -> Option<String> {
        let host = self.host_path(&node.at)?;
        if node.entry.uid != self.host.user.uid {
            return None;
        }
        let right = match operation {
            Operation::Read => "r",
            Operation::Write | Operation::Connect => "w",
            Operation::Execute => "x",
        };
        Some(format!("chmod u+{right} {}", quoted(&host.to_guest())))
    }

    pub(super) fn host_path(&self, at: &GuestPath) -> Option<HostPath> {
        let placed = self.covering(at)?;
        placed.host_path(at)
    }

    fn without_noexec(&self, at: &GuestPath) -> Option<String> {
        let spec = &self.covering(at)?.spec;
        spec.options.noexec.then(|| format!("leave out `noexec` in {}", spec.origin))
    }

    /// A flag that makes the mount writable, unless the host's own is not.
    fn writable(&self, outcome: &Outcome, operation: Operation) -> Option<String> {
        if operation != Operation::Write || self.is_of_others(outcome) {
            return None;
        }
        let Some(placed) = self.covering(&outcome.at) else {
            return self.is_free(&outcome.at).then(|| format!("--tmp {}", quoted(&outcome.at)));
        };
        let spec = &placed.spec;
        match (&spec.backend, &placed.source) {
            (BackendSpec::Physical { .. }, _) if spec.class == MountClass::Workspace => {
                Some("--workspace rw".to_owned())
            }
            (BackendSpec::Physical { .. }, Some(source))
                if source.path.as_path() == spec.at.as_path() =>
            {
                Some(format!("--rw {}", quoted(&spec.at)))
            }
            (BackendSpec::Physical { .. }, Some(source)) => {
                Some(format!("--rw {}={}", quoted(&spec.at), quoted(&source.path.to_guest())))
            }
            _ => None,
        }
    }

    /// Whether memory can be mounted there and hides nothing. Only a tree can stand at the root.
    fn is_free(&self, at: &GuestPath) -> bool {
        let mut places = self.plan.placement.mounts.iter().map(|placed| &placed.spec.at);
        let is_of_view = ["/dev", "/proc"].iter().any(|it| at.as_path().starts_with(it));
        !at.is_root() && !is_of_view && !places.any(|place| place.is_within(at))
    }

    /// What would forbid something that is allowed.
    fn prevention(&self, outcome: &Outcome, operation: Operation) -> Option<String> {
        let placed = self.covering(&outcome.at)?;
        let spec = &placed.spec;
        placed.source.as_ref()?;
        let below = outcome.at.below(&spec.at)?;
        match operation {
            Operation::Write if spec.class == MountClass::Workspace => {
                Some("--workspace ro".to_owned())
            }
            Operation::Write => Some(format!("`ro` instead of `rw` in {}", spec.origin)),
            _ if spec.class == MountClass::System || below.as_os_str().is_empty() => {
                Some(format!("{:?} = false under [mounts] of a policy file", spec.at.to_string()))
            }
            _ => deny(below),
        }
    }
}

impl Outcome {
    fn lost(lost: Lost) -> Self {
        let layer = match (&lost.why, lost.refusal) {
            (Some(Missing::Hidden), _) => Layer::Deny,
            (Some(_), _) => Layer::View,
            (None, Some(Refusal::Denied)) => Layer::Permissions,
            (None, _) => Layer::Kind,
        };
        let covered = lost.node.as_ref().is_some_and(|node| node.origin == NodeOrigin::Cover);
        let layer = if covered { Layer::Deny } else { layer };
        let refusals: Refusals = lost.refusal.map(|refusal| (refusal, layer)).into_iter().collect();
        let (unknown, wanted) = (refusals.is_empty(), wanted(&lost));
        Self { refusals, at: lost.at, node: lost.node, why: lost.why, unknown, lost: true, wanted }
    }

    fn decided(place: Place, refusals: Refusals) -> Self {
        match place {
            Place::Found(node) => Self {
                refusals,
                at: node.at.clone(),
                node: Some(node),
                why: None,
                unknown: false,
                lost: false,
                wanted: None,
            },
            Place::Vacant { parent, at, why, .. } => Self {
                refusals,
                at,
                node: Some(parent),
                why: Some(why),
                unknown: false,
                lost: false,
                wanted: None,
            },
        }
    }

    fn is_hidden(&self) -> bool {
        self.refusals.first().is_some_and(|(_, layer)| *layer == Layer::Deny)
    }
}

/// Names the part of the path that stands in the way.
fn place(outcome: &Outcome) -> String {
    if outcome.lost { format!("{}: ", outcome.at) } else { String::new() }
}

fn is_of(spec: &endow_policy::MountSpec, placed: &Placed) -> bool {
    spec.origin == placed.spec.origin && spec.backend == placed.spec.backend
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &GuestPath) -> String {
    shell_word(&path.to_string())
}

/// Returns a word as a shell reads it back (sh(1)).
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%,:".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
