//! The network: what no rule allows can't be reached. Nobody outside is contacted for it: a port of the
//! host's own loopback is tried.

use endow_policy::{NetworkMode, Protocol, Verdict};

use super::{Check, Known, Trial, Tried};
use crate::plan::why;

const LOOPBACK: &str = "127.0.0.1";

pub(super) fn checks(known: &Known<'_>) -> Vec<Check> {
    let network = known.plan.supervise.network.as_ref().unwrap_or(&known.policy.network);
    let rule = format!("network = {}", network.mode.word());
    let contacts = "it would be contacted: `[[expect]] connect = \"HOST:PORT\"` asks for that";
    let allowed = network.allow.iter().map(|rule| {
        Check::untried(format!("network allow {} ({})", rule.value, rule.origin), contacts)
    });
    let is_open = |port| why::hosts_loopback(network, Protocol::Tcp, port).is_some();
    let closed = match known.listening {
        _ if network.mode == NetworkMode::Host => {
            Check::untried(rule, "nothing of the host's network is kept away")
        }
        None => Check::untried(rule, "nothing could listen at the host's loopback"),
        Some(port) if is_open(port) => {
            Check::untried(rule, "every port of the loopback is allowed")
        }
        Some(port) => {
            let tried = Tried::Server(LOOPBACK.to_owned(), port);
            Check::new(rule, vec![Trial { tried, shall: Verdict::Denied }])
        }
    };
    std::iter::once(closed).chain(allowed).collect()
}
