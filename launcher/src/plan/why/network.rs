//! `endow why HOST:PORT`.

use core::net::IpAddr;

use endow_policy::{NetworkMode, Policy};

use super::Operation;
use super::answer::{Answer, Layer, Verdict};
use super::refusal::Refusal;
use crate::plan::Plan;

/// Answers whether a connection to `host` at `port` can be made.
pub fn connection(plan: &Plan, policy: &Policy, host: &str, port: u16) -> Answer {
    let is_apart = plan.opening.namespaces.is_some();
    let own = is_loopback(host);
    let (refusal, reason, remedy) = match (policy.network.mode, own) {
        (NetworkMode::Host, _) => (None, "the network is the host's", "leave out --net host"),
        (NetworkMode::None | NetworkMode::Allow, _) if !is_apart => (
            Some(Refusal::NoFamily),
            "at level `landlock` no socket of the network can be made: the loopback is the host's too",
            "--net host",
        ),
        (NetworkMode::None | NetworkMode::Allow, true) => (
            None,
            "the loopback is the sandbox's own: what listens there runs inside, never on the host",
            "",
        ),
        (NetworkMode::None | NetworkMode::Allow, false) => (
            Some(Refusal::Unreachable),
            "the sandbox has a network of its own, with a loopback alone",
            "--net host",
        ),
    };
    let layer = if is_apart { Layer::Network } else { Layer::Seccomp };
    Answer {
        subject: format!("{host}:{port}"),
        operation: Some(Operation::Connect),
        answer: Verdict::of(refusal),
        errno: refusal,
        leads_to: None,
        reason: reason.to_owned(),
        rule: Some(format!("network = {}", policy.network.mode.word())),
        layers: refusal.map(|_| layer).into_iter().collect(),
        remedy: Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty()),
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().map_or_else(
        |_| bare.eq_ignore_ascii_case("localhost") || bare.ends_with(".localhost"),
        |address| address.is_loopback(),
    )
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn loopback_by_name_and_address() {
        for host in
            ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.1", "::1", "[::1]", "a.localhost"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["example.com", "10.0.0.1", "localhost.example.com", "::2"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
