//! What was refused to a process of a run, or absent for it, and is there outside: judged from the plan
//! like a question of `endow why`.

use core::net::{IpAddr, SocketAddr};
use std::ffi::OsString;
use std::path::Path;

use endow_policy::{GuestPath, HostPath, Nearby, NetworkMode, Policy};
use serde::{Deserialize, Serialize};

use super::Operation;
use super::answer::{Answer, Layer, Verdict};
use super::network::{connection, mode_of_own_loopback};
use super::node::Missing;
use super::protected::{protects, unprotect};
use super::refusal::Refusal;
use super::tell::{Outcome, Questions, quoted};
use crate::plan::Plan;
use crate::plan::network::{SYNTHETIC_4, SYNTHETIC_6};
use crate::plan::seccomp::{Call, SeccompPlan};

/// The port at which names are asked for.
const DNS: u16 = 53;

/// What a process wants of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Need {
    /// That it is there.
    Presence,
    /// To read or list it.
    Read,
    /// To write it or make it.
    Write,
    /// To change what stands there, which does not make it.
    Change,
    /// To remove its name.
    Remove,
    /// To execute it.
    Execute,
    /// To connect to a socket there.
    Connect,
}

impl Need {
    /// Returns the operation that needs it.
    pub fn operation(self) -> Operation {
        match self {
            Self::Presence | Self::Read => Operation::Read,
            Self::Write | Self::Change | Self::Remove => Operation::Write,
            Self::Execute => Operation::Execute,
            Self::Connect => Operation::Connect,
        }
    }
}

/// What was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// A path of the view.
    Path(OsString),
    /// An address or name, and a port.
    Host(String),
    /// An abstract Unix socket, `@` before its name.
    Socket(String),
    /// A system call.
    Call(String),
}

/// What would allow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remedy {
    /// The flag, policy line or command.
    pub text: String,
    /// It has a path of the host in it that the view has not.
    pub names_host: bool,
}

/// A refusal that the plan explains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// What was refused.
    pub subject: Subject,
    /// What was to be done with it; `None` for a system call.
    pub operation: Option<Operation>,
    /// The layer that refuses it first.
    pub layer: Layer,
    /// Who asked for that.
    pub rule: Option<String>,
    /// What would change it.
    pub remedy: Option<Remedy>,
}

impl Denial {
    /// Explains the refusal of a call by its number.
    pub fn of_call(filter: &SeccompPlan, number: u32) -> Self {
        let call = Call::numbered(number, filter.arch);
        let group = call.map(|call| call.group);
        let word = group.and_then(|group| group.rule().lift).map(|lift| lift.word);
        let word = word.filter(|word| !filter.lifted.contains(word));
        Self {
            subject: Subject::Call(
                call.map_or_else(|| number.to_string(), |it| it.name.to_owned()),
            ),
            operation: None,
            layer: Layer::Seccomp,
            rule: group.map(|group| format!("group {}", group.name())),
            remedy: word.map(|word| Remedy::plain(format!("--allow {}", word.word()))),
        }
    }

    /// Explains why an address can't be reached; `None` when it can, or when another than the kernel
    /// tells: addresses that stand for names lead to endow's own listeners.
    pub fn of_address(plan: &Plan, policy: &Policy, to: SocketAddr) -> Option<Self> {
        let network = plan.supervise.network.as_ref().unwrap_or(&policy.network);
        let is_apart = network.mode == NetworkMode::None;
        let address = to.ip().to_canonical();
        if to.port() == 0 || address.is_unspecified() || is_synthetic(address) {
            return None;
        }
        let answer =
            connection(plan, policy, (&address.to_string(), to.port()), &Nearby::default());
        if is_apart && to.port() == DNS && plan.opening.namespaces.is_some() {
            let remedy = "--net HOST, for each host whose name is asked for".to_owned();
            return Some(Self::of_host(to, answer, remedy));
        }
        let remedy = answer.remedy.clone().filter(|_| answer.answer == Verdict::Denied)?;
        Some(Self::of_host(to, answer, remedy))
    }

    /// Explains why what listens at the host's loopback is not there inside; `None` when it is, or
    /// when no loopback is.
    pub fn of_loopback(plan: &Plan, policy: &Policy, to: SocketAddr) -> Option<Self> {
        let mode = mode_of_own_loopback(plan, policy, to.port())?;
        Some(Self {
            subject: Subject::Host(to.to_string()),
            operation: Some(Operation::Connect),
            layer: Layer::Network,
            rule: Some(format!("network = {}", mode.word())),
            remedy: Some(Remedy::plain(format!("--net localhost:{}", to.port()))),
        })
    }

    /// Explains why an abstract Unix socket of the host, as its name is written, is not there inside:
    /// it belongs to a network. `file` is a socket outside that has the name for its path.
    pub fn of_abstract(plan: &Plan, written: String, file: Option<&GuestPath>) -> Self {
        let mode = plan.supervise.network.as_ref().map_or(NetworkMode::None, |it| it.mode);
        Self {
            subject: Subject::Socket(written),
            operation: Some(Operation::Connect),
            layer: Layer::Network,
            rule: Some(format!("network = {}", mode.word())),
            remedy: file.map(|path| Remedy::plain(format!("--socket {}", quoted(path)))),
        }
    }

    fn of_host(to: SocketAddr, answer: Answer, remedy: String) -> Self {
        Self {
            subject: Subject::Host(to.to_string()),
            operation: Some(Operation::Connect),
            layer: answer.layers.first().copied().unwrap_or(Layer::Network),
            rule: answer.rule,
            remedy: Some(Remedy::plain(remedy)),
        }
    }
}

impl Remedy {
    /// Returns a remedy that has no path in it.
    pub fn plain(text: String) -> Self {
        Self { text, names_host: false }
    }
}

fn is_synthetic(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let (range, prefix) = SYNTHETIC_4;
            (address.to_bits() ^ range.to_bits()) >> (32 - u32::from(prefix)) == 0
        }
        IpAddr::V6(address) => {
            let (range, prefix) = SYNTHETIC_6;
            (address.to_bits() ^ range.to_bits()) >> (128 - u32::from(prefix)) == 0
        }
    }
}

/// The view has terminals of its own, and the caller's by the rule for standard streams.
fn is_terminal(path: &Path) -> bool {
    ["/dev/pts", "/dev/console", "/dev/tty"].iter().any(|own| path.starts_with(own))
}

impl Questions<'_> {
    /// Explains why a path can't be used so; `None` when it can, or could not be outside either.
    /// `is_there` tells whether the view has it by now: processes of the run may have made it.
    pub fn denial(&self, path: &Path, need: Need, is_there: bool) -> Option<Denial> {
        let operation = need.operation();
        let mut outcome = self.outcome(path, operation);
        if matches!(need, Need::Change | Need::Remove) && outcome.refusals.is_empty() {
            let held = self.held_by_mount(path, &outcome).filter(|_| need == Need::Remove);
            if held.is_some() {
                return held;
            }
            // One could be made there, but what is to be there is not.
            outcome = self.outcome(path, Operation::Read);
            outcome.refusals.retain(|(refusal, _)| *refusal == Refusal::Absent);
        }
        let (refusal, layer) = *outcome.refusals.first().filter(|_| !is_terminal(path))?;
        let is_withheld = match layer {
            Layer::View => !is_there && self.is_outside(path, &outcome),
            Layer::Deny if refusal == Refusal::Absent => !is_there,
            Layer::Deny | Layer::Mount | Layer::Landlock | Layer::Permissions => {
                need != Need::Presence
            }
            Layer::Kind | Layer::Network | Layer::Seccomp => false,
        };
        if !is_withheld || self.is_refused_outside(&outcome) {
            return None;
        }
        let rule = self.rule(&outcome);
        let remedy = self.remedy_for(path, need, &outcome);
        let subject = Subject::Path(path.as_os_str().to_owned());
        Some(Denial { subject, operation: Some(operation), layer, rule, remedy })
    }

    /// A name at which a mount stands can be written, and not removed (unlink(2): EBUSY).
    fn held_by_mount(&self, path: &Path, outcome: &Outcome) -> Option<Denial> {
        let protected = self.protected(&outcome.at);
        self.view.is_mount_point(&outcome.at).then(|| Denial {
            subject: Subject::Path(path.as_os_str().to_owned()),
            operation: Some(Operation::Write),
            layer: Layer::Mount,
            rule: protected.map(protects).or_else(|| self.rule(outcome)),
            remedy: protected.map(|rule| Remedy::plain(unprotect(rule))),
        })
    }

    /// Permission bits hold outside as well, but for root, which has no capability inside.
    fn is_refused_outside(&self, outcome: &Outcome) -> bool {
        let mut layers = outcome.refusals.iter().map(|(_, layer)| *layer);
        self.host.user.uid != 0 && layers.any(|layer| layer == Layer::Permissions)
    }

    /// Returns whether the host has something at a path.
    pub fn is_there_outside(&self, path: &Path) -> bool {
        HostPath::new(path).is_ok_and(|host| self.tree.look(&host).is_ok())
    }

    fn is_outside(&self, path: &Path, outcome: &Outcome) -> bool {
        let is_shown = matches!(
            outcome.why,
            Some(Missing::NotThere | Missing::Unreadable(_) | Missing::Unknown)
        );
        !is_shown && self.is_there_outside(path)
    }

    /// The least that would help: the very path where a directory above is missing.
    fn remedy_for(&self, path: &Path, need: Need, outcome: &Outcome) -> Option<Remedy> {
        let is_absent = outcome.refusals.first().is_some_and(|(_, layer)| *layer == Layer::View);
        if is_absent {
            let flag = match need {
                Need::Write | Need::Change | Need::Remove => "--rw",
                Need::Connect => "--socket",
                Need::Presence | Need::Read | Need::Execute => "--ro",
            };
            let path = GuestPath::new(path).ok()?;
            return Some(Remedy::plain(format!("{flag} {}", quoted(&path))));
        }
        let text = self.remedy(outcome, need.operation())?;
        let host =
            self.host_path(&outcome.at).filter(|host| host.as_path() != outcome.at.as_path());
        let names_host = host.is_some_and(|_| text.contains('='));
        let names_host = names_host || text.starts_with("chmod");
        Some(Remedy { text, names_host })
    }
}
